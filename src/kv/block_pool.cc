#include "kv/block_pool.h"

namespace brio::kv {

BlockPool::BlockPool(int32_t num_blocks) : num_blocks_(num_blocks), num_free_(num_blocks) {
  BRIO_CHECK(num_blocks >= 0, "{}", num_blocks);
  records_.resize(static_cast<size_t>(num_blocks) + 1);
  for (BlockId i = 0; i <= num_blocks; ++i) {
    Record& record = records_[static_cast<size_t>(i)];
    record.previous = i == 0 ? num_blocks : i - 1;
    record.next = i == num_blocks ? 0 : i + 1;
  }
}

BlockId BlockPool::take() {
  BRIO_CHECK(num_free_ > 0, "no free block of {}", num_blocks_);
  Record& sentinel = records_.back();
  const BlockId block = sentinel.next;
  Record& taken = records_[static_cast<size_t>(block)];
  sentinel.next = taken.next;
  records_[static_cast<size_t>(taken.next)].previous = num_blocks_;
  taken.references = 1;
  --num_free_;
  return block;
}

void BlockPool::share(BlockId block) {
  Record& shared = record(block);
  BRIO_CHECK(shared.references > 0, "block {} is free", block);
  ++shared.references;
}

bool BlockPool::give_back(BlockId block) {
  Record& given = record(block);
  BRIO_CHECK(given.references > 0, "block {} given back twice", block);
  if (--given.references > 0) return false;
  Record& sentinel = records_.back();
  given.previous = num_blocks_;
  given.next = sentinel.next;
  records_[static_cast<size_t>(sentinel.next)].previous = block;
  sentinel.next = block;
  ++num_free_;
  return true;
}

void BlockPool::check() const {
  int32_t referenced = 0;
  for (BlockId i = 0; i < num_blocks_; ++i) referenced += records_[static_cast<size_t>(i)].references > 0 ? 1 : 0;
  BRIO_CHECK(referenced + num_free_ == num_blocks_, "{} referenced + {} free != {}", referenced, num_free_,
             num_blocks_);
  int32_t listed = 0;
  for (BlockId i = records_.back().next; i != num_blocks_; i = records_[static_cast<size_t>(i)].next) {
    BRIO_CHECK(records_[static_cast<size_t>(i)].references == 0, "block {} is free and referenced", i);
    BRIO_CHECK(++listed <= num_free_, "free list longer than {}", num_free_);
  }
  BRIO_CHECK(listed == num_free_, "{} in the free list, {} counted", listed, num_free_);
}

}  // namespace brio::kv
