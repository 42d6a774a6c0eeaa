// tokenizer.json: any text is refused in one line or makes a tokenizer that works.
#include "checkpoint/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "fuzz/properties.h"
#include "text/tokenizer/tokenizer.h"

using namespace adze;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json = fuzz::as_text(data, size);
  std::unique_ptr<const text::Tokenizer> tokenizer;
  const bool made = fuzz::succeeds([&] {
    tokenizer = text::make_tokenizer(checkpoint::read_tokenizer_json(json, "tokenizer.json"));
  });
  if (!made) return 0;
  fuzz::require(nlohmann::json::accept(json), "only JSON makes a tokenizer");
  for (const std::string_view text :
       {"Hello, world! 123", " two  blanks\n\tnew <s> \xf0\x9f\x98\x80", "\xff\xe2\x82", ""}) {
    for (const bool parse_special : {false, true}) {
      text::EncodeOptions options;
      options.parse_special = parse_special;
      const auto ids = tokenizer->encode(text, options);
      fuzz::require(tokenizer->encode(text, options) == ids, "the same tokens again");
      for (const text::TokenId id : ids) {
        fuzz::require(tokenizer->vocabulary().contains(id), "ids of the vocabulary");
      }
      fuzz::require(fuzz::is_utf8(tokenizer->decode(ids)), "decoded text is UTF-8");
    }
  }
  return 0;
}
