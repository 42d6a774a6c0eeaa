// SentencePiece's byte-pair encoding with made vocabularies, against the algorithm as published.
#include <fuzzer/FuzzedDataProvider.h>

#include <map>
#include <optional>

#include "fuzz/properties.h"
#include "text/tokenizer/tokenizer.h"

using namespace adze;

namespace {

using Ids = std::vector<text::TokenId>;
constexpr std::string_view kBlank = "\xe2\x96\x81";

struct Made {
  text::VocabularyData data;
  std::vector<float> scores;
  std::map<std::string, text::TokenId, std::less<>> pieces;
  std::map<uint8_t, text::TokenId> bytes;
};

void add(Made& made, const std::string& text, text::TokenType type, float score) {
  const auto id = static_cast<text::TokenId>(made.data.tokens.size());
  made.data.tokens.add(text);
  made.data.types.push_back(type);
  made.scores.push_back(score);
  if (type == text::TokenType::kNormal) made.pieces.emplace(text, id);
}

// <unk>, perhaps the 256 bytes, some characters, and pieces that join two others.
Made make_vocabulary(FuzzedDataProvider& input) {
  Made made;
  made.data.model = "llama";
  add(made, "<unk>", text::TokenType::kUnknown, 0);
  made.data.special.unknown = 0;
  if (input.ConsumeBool()) {
    for (int byte = 0; byte < 256; ++byte) {
      made.bytes.emplace(static_cast<uint8_t>(byte),
                         static_cast<text::TokenId>(made.data.tokens.size()));
      add(made, fmt::format("<0x{:02X}>", byte), text::TokenType::kByte, 0);
    }
  }
  std::vector<std::string> parts = {std::string(kBlank), "a", "b", "c", "\xc3\xa9",
                                    "\xf0\x9f\x98\x80"};
  const auto known = input.ConsumeIntegralInRange<size_t>(0, parts.size());
  for (size_t i = 0; i < known; ++i) add(made, parts[i], text::TokenType::kNormal, -100);
  const auto joined = input.ConsumeIntegralInRange<size_t>(0, 20);
  for (size_t i = 0; i < joined; ++i) {
    const auto last = parts.size() - 1;
    const std::string piece = parts[input.ConsumeIntegralInRange<size_t>(0, last)] +
                              parts[input.ConsumeIntegralInRange<size_t>(0, last)];
    // Few scores, so that there are ties.
    const auto score = static_cast<float>(-input.ConsumeIntegralInRange<int>(0, 7));
    if (piece.size() > 24 || made.pieces.contains(piece)) continue;
    add(made, piece, text::TokenType::kNormal, score);
    parts.push_back(piece);
  }
  made.data.scores = made.scores;
  made.data.fuse_unknown = input.ConsumeBool();
  return made;
}

Ids reference_encode(const Made& made, std::string_view text) {
  std::vector<std::string> symbols;
  while (!text.empty()) {
    const fuzz::ReferenceStep step = fuzz::reference_step(text);
    const std::string_view symbol = text.substr(0, step.valid ? step.length : 1);
    symbols.emplace_back(symbol == " " ? kBlank : symbol);
    text.remove_prefix(symbol.size());
  }
  for (;;) {
    std::optional<size_t> best;
    float best_score = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = made.pieces.find(symbols[i] + symbols[i + 1]);
      if (found == made.pieces.end()) continue;
      const float score = made.scores[static_cast<size_t>(found->second)];
      if (best && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    if (!best) break;
    symbols[*best] += symbols[*best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
  Ids out;
  for (const std::string& symbol : symbols) {
    if (const auto found = made.pieces.find(symbol); found != made.pieces.end()) {
      out.push_back(found->second);
    } else if (!made.bytes.empty()) {
      for (const char byte : symbol) out.push_back(made.bytes.at(static_cast<uint8_t>(byte)));
    } else if (out.empty() || out.back() != 0 || !made.data.fuse_unknown) {
      out.push_back(0);
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  Made made = make_vocabulary(input);
  made.data.space_prefix =
      input.ConsumeBool() ? text::SpacePrefix::kFirst : text::SpacePrefix::kNever;
  const bool prefixed = made.data.space_prefix == text::SpacePrefix::kFirst;
  const std::string text = input.ConsumeRemainingBytesAsString().substr(0, 300);
  const auto tokenizer = text::make_tokenizer(text::VocabularyData(made.data));

  const Ids ids = tokenizer->encode(text);
  const std::string spaced = prefixed && !text.empty() ? " " + text : text;
  fuzz::require(ids == reference_encode(made, spaced), "merges by score, the leftmost of equals");
  fuzz::require(tokenizer->encode(text) == ids, "the same tokens again");
  // A blank without a token of its own is spelled by bytes, which stand for U+2581.
  const bool lossless =
      !made.bytes.empty() && made.pieces.contains(kBlank) && text.find(kBlank) == std::string::npos;
  if (lossless) fuzz::require(tokenizer->decode_bytes(ids) == text, "decoding gives the text back");
  return 0;
}
