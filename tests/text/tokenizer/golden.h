// tests/golden/tokenizer_small.json: what other implementations make of nasty texts (see
// make_tokenizer_golden.py).
#pragma once

#include <nlohmann/json.hpp>

#include "text/tokenizer/tokenizer.h"

namespace adze::text {

const nlohmann::json& small_golden();

// Its vocabulary of 1,500 tokens, which has one for every byte.
VocabularyData small_vocabulary(const std::string& pre_tokenizer);

}  // namespace adze::text
