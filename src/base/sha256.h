// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace adze {

// A digest of bytes that come in pieces. Not for several threads at once.
class Sha256 {
 public:
  void update(std::span<const std::byte> data);
  // 64 hexadecimal digits, lower case. Called once, at the end.
  std::string hex_digest();

 private:
  static constexpr size_t kBlock = 64;

  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> pending_{};  // the bytes of a block that is not full
  uint64_t length_ = 0;                      // bytes so far
};

}  // namespace adze
