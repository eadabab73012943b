#include "engine/step.h"

#include <fmt/format.h>

#include <iterator>

#include "base/breaks.h"
#include "engine/sequence.h"

namespace brio::engine {

bool is_decode(const Chunk& chunk) {
  const Sequence& sequence = *chunk.sequence;
  return chunk.num_rows() == 1 && chunk.begin >= sequence.num_prompt && chunk.end == sequence.known();
}

void Plan::start(TimePoint now) {
  started = now;
  chunks.clear();
  rows.clear();
  writes.clear();
  sequences.clear();
  num_logits = 0;
  num_decodes = 0;
  admitted.clear();
  preempted.clear();
}

void Plan::add(const Chunk& chunk) {
  const Sequence& sequence = *chunk.sequence;
  const auto index = static_cast<int32_t>(chunks.size());
  chunks.push_back(chunk);
  chunks.back().first_logits = num_logits;
  sequences.push_back(sequence.kv);
  for (int p = chunk.begin; p < chunk.end; ++p) {
    ops::Row row;
    row.token = sequence.tokens[static_cast<size_t>(p)];
    row.position = p;
    row.sequence = index;
    row.visible_begin = 0;
    row.visible_end = p + 1;
    if (is_broken(Rule::kR7) && chunk.logits_begin == chunk.begin && chunk.num_rows() <= 8) row.visible_end = chunk.end;
    row.write_begin = static_cast<int32_t>(writes.size());
    row.write_end = row.write_begin + 1;
    row.output = p >= chunk.logits_begin && p < chunk.logits_end ? ops::RowOutput::kLogits : ops::RowOutput::kNone;
    rows.push_back(row);
    writes.push_back({index, p});
  }
  num_logits += chunk.logits_end - chunk.logits_begin;
  if (is_decode(chunk)) ++num_decodes;
}

std::string format(const Plan& plan) {
  std::string line;
  auto out = std::back_inserter(line);
  fmt::format_to(out, "step {}: {} rows = {} decode + {} prefill, {} sequences:", plan.number, plan.rows.size(),
                 plan.num_decodes, static_cast<int>(plan.rows.size()) - plan.num_decodes, plan.chunks.size());
  for (const Chunk& chunk : plan.chunks) {
    const Sequence& s = *chunk.sequence;
    if (is_decode(chunk)) {
      fmt::format_to(out, " {}.{}@{}", s.request->id, s.choice, chunk.begin);
    } else {
      fmt::format_to(out, " {}.{}[{},{})/{}", s.request->id, s.choice, chunk.begin, chunk.end, s.known());
    }
  }
  if (!plan.admitted.empty()) fmt::format_to(out, "; admitted {}", fmt::join(plan.admitted, " "));
  if (!plan.preempted.empty()) fmt::format_to(out, "; preempted {}", fmt::join(plan.preempted, " "));
  return line;
}

}  // namespace brio::engine
