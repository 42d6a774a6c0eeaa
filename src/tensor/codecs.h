// One block at a time: the decoders and encoders behind dtype.h. Layouts: the GGUF format's block
// types.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace adze::codecs {

// `block` has the type's block_bytes, of any alignment; `out` gets its block_elements.
void decode_f32(const std::byte* block, float* out);
void decode_f16(const std::byte* block, float* out);
void decode_bf16(const std::byte* block, float* out);
void decode_i8(const std::byte* block, float* out);
void decode_i16(const std::byte* block, float* out);
void decode_i32(const std::byte* block, float* out);
void decode_i64(const std::byte* block, float* out);
void decode_f64(const std::byte* block, float* out);
void split_q4_0(const std::byte* block, BlockParts& parts);
void split_q4_1(const std::byte* block, BlockParts& parts);
void split_q5_0(const std::byte* block, BlockParts& parts);
void split_q5_1(const std::byte* block, BlockParts& parts);
void split_q8_0(const std::byte* block, BlockParts& parts);
void split_q2_k(const std::byte* block, BlockParts& parts);
void split_q3_k(const std::byte* block, BlockParts& parts);
void split_q4_k(const std::byte* block, BlockParts& parts);
void split_q5_k(const std::byte* block, BlockParts& parts);
void split_q6_k(const std::byte* block, BlockParts& parts);
void split_iq4_nl(const std::byte* block, BlockParts& parts);
void split_iq4_xs(const std::byte* block, BlockParts& parts);
void split_mxfp4(const std::byte* block, BlockParts& parts);

// `values` has block_elements finite floats (float types: any).
void encode_f32(const float* values, std::byte* block);
void encode_f16(const float* values, std::byte* block);
void encode_bf16(const float* values, std::byte* block);
void encode_q4_0(const float* values, std::byte* block);
void encode_q4_1(const float* values, std::byte* block);
void encode_q8_0(const float* values, std::byte* block);

// The twelve packed bytes of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minimums.
struct ScalesAndMinimums {
  unsigned char scale[8];
  unsigned char minimum[8];
};
ScalesAndMinimums unpack_scales_k4(const std::byte* packed);

}  // namespace adze::codecs
