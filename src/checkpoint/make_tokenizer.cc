#include "checkpoint/make_tokenizer.h"

#include <system_error>
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
  // Shared, for std::async() may have moved its arguments by the time it throws.
  const auto read = std::make_shared<text::VocabularyData>(std::move(data));
  const auto make = [read, file = std::move(file)] {
    return make_tokenizer(std::move(*read), file);
  };
  try {
    return std::async(std::launch::async, make);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, make);
  }
}

}  // namespace adze::checkpoint
