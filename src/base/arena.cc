#include "base/arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"

namespace adze {
namespace {
constexpr size_t kHugePage = size_t{2} << 20;
}

HugeBuffer::HugeBuffer(size_t size) {
  if (size == 0) return;
  if (size > std::numeric_limits<size_t>::max() - 2 * kHugePage) {
    throw_exhausted("cannot get {} MiB of memory", size >> 20);
  }
  mapping_size_ = (size + kHugePage - 1) / kHugePage * kHugePage + kHugePage;
  mapping_ =
      ::mmap(nullptr, mapping_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw_exhausted("cannot get {} MiB of memory", size >> 20);
  }
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + ((kHugePage - address % kHugePage) % kHugePage);
  size_ = size;
  // Advice only: without huge pages everything works, more slowly.
  ::madvise(data_, mapping_size_ - kHugePage, MADV_HUGEPAGE);
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_size_);
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept { *this = std::move(other); }

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_size_, other.mapping_size_);
  return *this;
}

}  // namespace adze
