#include "checkpoint/decoder_limits.h"

#include "base/error.h"

namespace adze::checkpoint {

void check_heads(const models::ModelConfig& config, const std::string& heads,
                 const std::string& width) {
  for (size_t i = 0; i < config.heads.size(); ++i) {
    if (config.heads[i] % config.kv_heads[i] != 0) {
      throw_invalid("{}: {} is not a multiple of {} key heads", heads, config.heads[i],
                    config.kv_heads[i]);
    }
    if (int64_t{config.heads[i]} * config.head_dim > kMaxWidth) {
      throw_invalid("{}: {} heads of {} are more than {} in all", heads, config.heads[i],
                    config.head_dim, kMaxWidth);
    }
  }
  if (config.head_dim % 2 != 0) {
    throw_unsupported("{}: {} is odd, and rotation turns pairs", width, config.head_dim);
  }
}

}  // namespace adze::checkpoint
