// Byte-level byte-pair encoding with made vocabularies: what it encodes it decodes, and without
// splits it merges as the definition says.
#include "fuzz/properties.h"
#include "fuzz/vocabularies.h"
#include "text/tokenizer/tokenizer.h"

using namespace adze;

namespace {

using Ids = std::vector<text::TokenId>;

// Sennrich et al. (2016) to the letter: the best pair of the whole word, leftmost first, again and
// again.
void merge_word(const fuzz::ByteLevelMade& made, std::string_view word, Ids& out) {
  Ids symbols;
  for (const char byte : word) symbols.push_back(static_cast<uint8_t>(byte));
  for (;;) {
    size_t best = symbols.size();
    size_t best_rank = SIZE_MAX;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = made.ranks.find({symbols[i], symbols[i + 1]});
      if (found == made.ranks.end() || found->second >= best_rank) continue;
      best_rank = found->second;
      best = i;
    }
    if (best == symbols.size()) break;
    const std::string joined = made.bytes[static_cast<size_t>(symbols[best])] +
                               made.bytes[static_cast<size_t>(symbols[best + 1])];
    symbols[best] = made.ids.at(joined);
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
}

// Words without splits: runs of UTF-8, and runs of what is none.
Ids reference_encode(const fuzz::ByteLevelMade& made, std::string_view text) {
  Ids out;
  while (!text.empty()) {
    const bool valid = fuzz::reference_step(text).valid;
    size_t length = 0;
    while (length < text.size()) {
      const fuzz::ReferenceStep step = fuzz::reference_step(text.substr(length));
      if (step.valid != valid) break;
      length += step.length;
    }
    merge_word(made, text.substr(0, length), out);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  fuzz::ByteLevelMade made = fuzz::make_byte_level(input, 24);
  const auto splits = input.ConsumeIntegralInRange<size_t>(0, 2);
  for (size_t i = 0; i < splits; ++i) {
    made.data.pre_tokenizer.splits.push_back(static_cast<text::SplitRule>(
        input.ConsumeIntegralInRange<size_t>(0, text::kSplitRuleCount - 1)));
  }
  const auto added = input.ConsumeIntegralInRange<size_t>(0, 2);
  for (size_t i = 0; i < added; ++i) {
    const std::string text = input.ConsumeRandomLengthString(8);
    made.data.tokens.add(text);
    made.bytes.push_back(text);
    made.data.types.push_back(input.ConsumeBool() ? text::TokenType::kControl
                                                  : text::TokenType::kUserDefined);
  }
  const std::vector<text::TokenType> types = made.data.types;
  const bool parse_special = input.ConsumeBool();
  const auto quote = input.ConsumeIntegralInRange<size_t>(0, 64);
  const std::string text = input.ConsumeRemainingBytesAsString();

  std::unique_ptr<const text::Tokenizer> tokenizer;
  if (!fuzz::succeeds([&] { tokenizer = text::make_tokenizer(std::move(made.data)); })) return 0;
  const text::ByteRange literal{0, std::min(quote, text.size())};
  text::EncodeOptions options;
  options.parse_special = parse_special;
  if (literal.end > 0) options.literal = {&literal, 1};
  const Ids ids = tokenizer->encode(text, options);
  fuzz::require(tokenizer->encode(text, options) == ids, "the same tokens again");
  size_t at = 0;
  for (const text::TokenId id : ids) {
    const size_t length = made.bytes[static_cast<size_t>(id)].size();
    if (types[static_cast<size_t>(id)] == text::TokenType::kControl) {
      fuzz::require(parse_special && at >= literal.end, "what users write is no control token");
    }
    at += length;
  }
  fuzz::require(tokenizer->decode_bytes(ids) == text, "decoding gives the text back");
  fuzz::require(at == text.size(), "tokens stand for their bytes");
  if (splits == 0 && added == 0) {
    fuzz::require(ids == reference_encode(made, text), "merges by the definition");
  }
  return 0;
}
