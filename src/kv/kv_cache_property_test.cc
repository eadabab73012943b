// Random histories of the block pool, and of the cache's tables, against plain accounts of them: conservation, who holds
// what, copy-on-write, and that a reservation succeeds exactly when the blocks are there. What the blocks contain is
// kv_cache_test's business; the device here is the one without memory.
#include <fmt/ostream.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/testing/property.h"
#include "kv/kv_cache.h"

namespace brio::kv {
namespace {

using brio::testing::check_property;
using brio::testing::gen_below;
using tensor::kBlockTokens;
using tensor::KvSpec;

constexpr int kCases = 20000 / brio::testing::kSlowdown;

struct Operation {
  int kind, which, amount;  // each below 100
};
struct Case {
  int size, shape, chunk;  // each below 100
  std::vector<Operation> operations;
};
std::ostream& operator<<(std::ostream& out, const Case& tried) {
  fmt::print(out, "size {} shape {} chunk {}\n", tried.size, tried.shape, tried.chunk);
  for (const Operation& o : tried.operations)
    fmt::print(out, "  kind {} which {} amount {}\n", o.kind, o.which, o.amount);
  return out;
}
rc::Gen<Case> gen_case() {
  using Numbers = std::array<int, 3>;
  const auto numbers = rc::gen::container<Numbers>(gen_below(100));
  return rc::gen::map(rc::gen::pair(numbers, rc::gen::container<std::vector<Numbers>>(numbers)),
                      [](const std::pair<Numbers, std::vector<Numbers>>& raw) {
                        Case made{raw.first[0], raw.first[1], raw.first[2], {}};
                        for (const Numbers& n : raw.second) made.operations.push_back({n[0], n[1], n[2]});
                        return made;
                      });
}

// Takes, shares and gives back; the account is a list of free blocks, last given back first, and a count for each.
std::string run_pool(const Case& tried) {
  const int size = 1 + tried.size % 12;
  BlockPool pool(size);
  std::vector<BlockId> free;
  for (BlockId b = size; b-- > 0;) free.push_back(b);
  std::vector<int> references(static_cast<size_t>(size), 0);
  for (const Operation& operation : tried.operations) {
    const BlockId block = operation.which % size;
    int& count = references[static_cast<size_t>(block)];
    if (operation.kind < 40 && !free.empty()) {
      const BlockId taken = pool.take();
      if (taken != free.back()) return fmt::format("took {}, given back last was {}", taken, free.back());
      free.pop_back();
      references[static_cast<size_t>(taken)] = 1;
    } else if (operation.kind < 60 && count > 0) {
      pool.share(block);
      ++count;
    } else if (count > 0) {
      const bool freed = pool.give_back(block);
      if (freed != (--count == 0)) return fmt::format("block {} has {} references left", block, count);
      if (freed) free.push_back(block);
    }
    if (pool.num_free() != static_cast<int>(free.size())) return fmt::format("{} free", pool.num_free());
    for (BlockId b = 0; b < size; ++b) {
      if (pool.references(b) != references[static_cast<size_t>(b)]) return fmt::format("references of block {}", b);
    }
    pool.check();
  }
  return {};
}

KvSpec spec_of(int window) {
  return {window > 0 ? KvSpec::Kind::kWindow : KvSpec::Kind::kFull, window, 1, 16, tensor::KvType::kBF16};
}
constexpr std::array<std::array<int, 2>, 4> kShapes = {{{0, 0}, {40, 0}, {33, 70}, {1, 0}}};  // windows of two layers

// The cache beside its account.
class Tables {
 public:
  explicit Tables(const Case& tried) : max_chunk_(1 + tried.chunk % 50) {
    std::vector<KvSpec> layers;
    for (int window : kShapes[static_cast<size_t>(tried.shape) % kShapes.size()]) layers.push_back(spec_of(window));
    KvOptions options;
    options.device = tensor::Device::kNull;
    options.demand.max_chunk = max_chunk_;
    options.blocks_per_group = num_blocks_ = 1 + tried.size % 16;
    kv_ = std::move(KvCache::create(layers, options)).value();
    references_.assign(static_cast<size_t>(kv_->num_groups()), std::vector<int>(static_cast<size_t>(num_blocks_), 0));
  }

  std::string run(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      apply(operation);
      if (wrong_.empty()) check();
      if (!wrong_.empty()) return wrong_;
    }
    while (!accounts_.empty()) close(accounts_.begin());
    check();
    if (wrong_.empty()) run_alone();
    return wrong_;
  }

 private:
  struct Account {
    std::vector<std::vector<BlockId>> tables;  // [groups][blocks]; kNoBlock: released
    int computed = 0;
    int promised = 0;  // what was reserved, while nothing is shared
  };
  using Accounts = std::map<SequenceId, Account>;

  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (wrong_.empty()) wrong_ = fmt::format(format, std::forward<Args>(args)...);
  }
  int& references(int group, BlockId block) {
    return references_[static_cast<size_t>(group)][static_cast<size_t>(block)];
  }

