// Large zeroed memory on huge pages.
#pragma once

#include <cstddef>
#include <span>

namespace adze {

// `size` bytes of zeroed anonymous memory, aligned to 2 MiB and marked for transparent huge pages:
// faults of 4 KiB pages cost more than the copying that fills them. Pages that are never touched
// cost nothing. Move-only; empty when default-constructed. Throws Error{kResourceExhausted} where
// the memory cannot be had.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  explicit HugeBuffer(size_t size);
  ~HugeBuffer();
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;  // what mmap gave; data_ is aligned within it
  size_t mapping_size_ = 0;
};

}  // namespace adze
