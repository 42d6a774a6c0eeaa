// A model, loaded and ready to run.
#pragma once

#include <adze/tokenizer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace adze {

enum class CacheType { kBF16, kInt8, kF32 };

struct ModelOptions {
  int threads = 0;             // that compute; 0: one per CPU
  int32_t context = 8192;      // tokens of a sequence at most; cut to what the model was made for
  int32_t max_rows = 512;      // tokens of one batch: prompts go in pieces of at most this many
  int32_t max_sequences = 16;  // answers that are generated at once
  CacheType cache_type = CacheType::kBF16;  // of keys and values
  // Called while weights are loaded, from the calling thread: work done, of how much.
  std::function<void(size_t done, size_t total)> progress;
};

// Not thread-safe; different models are independent of each other.
class Model {
 public:
  // Loads a .gguf file or a Hugging Face folder. Throws Error naming the file and what is wrong
  // with it, or the option.
  explicit Model(const std::string& path, const ModelOptions& options = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  Tokenizer tokenizer() const;
  // Tokens of a sequence at most, prompt and answer together.
  int32_t context() const;
  // The prompt of a conversation: a system's message, unless empty, and a user's through the
  // model's chat template. What the user wrote stays text, even where it spells a control token.
  // Throws Error{kUnsupported} where the model has no template.
  std::vector<int32_t> chat_tokens(std::string_view system, std::string_view user) const;

 private:
  friend class Engine;
  std::shared_ptr<internal::ModelState> state_;
};

}  // namespace adze
