// What CpuOps keeps between calls for attention: the plan and the memory of its results. Included by ops/cpu_*.cc alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/attention.h"
#include "ops/attention_plan.h"
#include "ops/cpu_ops.h"

namespace brio::ops {

// Memory grows to the largest step seen and stays.
struct CpuOps::AttentionScratch {
  // States of consecutive queries and where their outputs go.
  struct Results {
    kernels::AttentionState* states;
    float* outs;
    void reset(int count, int head_dim) const {
      for (int i = 0; i < count; ++i) states[i] = {0.0F, 0.0F, outs + ptrdiff_t{i} * head_dim};
    }
  };

  AttentionPlan plan;
  std::vector<kernels::AttentionState> states;  // [threads][plan.max_queries]
  std::vector<float> outs;                      // [threads][plan.max_queries][head_dim]
  int64_t thread_outs_stride = 0;
  std::vector<kernels::AttentionState> partials;  // [plan.num_partials]
  std::vector<float> partial_outs;                // [plan.num_partials][head_dim]
  std::vector<float> context;                     // [rows][num_heads * head_dim]
  std::unique_ptr<std::atomic<int>[]> left;       // [tiles] items that are not finished
  size_t left_size = 0;

  // Makes room for the plan and counts each tile's items.
  void reserve(int num_rows, int width, int head_dim, int num_threads);
  Results of_thread(int thread) {
    return {states.data() + ptrdiff_t{thread} * plan.max_queries, outs.data() + thread * thread_outs_stride};
  }
  Results partial(int64_t first, int head_dim) {
    return {partials.data() + first, partial_outs.data() + first * head_dim};
  }
};

}  // namespace brio::ops
