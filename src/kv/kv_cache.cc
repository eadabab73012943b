#include "kv/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/breaks.h"
#include "base/check.h"

namespace brio::kv {

using tensor::Device;
using tensor::kBlockTokens;
using tensor::KvSpec;

Result<std::unique_ptr<KvCache>> KvCache::create(std::span<const KvSpec> layers, const KvOptions& options) {
  std::vector<GroupShape> shapes = group_layers(layers);
  std::vector<int32_t> blocks(shapes.size(), options.blocks_per_group.value_or(0));
  if (options.demand.max_chunk < 1) {
    return error(ErrorCode::kInvalidArgument, "max_chunk is {}, at least 1 token", options.demand.max_chunk);
  }
  if (!options.blocks_per_group) {
    BRIO_TRY(blocks, size_groups(shapes, options.demand));
  } else if (*options.blocks_per_group < 1) {
    return error(ErrorCode::kInvalidArgument, "{} KV blocks, at least 1", *options.blocks_per_group);
  }
  std::vector<Group> groups;
  for (size_t i = 0; i < shapes.size(); ++i) {
    AlignedBuffer records;
    if (options.device == Device::kCpu) {
      const int64_t block_bytes = shapes[i].block_bytes();
      if (block_bytes > 0 && blocks[i] > INT64_MAX / block_bytes) {
        return error(ErrorCode::kOutOfMemory, "{} KV blocks of {} bytes", blocks[i], block_bytes);
      }
      BRIO_TRY(records, AlignedBuffer::create(static_cast<size_t>(blocks[i] * block_bytes)));
    }
    groups.push_back(Group{std::move(shapes[i]), BlockPool(blocks[i]), std::move(records), {}});
  }
  return std::unique_ptr<KvCache>(new KvCache(std::move(groups), options, static_cast<int>(layers.size())));
}

KvCache::KvCache(std::vector<Group> groups, const KvOptions& options, int num_layers)
    : groups_(std::move(groups)), max_chunk_(options.demand.max_chunk), poison_(options.poison) {
  layer_group_.resize(static_cast<size_t>(num_layers));
  layer_index_.resize(static_cast<size_t>(num_layers));
  for (size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<int>& members = groups_[g].shape.layers;
    for (size_t i = 0; i < members.size(); ++i) {
      layer_group_[static_cast<size_t>(members[i])] = static_cast<int>(g);
      layer_index_[static_cast<size_t>(members[i])] = static_cast<int>(i);
    }
    if (poison_ == Poison::kYes && groups_[g].records.size_bytes() > 0) {
      std::memset(groups_[g].records.data(), 0xFF, groups_[g].records.size_bytes());
    }
  }
}

SequenceId KvCache::open() {
  if (unused_ids_.empty()) {
    unused_ids_.push_back(static_cast<SequenceId>(open_.size()));
    open_.push_back(0);
    for (Group& group : groups_) group.tables.emplace_back();
  }
  const SequenceId sequence = unused_ids_.back();
  unused_ids_.pop_back();
  open_[static_cast<size_t>(sequence)] = 1;
  return sequence;
}

void KvCache::close(SequenceId sequence) {
  BRIO_CHECK(open_[static_cast<size_t>(sequence)] != 0, "sequence {} closed twice", sequence);
  for (int g = 0; g < num_groups(); ++g) {
    BlockTable& table = groups_[static_cast<size_t>(g)].tables[static_cast<size_t>(sequence)];
    while (table.num_held() > 0) let_go(g, table.release_back());
    table = BlockTable();
  }
  open_[static_cast<size_t>(sequence)] = 0;
  unused_ids_.push_back(sequence);
}

void KvCache::let_go(int group, BlockId block) {
  if (groups_[static_cast<size_t>(group)].pool.give_back(block) && poison_ == Poison::kYes) {
    pending_.push_back({Pending::Kind::kPoison, group, block, kNoBlock});
  }
}

// The query at `begin` sees keys from begin - window + 1 on, later queries even fewer.
void KvCache::release_unseen(int group, BlockTable& table, int begin) {
  const KvSpec& spec = groups_[static_cast<size_t>(group)].shape.spec;
  if (spec.kind != KvSpec::Kind::kWindow) return;
  const int first_seen = std::max(0, begin - spec.window + 1) / kBlockTokens;
  while (table.num_held() > 0 && table.first_held() < first_seen) let_go(group, table.release_front());
}

KvCache::Need KvCache::need(const Group& group, const BlockTable& table, int begin, int end) const {
  Need need;
  need.blocks = blocks_for(end);
  if (group.shape.spec.kind == KvSpec::Kind::kWindow) {
    need.blocks = std::min(need.blocks, table.first_held() + blocks_needed(group.shape.spec, end, max_chunk_));
  }
  need.blocks = std::max(need.blocks, table.size());
  need.taken = need.blocks - table.size();
  for (int b = std::max(begin / kBlockTokens, table.first_held()); b < table.size(); ++b) {
    if (group.pool.references(table[b]) > 1) ++need.taken;
  }
  return need;
}

void KvCache::take(int group, BlockTable& table, int begin, const Need& need) {
  BlockPool& pool = groups_[static_cast<size_t>(group)].pool;
  for (int b = std::max(begin / kBlockTokens, table.first_held()); b < table.size(); ++b) {
    if (pool.references(table[b]) == 1) continue;
    const BlockId copy = pool.take();
    const BlockId source = table.replace(b, copy);
    pending_.push_back({Pending::Kind::kCopy, group, copy, source});
    let_go(group, source);
  }
  while (table.size() < need.blocks) table.append(pool.take());
}

bool KvCache::reserve(SequenceId sequence, int begin, int end) {
  BRIO_CHECK(open_[static_cast<size_t>(sequence)] != 0 && begin < end, "sequence {}, [{}, {})", sequence, begin, end);
  for (int g = 0; g < num_groups(); ++g) {
    Group& group = groups_[static_cast<size_t>(g)];
    BlockTable& table = group.tables[static_cast<size_t>(sequence)];
    release_unseen(g, table, begin);
    if (need(group, table, begin, end).taken > group.pool.num_free()) return false;
  }
  for (int g = 0; g < num_groups(); ++g) {
    Group& group = groups_[static_cast<size_t>(g)];
    BlockTable& table = group.tables[static_cast<size_t>(sequence)];
    take(g, table, begin, need(group, table, begin, end));
  }
  return true;
}

SequenceId KvCache::fork(SequenceId parent, int length) {
  const SequenceId child = open();
  for (Group& group : groups_) {
    const BlockTable& from = group.tables[static_cast<size_t>(parent)];
    BlockTable& to = group.tables[static_cast<size_t>(child)];
    BRIO_CHECK(blocks_for(length) <= from.size(), "fork at {} of {} blocks", length, from.size());
    for (int b = 0; b < blocks_for(length); ++b) {
      if (from[b] == kNoBlock) {
        to.append_released();
      } else {
        group.pool.share(from[b]);
        to.append(from[b]);
      }
    }
  }
  return child;
}

bool KvCache::fits(int tokens, int spare) const {
  return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return int64_t{blocks_needed(group.shape.spec, tokens, max_chunk_)} + spare <= group.pool.num_free();
  });
}

