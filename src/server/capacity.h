// Capacity: how long a sequence may get and how much memory the KV cache takes, chosen from what this process may use
// (cgroup or physical limit) where the user did not say. Pure functions.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/model.h"

namespace brio::server {

struct CapacityRequest {
  int context = 0;       // tokens; 0: choose
  int64_t kv_bytes = 0;  // 0: choose
  int max_sequences = 1;
};

struct Capacity {
  int context = 0;
  int64_t kv_bytes = 0;
};

// The rule: half of what weights and a reserve leave of the limit, but no more than max_sequences of full context need;
// the trained context, or the longest one that fits. Errors: kOutOfMemory says what is missing, kInvalidArgument names
// --ctx.
Result<Capacity> choose_capacity(const model::Model& model, const CapacityRequest& request, int64_t memory_limit_bytes);

}  // namespace brio::server