  int num_free(int group) const {
    const std::vector<int>& counts = references_[static_cast<size_t>(group)];
    return static_cast<int>(std::count(counts.begin(), counts.end(), 0));
  }

  void apply(const Operation& operation) {
    const auto picked = accounts_.empty()
                            ? accounts_.end()
                            : std::next(accounts_.begin(), operation.which % static_cast<int>(accounts_.size()));
    if (picked == accounts_.end() || operation.kind < 10) {
      open();
    } else if (operation.kind < 22) {
      close(picked);
    } else if (operation.kind < 35) {
      fork(picked, operation.amount);
    } else if (operation.kind < 42) {
      admit(1 + operation.amount, operation.which % 4);
    } else {
      compute(picked->first, picked->second, picked->second.computed + 1 + operation.amount);
    }
  }

  Accounts::iterator open() {
    const auto [at, is_new] = accounts_.emplace(kv_->open(), Account{});
    if (!is_new) fail("sequence {} is open twice", at->first);
    at->second.tables.resize(static_cast<size_t>(kv_->num_groups()));
    return at;
  }

  void close(Accounts::iterator at) {
    int freed = 0;
    for (int group = 0; group < kv_->num_groups(); ++group) {
      for (BlockId block : at->second.tables[static_cast<size_t>(group)]) {
        if (block != kNoBlock && --references(group, block) == 0) ++freed;
      }
    }
    if (kv_->reclaimable_blocks(at->first) != freed) fail("sequence {} would free {} blocks", at->first, freed);
    kv_->close(at->first);
    accounts_.erase(at);
  }

  void fork(Accounts::iterator parent, int amount) {
    if (parent->second.computed == 0) return;
    const int length = amount % 3 == 0 ? 1 + amount % parent->second.computed : parent->second.computed;
    for (const auto& table : parent->second.tables) {  // a shorter child would need blocks that are gone
      for (int b = 0; b < blocks_for(length); ++b) {
        if (table[static_cast<size_t>(b)] == kNoBlock && length != parent->second.computed) return;
      }
    }
    Account child = parent->second;
    for (int group = 0; group < kv_->num_groups(); ++group) {
      std::vector<BlockId>& table = child.tables[static_cast<size_t>(group)];
      table.resize(static_cast<size_t>(blocks_for(length)));
      for (BlockId block : table) {
        if (block != kNoBlock) ++references(group, block);
      }
    }
    child.computed = length;
    child.promised = parent->second.promised = 0;
    const auto [at, is_new] = accounts_.emplace(kv_->fork(parent->first, length), std::move(child));
    if (!is_new) fail("sequence {} is open twice", at->first);
  }

  // fits() is a promise about a new sequence.
  void admit(int tokens, int spare) {
    const bool fits = kv_->fits(tokens, 0);
    if (kv_->fits(tokens, spare) && !fits) fail("{} tokens fit with {} blocks to spare alone", tokens, spare);
    const auto at = open();
    if (compute(at->first, at->second, tokens) != fits) fail("{} tokens {}", tokens, fits ? "fit not" : "fit");
  }

  // Reserves [computed, end) and computes one chunk of it.
  bool compute(SequenceId id, Account& account, int end) {
    end = std::max(end, account.promised);
    bool enough = true;
    std::vector<int> sizes;
    for (int group = 0; group < kv_->num_groups(); ++group) {
      std::vector<BlockId>& table = account.tables[static_cast<size_t>(group)];
      if (enough) release_unseen(group, table, account.computed);
      const auto [size, taken] = need(group, table, account.computed, end);
      sizes.push_back(size);
      enough = enough && taken <= num_free(group);
    }
    if (account.promised == end && !enough) fail("sequence {} was promised {} tokens", id, end);
    if (kv_->reserve(id, account.computed, end) != enough)
      fail("sequence {}: {} tokens reserved: {}", id, end, !enough);
    if (!enough || !wrong_.empty()) return false;
    for (int group = 0; group < kv_->num_groups(); ++group) {
      follow(id, group, account.tables[static_cast<size_t>(group)], account.computed, end,
             sizes[static_cast<size_t>(group)]);
    }
    account.promised = shares(account) ? 0 : end;
    account.computed = std::min(end, account.computed + max_chunk_);
    return true;
  }

  bool shares(const Account& account) {
    for (int group = 0; group < kv_->num_groups(); ++group) {
      for (BlockId block : account.tables[static_cast<size_t>(group)]) {
        if (block != kNoBlock && references(group, block) > 1) return true;
      }
    }
    return false;
  }

  // Keys before begin - window + 1 are seen no more.
  void release_unseen(int group, std::vector<BlockId>& table, int begin) {
    const KvSpec& spec = kv_->shape(group).spec;
    if (spec.kind != KvSpec::Kind::kWindow) return;
    for (int b = 0; b < static_cast<int>(table.size()) && (b + 1) * kBlockTokens <= begin - spec.window + 1; ++b) {
      BlockId& block = table[static_cast<size_t>(b)];
      if (block != kNoBlock) --references(group, std::exchange(block, kNoBlock));
    }
  }