int KvCache::max_tokens() const {
  int64_t most = INT32_MAX / 2;
  for (const Group& group : groups_) {
    const int64_t held = int64_t{group.pool.num_blocks()} * kBlockTokens;
    if (blocks_needed(group.shape.spec, INT32_MAX / 2, max_chunk_) > group.pool.num_blocks())
      most = std::min(most, held);
  }
  return static_cast<int>(most);
}

int KvCache::reclaimable_blocks(SequenceId sequence) const {
  int blocks = 0;
  for (const Group& group : groups_) {
    for (BlockId block : group.tables[static_cast<size_t>(sequence)].blocks()) {
      if (block != kNoBlock && group.pool.references(block) == 1) ++blocks;
    }
  }
  return blocks;
}

const BlockTable& KvCache::table(int group, SequenceId sequence) const {
  return groups_[static_cast<size_t>(group)].tables[static_cast<size_t>(sequence)];
}

int64_t KvCache::size_bytes() const {
  int64_t bytes = 0;
  for (const Group& group : groups_) bytes += group.shape.block_bytes() * group.pool.num_blocks();
  return bytes;
}

double KvCache::use() const {
  double fullest = 0.0;
  for (const Group& group : groups_) {
    const double total = group.pool.num_blocks();
    fullest = std::max(fullest, (total - group.pool.num_free()) / total);
  }
  return fullest;
}

