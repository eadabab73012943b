// BlockPool: which physical blocks of one KV group are free and how many tables hold each of the others. Ids only, no
// memory. Every operation is O(1). Owned by KvCache; the engine's thread.
//
// What was given back last is taken first: its memory is touched and warm, and a quiet engine stays small. The free
// list is doubly linked through the records, so that a prefix tree can keep blocks at its other end and pull one out of
// the middle.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace brio::kv {

using BlockId = int32_t;
inline constexpr BlockId kNoBlock = -1;

class BlockPool {
 public:
  explicit BlockPool(int32_t num_blocks);

  BlockId take();                 // references: 1; at least one must be free
  void share(BlockId block);      // references + 1; the block must be referenced
  bool give_back(BlockId block);  // references - 1; true when that freed it. A free block given back is a CHECK

  int32_t num_blocks() const { return num_blocks_; }
  int32_t num_free() const { return num_free_; }
  int32_t references(BlockId block) const { return record(block).references; }

  void check() const;  // free + referenced = total, and the list is whole

 private:
  struct Record {
    int32_t references = 0;
    BlockId previous = kNoBlock;  // in the free list; meaningless while referenced
    BlockId next = kNoBlock;
  };
  const Record& record(BlockId block) const {
    BRIO_CHECK(block >= 0 && block < num_blocks_, "block {} of {}", block, num_blocks_);
    return records_[static_cast<size_t>(block)];
  }
  Record& record(BlockId block) { return const_cast<Record&>(std::as_const(*this).record(block)); }

  int32_t num_blocks_;
  int32_t num_free_ = 0;
  std::vector<Record> records_;  // [num_blocks] and the list's sentinel
};

}  // namespace brio::kv
