// gguf_copy IN OUT [DTYPE]: reads a GGUF file and writes what was read. With DTYPE, float32 tensors
// whose rows are whole blocks are encoded to that type.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf/file.h"
#include "formats/gguf/writer.h"

namespace {

using adze::DType;

constexpr uint64_t kPiece = uint64_t{1} << 20;

DType output_type(const adze::gguf::TensorInfo& tensor, std::optional<DType> wanted) {
  const bool encodes = wanted && tensor.dtype == DType::kF32 &&
                       tensor.columns() % adze::dtype_info(*wanted).block_elements == 0;
  return encodes ? *wanted : tensor.dtype;
}

void convert(const char* from, const char* to, std::optional<DType> wanted) {
  const adze::gguf::File in = adze::gguf::File::open(from);
  adze::gguf::Writer out(to);
  for (const auto& [key, value] : in.metadata()) {
    if (!key.starts_with("split.")) out.add_metadata(key, value);
  }
  for (const auto& tensor : in.tensors()) {
    out.add_tensor(tensor.name, output_type(tensor, wanted), tensor.shape);
  }
  std::vector<std::byte> piece;
  for (const auto& tensor : in.tensors()) {
    for (uint64_t offset = 0; offset < tensor.bytes; offset += piece.size()) {
      piece.resize(static_cast<size_t>(std::min(kPiece, tensor.bytes - offset)));
      in.read(tensor, offset, piece);
      if (output_type(tensor, wanted) == tensor.dtype) {
        out.write_blocks(piece);
      } else {
        std::vector<float> values(piece.size() / sizeof(float));
        std::memcpy(values.data(), piece.data(), piece.size());
        out.write_floats(values);
      }
    }
  }
  out.finish();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3 || argc > 4) adze::throw_invalid("usage: gguf_copy IN OUT [DTYPE]");
    std::optional<DType> wanted;
    if (argc == 4) {
      wanted = adze::dtype_from_name(argv[3]);
      if (!wanted) adze::throw_invalid("unknown type {}", argv[3]);
    }
    convert(argv[1], argv[2], wanted);
    return 0;
  } catch (const adze::Error& error) {
    fmt::print(stderr, "gguf_copy: {}\n", error.what());
    return 1;
  }
}
