// Many strings in one allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adze {

// Strings one after another, by index. Views stay valid until the next add.
class StringTable {
 public:
  StringTable() = default;
  // Of what characters() and ends() gave; ends ascend, and the last one is the length.
  StringTable(std::string characters, std::vector<uint64_t> ends)
      : characters_(std::move(characters)), ends_(std::move(ends)) {}

  void reserve(size_t strings, size_t bytes) {
    ends_.reserve(strings);
    characters_.reserve(bytes);
  }
  void add(std::string_view text) {
    characters_.append(text);
    ends_.push_back(characters_.size());
  }
  // Adds a string of `bytes` zeros for the caller to fill before the next call.
  std::span<char> add_blank(size_t bytes) {
    characters_.resize(characters_.size() + bytes);
    ends_.push_back(characters_.size());
    return std::span(characters_).last(bytes);
  }
  // Gives back what growing left over.
  void shrink() { characters_.shrink_to_fit(); }

  // All strings one after another, and where each ends.
  const std::string& characters() const { return characters_; }
  const std::vector<uint64_t>& ends() const { return ends_; }

  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(characters_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string characters_;
  std::vector<uint64_t> ends_;
};

}  // namespace adze
