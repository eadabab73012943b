// BlockTable: where the blocks of one sequence are, in one KV group: logical block b (positions 32 b .. 32 b + 31) to
// physical block. Grows at the end only; window groups let go of blocks at the front. Owned by KvCache.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kv/block_pool.h"

namespace brio::kv {

class BlockTable {
 public:
  int size() const { return static_cast<int>(blocks_.size()); }  // logical blocks, released ones included
  int first_held() const { return first_held_; }
  int num_held() const { return size() - first_held_; }
  BlockId operator[](int block) const { return blocks_[static_cast<size_t>(block)]; }  // kNoBlock: released
  std::span<const BlockId> blocks() const { return blocks_; }

  void append(BlockId block) { blocks_.push_back(block); }
  // A position whose block this table never held (a fork of a table that has released it).
  void append_released() {
    BRIO_CHECK(num_held() == 0, "{} blocks held", num_held());
    blocks_.push_back(kNoBlock);
    ++first_held_;
  }
  // Copy-on-write: returns what was there.
  BlockId replace(int block, BlockId with) { return std::exchange(blocks_[static_cast<size_t>(block)], with); }
  BlockId release_front() {
    BRIO_CHECK(num_held() > 0);
    return std::exchange(blocks_[static_cast<size_t>(first_held_++)], kNoBlock);
  }
  BlockId release_back() {
    BRIO_CHECK(num_held() > 0);
    const BlockId block = blocks_.back();
    blocks_.pop_back();
    return block;
  }

 private:
  std::vector<BlockId> blocks_;
  int first_held_ = 0;
};

}  // namespace brio::kv