  // The table's size with [begin, end) reserved, and the blocks that takes: new ones, and copies of shared ones. A
  // window group need not reach `end`: it holds what a window and a chunk touch at the worst alignment.
  std::pair<int, int> need(int group, const std::vector<BlockId>& table, int begin, int end) {
    const KvSpec& spec = kv_->shape(group).spec;
    const int before = static_cast<int>(table.size());
    const int released = static_cast<int>(std::count(table.begin(), table.end(), kNoBlock));
    int size = (end + kBlockTokens - 1) / kBlockTokens;
    if (spec.kind == KvSpec::Kind::kWindow) {
      const int touched = 1 + (spec.window - 1 + max_chunk_ - 1 + kBlockTokens - 1) / kBlockTokens;
      size = std::min(size, released + touched);
    }
    size = std::max(size, before);
    int taken = size - before;
    for (int b = begin / kBlockTokens; b < before; ++b) {
      const BlockId block = table[static_cast<size_t>(b)];
      taken += block != kNoBlock && references(group, block) > 1 ? 1 : 0;
    }
    return {size, taken};
  }

  // Takes over the blocks that the cache chose; those must have been free.
  void follow(SequenceId id, int group, std::vector<BlockId>& table, int begin, int end, int size) {
    const BlockTable& real = kv_->table(group, id);
    if (real.size() != size) return fail("sequence {}: {} blocks, expected {}", id, real.size(), size);
    if (size * kBlockTokens < std::min(end, begin + max_chunk_)) fail("sequence {}: no room for a chunk", id);
    for (int b = 0; b < size; ++b) {
      if (b == static_cast<int>(table.size())) table.push_back(kNoBlock);
      BlockId& block = table[static_cast<size_t>(b)];
      if (real[b] == block) continue;
      const bool is_new = block == kNoBlock;
      const bool is_copy = !is_new && b >= begin / kBlockTokens && references(group, block) > 1;
      if ((!is_new && !is_copy) || real[b] < 0 || references(group, real[b]) != 0)
        return fail("sequence {}: block {} became {}", id, block, real[b]);
      if (is_copy) --references(group, block);
      block = real[b];
      references(group, block) = 1;
    }
    for (int b = begin / kBlockTokens; b < size; ++b) {
      const BlockId block = table[static_cast<size_t>(b)];
      if (block != kNoBlock && references(group, block) != 1)
        fail("sequence {}: block {} is written and shared", id, b);
    }
  }

  void check() {
    for (int group = 0; group < kv_->num_groups(); ++group) {
      const BlockPool& pool = kv_->pool(group);
      for (BlockId b = 0; b < num_blocks_; ++b) {
        if (pool.references(b) != references(group, b))
          fail("block {} has {} references, {} tables hold it", b, pool.references(b), references(group, b));
      }
      if (pool.num_free() != num_free(group)) fail("{} blocks are free, told are {}", num_free(group), pool.num_free());
    }
    for (const auto& [id, account] : accounts_) {
      for (int group = 0; group < kv_->num_groups(); ++group) {
        const auto blocks = kv_->table(group, id).blocks();
        if (!std::equal(blocks.begin(), blocks.end(), account.tables[static_cast<size_t>(group)].begin(),
                        account.tables[static_cast<size_t>(group)].end()))
          fail("the table of sequence {}", id);
      }
    }
    if (wrong_.empty()) kv_->check();
  }

  // max_tokens() is the longest sequence that fits when nothing else is there; it can be computed chunk by chunk.
  void run_alone() {
    const int most = kv_->max_tokens();
    const bool is_endless = most >= INT32_MAX / 2;
    if (!kv_->fits(most, 0) || (!is_endless && kv_->fits(most + 1, 0))) fail("not {} tokens fit alone", most);
    const SequenceId id = kv_->open();
    for (int begin = 0; begin < std::min(most, 700);) {
      const int end = std::min(most, begin + max_chunk_);
      if (!kv_->reserve(id, begin, end)) return fail("{} tokens do not fit alone, told are {}", end, most);
      begin = end;
    }
    kv_->close(id);
  }

  const int max_chunk_;
  int num_blocks_ = 0;
  std::unique_ptr<KvCache> kv_;
  Accounts accounts_;
  std::vector<std::vector<int>> references_;  // [groups][blocks], by the accounts
  std::string wrong_;
};

TEST(BlockPoolProperty, ThePoolIsAListAndACountForEachBlock) {
  check_property(kCases, 1, gen_case(), run_pool);
}

TEST(KvCacheProperty, TheTablesHoldWhatTheirAccountHolds) {
  check_property(kCases, 2, gen_case(), [](const Case& tried) { return Tables(tried).run(tried.operations); });
}

}  // namespace
}  // namespace brio::kv
