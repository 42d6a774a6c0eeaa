#include "checkpoint/tokenizer_file.h"

#include <string>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/tokenizer_json.h"

namespace adze::checkpoint {
namespace {

// Those of the largest vocabularies have some 35 MB.
constexpr uint64_t kMaxJsonBytes = uint64_t{256} << 20;

}  // namespace

std::unique_ptr<const text::Tokenizer> open_tokenizer_file(const std::filesystem::path& path) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  if (!folder && path.extension() != ".json") return open_tokenizer(gguf::File::open(path));
  const std::filesystem::path file = folder ? path / "tokenizer.json" : path;
  const std::string name = printable(file.string(), kMaxPathBytes);
  text::VocabularyData data = read_tokenizer_json(read_text_file(file, kMaxJsonBytes), name);
  try {
    return text::make_tokenizer(std::move(data));
  } catch (const Error& bad) {
    throw Error(bad.kind(), name + ": " + bad.what());
  }
}

}  // namespace adze::checkpoint
