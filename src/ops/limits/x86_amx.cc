#include "ops/limits/generic.h"
#include "ops/simd/amx.h"

namespace adze::ops {
namespace {

using simd::Amx;

double tile_rounds(int64_t rounds) {
  const Amx::Tiles tiles;
  alignas(64) constexpr uint8_t kOnes[1024] = {1};
  Amx::load_tile<4>(kOnes, 64);
  Amx::load_tile<5>(kOnes, 64);
  Amx::load_tile<6>(kOnes, 64);
  Amx::load_tile<7>(kOnes, 64);
  Amx::zero_tile<0>();
  Amx::zero_tile<1>();
  Amx::zero_tile<2>();
  Amx::zero_tile<3>();
  for (int64_t i = 0; i < rounds; ++i) {
    Amx::dot_bytes<0, 4, 6>();
    Amx::dot_bytes<1, 4, 7>();
    Amx::dot_bytes<2, 5, 6>();
    Amx::dot_bytes<3, 5, 7>();
  }
  return static_cast<double>(rounds) * 4 * 2 * 16 * 16 * 64;
}

}  // namespace

const LimitKernels kLimitsAmx = {
    tile_rounds,
    generic::f32_rounds<Amx>,
    generic::read_all<Amx>,
};

}  // namespace adze::ops
