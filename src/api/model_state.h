// What the public classes share of a loaded model.
#pragma once

#include <adze/model.h>

#include <string>

#include "engine/loaded_model.h"

namespace adze::internal {

struct ModelState {
  ModelState(const std::string& path, const engine::ModelOptions& options,
             const graph::LoadProgress& progress)
      : loaded(path, options, progress) {}

  engine::LoadedModel loaded;
  bool has_engine = false;
};

}  // namespace adze::internal
