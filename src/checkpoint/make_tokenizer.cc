#include "checkpoint/make_tokenizer.h"

#include <utility>

#include "base/error.h"

namespace adze::checkpoint {

std::unique_ptr<const text::Tokenizer> make_tokenizer(text::VocabularyData data,
                                                      const std::string& file) {
  try {
    return text::make_tokenizer(std::move(data));
  } catch (const Error& error) {
    throw Error(error.kind(), file + ": " + error.what());
  }
}

PendingTokenizer start_tokenizer(text::VocabularyData data, std::string file) {
  return std::async(
      std::launch::async | std::launch::deferred,
      [](text::VocabularyData&& read, const std::string& name) {
        return make_tokenizer(std::move(read), name);
      },
      std::move(data), std::move(file));
}

}  // namespace adze::checkpoint
