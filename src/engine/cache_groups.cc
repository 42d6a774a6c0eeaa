#include "engine/cache_groups.h"

#include <algorithm>

namespace adze::engine {

std::vector<kvcache::GroupSpec> cache_groups(const graph::Plan& plan, int32_t cache_tokens,
                                             int32_t max_sequences) {
  const auto quota = [&](int32_t window, int32_t sinks) {
    return kvcache::sequence_quota(window, sinks, cache_tokens, plan.options().max_rows,
                                   graph::kBlockTokens);
  };
  std::vector<kvcache::GroupSpec> specs;
  for (const graph::StateGroup& group : plan.graph().state_groups()) {
    int32_t blocks = quota(0, 0);
    if (group.window > 0) {
      blocks = static_cast<int32_t>(
          std::min<int64_t>(blocks, int64_t{max_sequences} * quota(group.window, group.sinks)));
    }
    specs.push_back({group.block_bytes(), blocks, group.window, group.sinks});
  }
  return specs;
}

}  // namespace adze::engine
