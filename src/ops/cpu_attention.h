// What CpuOps keeps between calls for attention: the plan and the memory of its results. Included by ops/cpu_*.cc alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/attention.h"
#include "ops/attention_plan.h"
#include "ops/cpu_ops.h"

namespace brio::ops {

// Vectors grow to the largest step seen and stay.
struct CpuOps::AttentionScratch {
  AttentionPlan plan;
  std::vector<kernels::AttentionState> states;    // [threads][max_queries]
  std::vector<float> outs;                        // [threads][max_queries][head_dim]
  std::vector<kernels::AttentionState> partials;  // [num_partials]
  std::vector<float> partial_outs;                // [num_partials][head_dim]
  std::vector<float> context;                     // [rows][num_heads * head_dim]
  std::unique_ptr<std::atomic<int>[]> left;       // [tiles] items that are not finished
  size_t left_size = 0;
};

}  // namespace brio::ops