std::byte* KvCache::block_data(const Group& group, BlockId block) const {
  if (group.records.size_bytes() == 0) return nullptr;
  return group.records.data() + block * group.shape.block_bytes();
}

void KvCache::run_pending() {
  for (const Pending& work : pending_) {
    const Group& group = groups_[static_cast<size_t>(work.group)];
    std::byte* data = block_data(group, work.block);
    if (data == nullptr) continue;
    const auto bytes = static_cast<size_t>(group.shape.block_bytes());
    if (work.kind == Pending::Kind::kCopy) {
      std::memcpy(data, block_data(group, work.source), bytes);
      for (size_t i = 0; is_broken(Rule::kR5) && i < bytes; i += 2) data[i] &= std::byte{0xFE};  // in every 16 bits
    } else {
      ++num_poisoned_;
      std::memset(data, 0xFF, bytes);  // a NaN in bf16 and fp32, and as an int8 tile's scale
    }
  }
  pending_.clear();
}

void KvCache::begin(std::span<const SequenceId> sequences) {
  run_pending();
  step_sequences_.assign(sequences.begin(), sequences.end());
  view_layer_ = -1;
}

tensor::KvLayerView KvCache::layer(int layer) {
  const Group& group = groups_[static_cast<size_t>(layer_group_[static_cast<size_t>(layer)])];
  if (layer != view_layer_) {
    view_layer_ = layer;
    size_t total = 0;
    for (SequenceId s : step_sequences_) total += group.tables[static_cast<size_t>(s)].blocks().size();
    view_records_.resize(total);
    view_blocks_.clear();
    const int64_t offset = tensor::record_bytes(group.shape.spec) * layer_index_[static_cast<size_t>(layer)];
    std::byte** next = view_records_.data();
    for (SequenceId s : step_sequences_) {
      std::byte** const first = next;
      for (BlockId block : group.tables[static_cast<size_t>(s)].blocks()) {
        std::byte* data = block == kNoBlock ? nullptr : block_data(group, block);
        *next++ = data == nullptr ? nullptr : data + offset;
      }
      view_blocks_.emplace_back(first, next);
    }
  }
  return {&group.shape.spec, view_blocks_};
}

void KvCache::check() const {
  for (const Group& group : groups_) {
    group.pool.check();
    std::vector<int32_t> held(static_cast<size_t>(group.pool.num_blocks()), 0);
    for (size_t s = 0; s < group.tables.size(); ++s) {
      BRIO_CHECK(open_[s] != 0 || group.tables[s].size() == 0, "closed sequence {} holds blocks", s);
      for (BlockId block : group.tables[s].blocks()) {
        if (block != kNoBlock) ++held[static_cast<size_t>(block)];
      }
    }
    for (BlockId b = 0; b < group.pool.num_blocks(); ++b) {
      BRIO_CHECK(held[static_cast<size_t>(b)] == group.pool.references(b), "block {}: {} tables, {} references", b,
                 held[static_cast<size_t>(b)], group.pool.references(b));
    }
  }
}

}  // namespace brio::kv
