// gguf_copy IN OUT [DTYPE]: reads a GGUF file and writes what was read. With DTYPE, float32 tensors
// whose rows are whole blocks are encoded to that type; with F32, all tensors are decoded.
#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf/file.h"
#include "formats/gguf/writer.h"

namespace {

using adze::DType;

constexpr uint64_t kPieceBlocks = 8192;

DType output_type(const adze::gguf::TensorInfo& tensor, std::optional<DType> wanted) {
  if (wanted == DType::kF32) return DType::kF32;
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
      // Whole blocks of every type: kPieceBlocks of them at most.
      const uint64_t most = kPieceBlocks * adze::dtype_info(tensor.dtype).block_bytes;
      piece.resize(static_cast<size_t>(std::min(most, tensor.bytes - offset)));
      in.read(tensor, offset, piece);
      if (output_type(tensor, wanted) == tensor.dtype) {
        out.write_blocks(piece);
      } else {
        const adze::DTypeInfo& type = adze::dtype_info(tensor.dtype);
        std::vector<float> values(piece.size() / type.block_bytes * type.block_elements);
        adze::decode(tensor.dtype, piece, values);
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
