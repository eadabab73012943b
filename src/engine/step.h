// Plan: the rows of one step: prefill chunks and decodes of any number of sequences, one ragged batch. Made by
// Scheduler, read by Runner, Sampler and Scheduler::commit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/request.h"
#include "kv/kv_cache.h"
#include "ops/row.h"

namespace brio::engine {

struct Sequence;

// Consecutive positions of one sequence; chunk i is the step's sequence i.
struct Chunk {
  Sequence* sequence = nullptr;
  int begin = 0;  // positions [begin, end)
  int end = 0;
  int logits_begin = 0;  // rows of positions [logits_begin, logits_end) ask for logits
  int logits_end = 0;
  int first_logits = 0;  // index of the first of those among the step's logits
  int num_rows() const { return end - begin; }
};
// One row that continues an answer; everything else is prefill (or recomputation).
bool is_decode(const Chunk& chunk);

struct Plan {
  int64_t number = 0;  // of the steps that had rows, from 1
  int max_rows = 0;    // its row budget
  TimePoint started{};
  std::vector<Chunk> chunks;
  std::vector<ops::Row> rows;
  std::vector<ops::WriteSlot> writes;     // one per row
  std::vector<kv::SequenceId> sequences;  // one per chunk
  int num_logits = 0;
  int num_decodes = 0;  // chunks that are
  std::vector<RequestId> admitted;
  std::vector<RequestId> preempted;

  bool empty() const { return chunks.empty(); }
  void start(TimePoint now);     // clears, keeps memory and number
  void add(const Chunk& chunk);  // and its rows
};

// The line of --log-steps: "step 12: 45 rows = 3 decode + 42 prefill, 5 sequences: 3.0@57 4.0@12 ... 7.0[0,32)/100".
// request.choice@position is a decode, request.choice[begin,end)/known a chunk of a prompt (or of a recomputation).
std::string format(const Plan& plan);

}  // namespace brio::engine
