// What a plan's state groups need of a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan.h"
#include "kvcache/cache.h"

namespace adze::engine {

// Room for `cache_tokens` of all sequences together; groups with a window have room for what
// `max_sequences` can see, if that is less.
std::vector<kvcache::GroupSpec> cache_groups(const graph::Plan& plan, int32_t cache_tokens,
                                             int32_t max_sequences);

}  // namespace adze::engine
