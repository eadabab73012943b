#include "kv/kv_sizing.h"

#include <algorithm>
#include <limits>

namespace brio::kv {

using tensor::kBlockTokens;
using tensor::KvSpec;

std::vector<GroupShape> group_layers(std::span<const KvSpec> layers) {
  std::vector<GroupShape> groups;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const GroupShape& g) { return g.spec == layers[layer]; });
    if (group == groups.end()) group = groups.insert(groups.end(), GroupShape{layers[layer], {}});
    group->layers.push_back(static_cast<int>(layer));
  }
  return groups;
}

int blocks_needed(const KvSpec& spec, int tokens, int max_chunk) {
  const int all = blocks_for(tokens);
  if (spec.kind != KvSpec::Kind::kWindow) return all;
  const int64_t touched = int64_t{spec.window} - 1 + max_chunk;
  return static_cast<int>(std::min<int64_t>(all, (touched + 2 * (kBlockTokens - 1)) / kBlockTokens));
}

int64_t sequence_bytes(std::span<const GroupShape> groups, int tokens, int max_chunk) {
  int64_t bytes = 0;
  for (const GroupShape& group : groups) bytes += blocks_needed(group.spec, tokens, max_chunk) * group.block_bytes();
  return bytes;
}

int longest_context(std::span<const GroupShape> groups, int64_t budget_bytes, int max_chunk, int limit) {
  int low = 0;  // blocks that fit; sequence_bytes never falls as tokens grow
  int high = limit / kBlockTokens;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (sequence_bytes(groups, middle * kBlockTokens, max_chunk) <= budget_bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * kBlockTokens;
}

Result<std::vector<int32_t>> size_groups(std::span<const GroupShape> groups, const KvDemand& demand) {
  const int64_t longest = sequence_bytes(groups, demand.max_context, demand.max_chunk);
  const int others = demand.max_sequences - 1;
  int length = demand.max_context;
  int longer = 0;  // of the others, those that get a block's length more
  if (demand.budget_bytes > 0) {
    if (longest > demand.budget_bytes) {
      Error refusal =
          error(ErrorCode::kOutOfMemory, "a context of {} tokens needs {} bytes of KV cache, the budget is {} bytes",
                demand.max_context, longest, demand.budget_bytes);
      const int fits = longest_context(groups, demand.budget_bytes, demand.max_chunk, demand.max_context);
      refusal.hint = fmt::format("the budget holds a context of {} tokens", fits);
      return refusal;
    }
    if (others > 0) {
      length = longest_context(groups, (demand.budget_bytes - longest) / others, demand.max_chunk,
                               blocks_for(demand.max_context) * kBlockTokens);
      // What whole blocks for everybody leave over: the pool is shared, so it counts wherever it is.
      const int64_t bytes = sequence_bytes(groups, length, demand.max_chunk);
      const int64_t step = sequence_bytes(groups, length + kBlockTokens, demand.max_chunk) - bytes;
      const int64_t rest = demand.budget_bytes - longest - others * bytes;
      if (length < demand.max_context && step > 0) longer = static_cast<int>(std::min<int64_t>(others, rest / step));
    }
  }
  std::vector<int32_t> blocks;
  for (const GroupShape& group : groups) {
    const int64_t count = blocks_needed(group.spec, demand.max_context, demand.max_chunk) +
                          int64_t{others - longer} * blocks_needed(group.spec, length, demand.max_chunk) +
                          int64_t{longer} * blocks_needed(group.spec, length + kBlockTokens, demand.max_chunk);
    if (count >= std::numeric_limits<int32_t>::max()) {
      return error(ErrorCode::kInvalidArgument, "{} sequences of {} tokens need {} KV blocks, the most is 2^31 - 2",
                   demand.max_sequences, demand.max_context, count);
    }
    blocks.push_back(static_cast<int32_t>(count));
  }
  return blocks;
}

}  // namespace brio::kv
