list(APPEND text_sources
  tokenizer/bpe_tokenizer.cc
  tokenizer/byte_level.cc
  tokenizer/byte_level_bpe.cc
  tokenizer/detokenizer.cc
  tokenizer/merge_table.cc
  tokenizer/normalize.cc
  tokenizer/pre_tokenizer.cc
  tokenizer/pre_tokenizer_rules.cc
  tokenizer/sentencepiece_bpe.cc
  tokenizer/special_tokens.cc
  tokenizer/split_scanner.cc
  tokenizer/stop_matcher.cc
  tokenizer/tokenizer.cc
  tokenizer/unicode.cc
  tokenizer/vocabulary.cc)
