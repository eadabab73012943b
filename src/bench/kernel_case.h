// KernelCase: one kernel on one shape and number of rows, ready to run; CaseGroup: cases that share their weights or keys,
// made when their turn comes, because eight times the last cache of them fits a machine only once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "bench/roof.h"
#include "ops/cpu_ops.h"
#include "tensor/dtype.h"

namespace brio::bench {

// What the cases run on.
struct KernelSetup {
  ThreadPool& pool;
  ops::CpuOps& ops;
  Isa isa;
  int64_t working_set_bytes;  // of distinct weights or keys and values to go through in turn
};

struct KernelCase {
  int rows = 0;  // of activations, or query positions
  Work work;     // of one run
  // Runs once, on the next weights or keys in turn. Owns, with the other cases of its group, what it needs.
  std::function<void()> run;
};

struct CaseGroup {
  std::string name;  // "linear Q4_K qwen2.5-coder-1.5b.down 1536x8960"; what a filter looks at
  std::function<Result<std::vector<KernelCase>>(const KernelSetup& setup)> make;
};

// A linear layer of one type: every shape of the four models that the type can have.
std::vector<CaseGroup> linear_groups(const std::vector<tensor::DType>& types, const std::vector<int>& rows);
// Decode at 4k and 16k, prefill of 512 positions that end at 4k.
std::vector<CaseGroup> attention_groups();
// Norms, rotation, gates, quantisation, on arrays that stay in cache.
std::vector<CaseGroup> row_groups();

}  // namespace brio::bench
