// What `adze inspect` shows, by format.
#pragma once

#include <string>

namespace adze::cli {

struct InspectOptions {
  std::string path;
  bool tensors = false;  // list every one
  bool all = false;      // arrays and texts as long as they are
  bool json = false;
};

inline constexpr size_t kFirstBytes = 64;  // of a text, unless all is wanted

// The options' path is a folder. Throws Error naming the file.
void inspect_folder(const InspectOptions& options);
// … an engine file.
void inspect_engine_file(const InspectOptions& options);

}  // namespace adze::cli
