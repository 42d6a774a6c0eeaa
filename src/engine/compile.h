// Engine files of loaded models.
#pragma once

#include <filesystem>

#include "engine/loaded_model.h"

namespace adze::engine {

// Writes the model as it runs: opened again, it gives the same answers without packing anything.
// `progress`: work done, of how much; what it throws comes out, and no file is left. Throws
// Error{kInvalidInput} where the model was opened from an engine file, and as
// checkpoint::write_engine() does.
void compile_model(const LoadedModel& model, const std::filesystem::path& path,
                   const graph::LoadProgress& progress = {});

}  // namespace adze::engine
