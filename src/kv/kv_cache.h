// KvCache: where keys and values live. Owns one block pool, the records behind it and the sequences' block tables per
// KV group (layers with equal specs). Between engine/scheduler, which reserves, and ops/attention, which reads and
// writes through the views of a step. The engine's thread.
//
//   BRIO_TRY(std::unique_ptr<KvCache> kv, KvCache::create(layer_specs, options));
//   SequenceId s = kv->open();
//   if (!kv->reserve(s, computed, known)) ...           // positions [computed, known) can be written
//   kv->begin(step_sequences);                          // copy-on-write happens here
//   model.forward(... kv->layer(l) ...);
//   SequenceId t = kv->fork(s, computed);               // shares the blocks of [0, computed)
//   kv->close(s);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/kv_sizing.h"
#include "tensor/device.h"
#include "tensor/kv_layout.h"

namespace brio::kv {

using SequenceId = int32_t;  // reused after close()

enum class Poison : bool { kNo, kYes };  // kYes: free blocks are filled with NaN, so that a stale read shows (tests)

struct KvOptions {
  tensor::Device device = tensor::Device::kCpu;
  KvDemand demand;
  std::optional<int32_t> blocks_per_group;  // instead of sizing by the demand
  Poison poison = Poison::kNo;
};

class KvCache {
 public:
  // layers: what each layer of the model keeps. Errors: kOutOfMemory, kInvalidArgument.
  static Result<std::unique_ptr<KvCache>> create(std::span<const tensor::KvSpec> layers, const KvOptions& options);

  SequenceId open();
  void close(SequenceId sequence);  // gives everything back, last block first

  // Makes positions [begin, end) writable, where everything before `begin` is computed and what comes next is at most
  // max_chunk of it. All groups or none: false changes nothing that anybody can see.
  //   Full groups take every block up to `end`. Window groups first let go of blocks that no query from `begin` on can
  //   see, then take as many as blocks_needed() allows; so after a first success with some `end`, further calls with
  //   the same `end` succeed while the sequence shares no block. A block in that range which others hold too is
  //   replaced by a copy (made by begin()).
  bool reserve(SequenceId sequence, int begin, int end);

  // A new sequence that shares the blocks of [0, length).
  SequenceId fork(SequenceId parent, int length);

  // Whether every group has the blocks for a new sequence of `tokens`, and `spare` more.
  bool fits(int tokens, int spare) const;
  // The longest sequence that fits when nothing else is there.
  int max_tokens() const;
  // Blocks that closing the sequence would free.
  int reclaimable_blocks(SequenceId sequence) const;

  // Starts a step over these sequences: pending copies are made, addresses are fixed until the next begin().
  void begin(std::span<const SequenceId> sequences);
  // One layer of the step; valid until the next call of layer() for another layer, or begin().
  tensor::KvLayerView layer(int layer);

  int num_groups() const { return static_cast<int>(groups_.size()); }
  const GroupShape& shape(int group) const { return groups_[static_cast<size_t>(group)].shape; }
  const BlockTable& table(int group, SequenceId sequence) const;
  const BlockPool& pool(int group) const { return groups_[static_cast<size_t>(group)].pool; }
  int64_t size_bytes() const;
  double use() const;  // referenced / total of the fullest group
  int64_t num_poisoned() const { return num_poisoned_; }  // blocks filled with NaN when they were freed

  // Conservation: free + referenced = total, references = tables that hold a block. Any break is a CHECK.
  void check() const;

 private:
  struct Group {
    GroupShape shape;
    BlockPool pool;
    AlignedBuffer records;           // [blocks][layers of the group][record]; empty on the null device
    std::vector<BlockTable> tables;  // by SequenceId
  };
  // What begin() still has to do to memory, in this order: a source may be given back, even taken again, meanwhile.
  struct Pending {
    enum class Kind : uint8_t { kCopy, kPoison } kind;
    int group;
    BlockId block;
    BlockId source;
  };
  struct Need {
    int blocks = 0;  // the table's size afterwards
    int taken = 0;   // blocks to take, copies included
  };

  KvCache(std::vector<Group> groups, const KvOptions& options, int num_layers);
  void let_go(int group, BlockId block);
  void release_unseen(int group, BlockTable& table, int begin);
  Need need(const Group& group, const BlockTable& table, int begin, int end) const;
  void take(int group, BlockTable& table, int begin, const Need& need);
  std::byte* block_data(const Group& group, BlockId block) const;
  void run_pending();

  std::vector<Group> groups_;
  std::vector<int> layer_group_;  // [layers]
  std::vector<int> layer_index_;  // [layers] within the group's blocks
  std::vector<uint8_t> open_;     // by SequenceId
  std::vector<SequenceId> unused_ids_;
  std::vector<Pending> pending_;
  int max_chunk_;
  Poison poison_;
  int64_t num_poisoned_ = 0;

  std::vector<SequenceId> step_sequences_;
  int view_layer_ = -1;
  std::vector<std::byte*> view_records_;
  std::vector<std::span<std::byte* const>> view_blocks_;
};

}  // namespace brio::kv
