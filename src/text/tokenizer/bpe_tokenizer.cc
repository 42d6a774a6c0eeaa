#include "text/tokenizer/bpe_tokenizer.h"

#include <utility>

#include "base/error.h"

namespace adze::text {

struct BpeTokenizer::Run {
  std::string_view text;
  std::span<const ByteRange> literal;
  std::unique_ptr<Encoder> encoder;
  std::vector<TokenId> out;
  std::string prefixed;
};

BpeTokenizer::BpeTokenizer(VocabularyData data) : vocabulary_(std::move(data)) {
  for (const bool after_others : {false, true}) {
    SpecialTokenMatcher matcher(vocabulary_, after_others);
    if (!matcher.empty()) matchers_.push_back(std::move(matcher));
  }
}

std::string_view BpeTokenizer::token_bytes(TokenId id) const {
  if (!vocabulary_.contains(id)) {
    throw_invalid("token id {} is out of range ({} tokens)", id, vocabulary_.size());
  }
  return bytes_[static_cast<size_t>(id)];
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text,
                                          const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    throw_exhausted("tokenizer: {} bytes of text, more than the limit of {}", text.size(),
                    kMaxTextBytes);
  }
  const ByteRange whole{0, text.size()};
  Run run{text,
          options.parse_special ? options.literal : std::span(&whole, 1),
          make_encoder(text.size()),
          {},
          {}};
  if (options.add_special && vocabulary_.add_bos()) {
    run.out.push_back(*vocabulary_.special().bos);
  }
  encode_part(run, 0, whole);
  if (options.add_special && vocabulary_.add_eos()) {
    run.out.push_back(*vocabulary_.special().eos);
  }
  return std::move(run.out);
}

void BpeTokenizer::encode_part(Run& run, size_t matcher, ByteRange part) const {
  if (matcher == matchers_.size()) {
    encode_plain(run, part);
    return;
  }
  size_t position = part.begin;
  while (const auto match = matchers_[matcher].find(run.text, part, position, run.literal)) {
    encode_part(run, matcher + 1, {position, match->range.begin});
    run.out.push_back(match->id);
    position = match->range.end;
  }
  encode_part(run, matcher + 1, {position, part.end});
}

void BpeTokenizer::encode_plain(Run& run, ByteRange part) const {
  if (part.begin == part.end) return;
  const std::string_view text = run.text.substr(part.begin, part.end - part.begin);
  const SpacePrefix prefix = vocabulary_.space_prefix();
  if (prefix == SpacePrefix::kNever || (prefix == SpacePrefix::kFirst && part.begin > 0) ||
      (vocabulary_.space_prefix_once() &&
       (text.starts_with(' ') || text.starts_with(kSentencePieceBlank)))) {
    run.encoder->encode(text, run.out);
    return;
  }
  run.prefixed.assign(" ").append(text);
  run.encoder->encode(run.prefixed, run.out);
}

}  // namespace adze::text
