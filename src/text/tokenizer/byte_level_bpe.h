// Byte-level byte-pair encoding: GPT-2's tokenizer and its descendants.
#pragma once

#include <array>
#include <memory>

#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/pre_tokenizer.h"

namespace adze::text {

// The results are those of HF's `tokenizers` for the same vocabulary, merges and pre-tokenizer. Two
// matters beyond it:
//
// Bytes that are not UTF-8, which it cannot be given: each maximal run of them is a word of its
// own, and the text on either side is split as if it ended there.
//
// A byte for which the vocabulary has no token leaves no trace (as there): SmolLM2's lacks 21
// bytes, of which 8 occur in UTF-8 (six control characters, and 0xf1 and 0xf2 that begin unassigned
// planes).
class ByteLevelBpe final : public BpeTokenizer {
 public:
  // Throws as make_tokenizer() says.
  explicit ByteLevelBpe(VocabularyData data);

 protected:
  std::unique_ptr<Encoder> make_encoder(size_t bytes) const override;

 private:
  class WordEncoder;

  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_;  // −1: the vocabulary has no token for this byte
};

}  // namespace adze::text
