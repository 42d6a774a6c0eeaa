// The JSON header of one safetensors file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/safetensors/file.h"

namespace adze::safetensors {

struct Header {
  std::vector<std::pair<std::string, std::string>> metadata;  // in the header's order
  std::vector<TensorInfo> tensors;                            // in the order of their data
};

// Parses `text` and checks that the tensors fill `data_bytes` bytes without gaps and overlaps.
// Their offsets count from the beginning of the data. `name` is the file's, for messages;
// `text_offset` is where the text begins in it. Throws Error{kInvalidInput} naming offset or tensor
// and field, and Error{kUnsupported} for an element type that the format does not define. Needs
// memory in proportion to the text.
Header parse_header(std::string_view text, uint64_t text_offset, uint64_t data_bytes,
                    const std::string& name);

}  // namespace adze::safetensors
