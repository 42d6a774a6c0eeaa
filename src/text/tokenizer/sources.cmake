list(APPEND text_sources
  tokenizer/byte_level.cc
  tokenizer/byte_level_bpe.cc
  tokenizer/detokenizer.cc
  tokenizer/merge_table.cc
  tokenizer/normalize.cc
  tokenizer/pre_tokenizer.cc
  tokenizer/special_tokens.cc
  tokenizer/stop_matcher.cc
  tokenizer/tokenizer.cc
  tokenizer/utf8.cc
  tokenizer/vocabulary.cc)
