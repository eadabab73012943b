// Setup: everything about one run of the engine that must not matter, and Evidence: what the steps of it showed to have
// happened. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "engine/batching.h"
#include "engine/chunking.h"
#include "engine/request.h"

namespace brio::prove {

// A request whose answer is a function of these fields alone; always ends by length.
struct Text {
  std::vector<int32_t> prompt;
  int max_tokens = 1;
  engine::SamplingParams sampling;  // greedy, or with a seed
  int n = 1;
};

using Digest = std::array<unsigned char, 32>;  // SHA-256 of the fp32 logits of a position, [vocab]

// One choice of a text.
struct Answer {
  std::vector<int32_t> tokens;   // generated
  std::map<int, Digest> logits;  // by position, of those whose logits were computed
};
using Answers = std::vector<Answer>;  // by choice

// One request of a run.
struct Visit {
  int text = 0;
  int arrival = 0;      // step
  bool scored = false;  // logits at every position of the prompt
  int verified = -1;    // the choice whose tokens but the last are given with the prompt, as a draft would be; -1: none
  int abort_after = -1;   // steps after its arrival; -1: never
  bool unseeded = false;  // sampled without its seed: only its prompt's logits are compared
};

struct Setup {
  Isa isa = Isa::kScalar;
  int threads = 1;
  int max_rows = 0;       // of a step; 0: as many as the model takes
  int max_sequences = 1;  // at once
  engine::Chunking chunking;
  engine::BatchingOptions batching;
  engine::RandomPreemption preemption;
  bool scarce_blocks = false;  // KV blocks for the largest visit and little more
  std::vector<Visit> visits;
};

struct Evidence {
  int64_t steps = 0;
  int most_rows = 0;  // of one step
  int most_sequences = 0;
  int64_t mixed_steps = 0;                  // decodes beside chunks of prompts
  int64_t joins = 0;                        // admissions while others were running
  int64_t leaves = 0;                       // steps after which somebody had left and others went on
  std::map<int, int64_t> admitted_at_once;  // how many were admitted in one step -> steps
  std::map<int, int64_t> chunks;            // rows of a chunk of more than one row -> chunks
  std::set<int> full_budgets;               // row budgets of steps that used them whole
  int longest_whole_prompt = 0;             // rows of a prompt that one step computed
  std::set<int> places;                     // index of a sequence's first row within the step
  int64_t preemptions = 0;
  int64_t most_preemptions = 0;  // of one request
  int64_t forks = 0;             // choices beside the first
  int64_t shared_blocks = 0;     // seen in a table while another held them
  int64_t scattered_tables = 0;  // with neighbours that do not follow each other in memory
  int64_t reused_blocks = 0;     // taken after somebody else had given them back
  int64_t poisoned_blocks = 0;
  int64_t aborted_prefills = 0;  // some of the prompt had been computed
  int64_t aborted_decodes = 0;
  int64_t verify_rows = 0;     // of answers, more than one in a chunk, each with its logits
  int64_t sampled_tokens = 0;  // with a temperature
  int64_t greedy_tokens = 0;
  int64_t unseeded_tokens = 0;
  int64_t parted_choices = 0;  // requests whose choices, drawn with a temperature, are not the same
  std::set<int> drawn_rows;    // of the step's logits, of choices that go on with a temperature; alone it is 0, 1, 2
  std::map<int, int64_t> threads;  // of runs in which every thread worked
  std::map<Isa, int64_t> isas;     // steps on each

  void add(const Evidence& other);
};

}  // namespace brio::prove
