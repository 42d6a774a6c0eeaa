#include "checkpoint/checkpoint.h"

#include <system_error>

#include "checkpoint/formats.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/hf_tokenizer.h"
#include "formats/engine_file/engine_file.h"

namespace adze::checkpoint {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;  // what cannot be looked at fails when it is opened
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

Checkpoint open_checkpoint(const std::filesystem::path& path) {
  if (is_folder(path)) return open_hf(path);
  return engine_file::is_engine_file(path) ? open_engine(path) : open_gguf(path);
}

std::unique_ptr<const text::Tokenizer> open_tokenizer(const std::filesystem::path& path) {
  constexpr int32_t kNoRows = 0;  // no embedding to match
  if (is_folder(path)) return start_hf_tokenizer(path, kNoRows).get();
  if (path.extension() == ".json") return open_tokenizer_json(path);
  if (engine_file::is_engine_file(path)) return open_engine_tokenizer(path);
  return open_tokenizer(gguf::File::open(path));
}

}  // namespace adze::checkpoint
