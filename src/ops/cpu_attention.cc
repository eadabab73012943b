// CpuOps::rope_and_store and CpuOps::attention: keys and values into their blocks, and the rows' attention over them.
#include "ops/cpu_attention.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/row.h"
#include "kernels/table.h"
#include "ops/cpu_ops.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using tensor::kBlockTokens;
using tensor::KvLayerView;
using tensor::KvSpec;
// The kernels' tables are indexed by type.
static_assert(static_cast<int>(tensor::KvType::kBF16) == 0 && static_cast<int>(tensor::KvType::kF32) == 1 &&
              static_cast<int>(tensor::KvType::kInt8) == 2 && kernels::kNumKvTypes == 3);
static_assert(kBlockTokens == kernels::kTileTokens);
static_assert(kMaxHeadDim == kernels::kMaxHeadDim);

// Below this many floats (rope) or multiply-adds (attention) a call runs on the caller alone: about 2 us of one core, what
// waking the others costs.
constexpr int64_t kSmallRope = 8192;
constexpr int64_t kSmallAttention = 65536;

// Rows that a thread claims at once when it rotates queries, and when it stores results (quantises them).
constexpr int kRotateRows = 8;
constexpr int kStoreRows = 4;

std::byte* block_of(const KvLayerView& kv, int32_t sequence, int32_t block) {
  return kv.blocks[static_cast<size_t>(sequence)][static_cast<size_t>(block)];
}

struct Rotation {
  const kernels::RowKernels& row;
  const RopeTable& rope;
  float epsilon;

  // Normalises (weight may be none) and rotates one head in place.
  void apply(float* head, int head_dim, const tensor::Vector* weight, int32_t position) const {
    if (weight != nullptr) row.rms_norm(head, weight->values().data(), head_dim, epsilon, head);
    const int pairs = rope.spec().rotary_dim / 2;
    if (rope.spec().interleaved) {
      row.rotate_interleaved(head, rope.cos(position), rope.sin(position), pairs);
    } else {
      row.rotate_halves(head, rope.cos(position), rope.sin(position), pairs);
    }
  }
};

// The keys and values of one head that fall into blocks with block % parts == part: a tile has one writer per step (R4).
struct HeadStore {
  const KvSpec& spec;
  const KvLayerView& kv;
  const StepRows& step;
  const kernels::AttentionKernels& kernels;
  const Rotation& rotation;
  const HeadNorms& norms;

  void run(const Rows& k, const Rows& v, int head, int part, int parts) const {
    float key[kernels::kMaxHeadDim];
    const int type = static_cast<int>(spec.type);
    for (size_t r = 0; r < step.rows.size(); ++r) {
      const Row& row = step.rows[r];
      bool rotated = false;
      for (int32_t w = row.write_begin; w < row.write_end; ++w) {
        const WriteSlot& slot = step.writes[static_cast<size_t>(w)];
        const int32_t block = slot.position / kBlockTokens;
        if (block % parts != part) continue;
        std::byte* record = block_of(kv, slot.sequence, block);
        BRIO_CHECK(record != nullptr, "row {} writes to released block {} of sequence {}", r, block, slot.sequence);
        const ptrdiff_t column = ptrdiff_t{head} * spec.head_dim;
        if (!rotated) {
          std::copy_n(k.storage()->row(static_cast<int>(r)) + column, spec.head_dim, key);
          rotation.apply(key, spec.head_dim, norms.k, row.position);
          if (norms.key_factor != nullptr) {
            const float* factor = norms.key_factor->values().data() + column;
            for (int d = 0; d < spec.head_dim; ++d) key[d] /= factor[d];
          }
          rotated = true;
        }
        std::byte* tile = record + 2 * tensor::tile_bytes(spec) * head;
        kernels.store_key[type](key, spec.head_dim, slot.position % kBlockTokens, tile);
        kernels.store_value[type](v.storage()->row(static_cast<int>(r)) + column, spec.head_dim,
                                  slot.position % kBlockTokens, tile + tensor::tile_bytes(spec));
      }
    }
  }
};

// One attention call: what its items share.
struct AttentionCall {
  using Results = CpuOps::AttentionScratch::Results;

  const Rows& q;
  const StepRows& step;
  const AttentionShape& shape;
  const KvLayerView& kv;
  const kernels::AttentionKernels& kernels;
  const AttentionPlan& plan;
  CpuOps::AttentionScratch& scratch;

  int group() const { return shape.num_heads / kv.spec->num_kv_heads; }

  // The tiles of one split, and the keys of the next for those who go on.
  kernels::AttentionSplit split_of(const AttentionTile& tile, int split) const {
    kernels::AttentionSplit out;
    const auto& blocks = kv.blocks[static_cast<size_t>(step.rows[static_cast<size_t>(tile.row_begin)].sequence)];
    const auto keys_of = [&](int block) -> const std::byte* {
      const size_t index = static_cast<size_t>(block);
      if (index >= blocks.size() || blocks[index] == nullptr) return nullptr;
      return blocks[index] + 2 * tensor::tile_bytes(*kv.spec) * tile.kv_head;
    };
    for (int i = 0; i < kernels::kSplitTiles; ++i) {
      const int block = split * kernels::kSplitTiles + i;
      out.k[i] = keys_of(block);
      if (out.k[i] != nullptr) out.v[i] = out.k[i] + tensor::tile_bytes(*kv.spec);
      const std::byte* next = split + 1 < tile.split_end ? keys_of(block + kernels::kSplitTiles) : nullptr;
      out.next_k[i] = next != nullptr ? next : out.next_k[0];  // the last split's missing tiles repeat its first
    }
    return out;
  }

  // Attends one split with every query of the tile that sees some of it, six at a time or a little fewer, evenly.
  void attend(const AttentionTile& tile, int split, kernels::AttentionState* states) const {
    const kernels::AttentionSplit keys = split_of(tile, split);
    const int32_t origin = split * kernels::kSplitTokens;
    const auto sees = [&](int r) {
      const KeyRange& range = plan.keys[static_cast<size_t>(r)];
      return range.begin < range.end && range.begin < origin + kernels::kSplitTokens && range.end > origin;
    };
    int left = 0;
    for (int r = tile.row_begin; r < tile.row_end; ++r) left += sees(r) ? group() : 0;
    const int num_tiles = (left + kernels::kAttentionRows - 1) / kernels::kAttentionRows;
    int tiles_left = num_tiles;
    kernels::AttentionQueries queries;
    kernels::AttentionParameters parameters = {shape.head_dim, shape.scale, shape.softcap, true};
    const int type = static_cast<int>(kv.spec->type);
    for (int r = tile.row_begin; r < tile.row_end; ++r) {
      if (!sees(r)) continue;
      const KeyRange& range = plan.keys[static_cast<size_t>(r)];
      for (int g = 0; g < group(); ++g) {
        const int i = queries.count++;
        queries.q[i] = q.storage()->row(r) + ptrdiff_t{tile.kv_head * group() + g} * shape.head_dim;
        queries.begin[i] = std::max(range.begin - origin, 0);
        queries.end[i] = std::min(range.end - origin, kernels::kSplitTokens);
        queries.state[i] = &states[(r - tile.row_begin) * group() + g];
        if (queries.count < (left + tiles_left - 1) / tiles_left) continue;
        kernels.attend[type](queries, keys, parameters);
        parameters.prefetch = false;
        left -= queries.count;
        --tiles_left;
        queries.count = 0;
      }
    }
  }

  void finish(const AttentionTile& tile, const kernels::AttentionState* states) const {
    for (int r = tile.row_begin; r < tile.row_end; ++r) {
      for (int g = 0; g < group(); ++g) {
        const kernels::AttentionState& state = states[(r - tile.row_begin) * group() + g];
        float* out =
            &scratch.context[(static_cast<size_t>(r) * shape.num_heads + tile.kv_head * group() + g) * shape.head_dim];
        if (plan.keys[static_cast<size_t>(r)].begin >= plan.keys[static_cast<size_t>(r)].end) {
          std::fill_n(out, shape.head_dim, 0.0F);  // sees nothing
        } else {
          kernels.finish(state, shape.head_dim, out);
        }
      }
    }
  }

  void run(const AttentionItem& item, int thread) const {
    const AttentionTile& tile = plan.tiles[static_cast<size_t>(item.tile)];
    const int queries = (tile.row_end - tile.row_begin) * group();
    const Results mine = scratch.of_thread(thread);
    if (tile.partial < 0) {
      mine.reset(queries, shape.head_dim);
      for (int split = item.split_begin; split < item.split_end; ++split) attend(tile, split, mine.states);
      finish(tile, mine.states);
      return;
    }
    for (int split = item.split_begin; split < item.split_end; ++split) {
      const Results part = scratch.partial(tile.partial + int64_t{split - tile.split_begin} * queries, shape.head_dim);
      part.reset(queries, shape.head_dim);
      attend(tile, split, part.states);
    }
    if (scratch.left[static_cast<size_t>(item.tile)].fetch_sub(1, std::memory_order_acq_rel) == 1)
      merge(tile, queries, mine);
  }

  // The last item of a tile merges all splits, ascending.
  void merge(const AttentionTile& tile, int queries, const Results& mine) const {
    mine.reset(queries, shape.head_dim);
    for (int split = tile.split_begin; split < tile.split_end; ++split) {
      const Results part = scratch.partial(tile.partial + int64_t{split - tile.split_begin} * queries, shape.head_dim);
      for (int i = 0; i < queries; ++i) {
        if (part.states[i].sum != 0.0F) kernels.merge(mine.states[i], part.states[i], shape.head_dim);
      }
    }
    finish(tile, mine.states);
  }
};

}  // namespace

void CpuOps::AttentionScratch::reserve(int num_rows, int width, int head_dim, int num_threads) {
  const auto grow = [](auto& vector, int64_t size) {
    if (vector.size() < static_cast<size_t>(size)) vector.resize(static_cast<size_t>(size));
  };
  const int64_t queries = int64_t{num_threads} * plan.max_queries;
  grow(context, int64_t{num_rows} * width);
  grow(states, queries);
  grow(outs, queries * head_dim);
  grow(partials, plan.num_partials);
  grow(partial_outs, plan.num_partials * head_dim);
  thread_outs_stride = int64_t{plan.max_queries} * head_dim;
  if (left_size < plan.tiles.size()) {
    left = std::make_unique<std::atomic<int>[]>(plan.tiles.size());
    left_size = plan.tiles.size();
  }
  for (size_t i = 0; i < plan.tiles.size(); ++i) left[i].store(plan.tiles[i].num_items, std::memory_order_relaxed);
}

void CpuOps::rope_and_store(Rows& q, const Rows& k, const Rows& v, const StepRows& step, const HeadNorms& norms,
                            RopeTable& rope, const KvLayerView& kv) {
  const KvSpec& spec = *kv.spec;
  const int num_rows = static_cast<int>(step.rows.size());
  const int num_heads = q.width() / spec.head_dim;
  BRIO_CHECK(k.width() == spec.num_kv_heads * spec.head_dim && v.width() == k.width() &&
                 q.width() == num_heads * spec.head_dim && spec.head_dim <= kernels::kMaxHeadDim &&
                 spec.head_dim % 2 == 0 && rope.spec().rotary_dim <= spec.head_dim && num_rows <= q.max_rows(),
             "q {} k {} v {} of heads of {}", q.width(), k.width(), v.width(), spec.head_dim);
  BRIO_CHECK(norms.key_factor == nullptr || norms.key_factor->size() == k.width(), "{} key factors for {} channels",
             norms.key_factor->size(), k.width());
  int32_t end = 0;
  for (const Row& row : step.rows) end = std::max(end, row.position + 1);
  rope.extend(end);
  const Rotation rotation = {kernels_.rows, rope, norms.epsilon};
  const HeadStore store = {spec, kv, step, kernels_.attention, rotation, norms};
  const int parts = (pool_.num_threads() + spec.num_kv_heads - 1) / spec.num_kv_heads;
  const int num_stores = spec.num_kv_heads * parts;
  const int num_items = num_stores + (num_rows + kRotateRows - 1) / kRotateRows;
  const bool small = int64_t{num_rows} * (q.width() + 2 * k.width()) < kSmallRope;
  pool_.parallel_for(num_items, small ? num_items : 1, [&](int item_begin, int item_end) {
    for (int item = item_begin; item < item_end; ++item) {
      if (item < num_stores) {
        store.run(k, v, item / parts, item % parts, parts);
        continue;
      }
      const int row_begin = (item - num_stores) * kRotateRows;
      for (int r = row_begin; r < std::min(row_begin + kRotateRows, num_rows); ++r) {
        for (int h = 0; h < num_heads; ++h) {
          float* head = q.storage()->row(r) + ptrdiff_t{h} * spec.head_dim;
          rotation.apply(head, spec.head_dim, norms.q, step.rows[static_cast<size_t>(r)].position);
          if (norms.key_factor == nullptr) continue;
          const int kv_head = h / (num_heads / spec.num_kv_heads);
          const float* factor = norms.key_factor->values().data() + ptrdiff_t{kv_head} * spec.head_dim;
          for (int d = 0; d < spec.head_dim; ++d) head[d] *= factor[d];
        }
      }
    }
  });
}

void CpuOps::attention(const Rows& q, const StepRows& step, const AttentionShape& shape, const KvLayerView& kv,
                       Activation& out) {
  const KvSpec& spec = *kv.spec;
  const int num_rows = static_cast<int>(step.rows.size());
  BRIO_CHECK(shape.head_dim == spec.head_dim && spec.head_dim <= kernels::kMaxHeadDim && spec.head_dim % 2 == 0 &&
                 shape.num_heads % spec.num_kv_heads == 0 && q.width() == shape.num_heads * shape.head_dim &&
                 out.width() == q.width() && num_rows <= out.max_rows(),
             "{} heads of {} over {} of {}, q {}", shape.num_heads, shape.head_dim, spec.num_kv_heads, spec.head_dim,
             q.width());
  AttentionScratch& scratch = *attention_scratch_;
  plan_attention(step.rows, spec, shape.num_heads / spec.num_kv_heads, pool_.num_threads(), scratch.plan);
  scratch.reserve(num_rows, q.width(), spec.head_dim, pool_.num_threads());
  const AttentionCall call = {q, step, shape, kv, kernels_.attention, scratch.plan, scratch};
  const int num_items = static_cast<int>(scratch.plan.items.size());
  std::atomic<int> next{0};
  const auto work = [&](int thread) {
    for (int i = next.fetch_add(1, std::memory_order_relaxed); i < num_items;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      call.run(scratch.plan.items[static_cast<size_t>(i)], thread);
    }
  };
  if (scratch.plan.total_cost * spec.head_dim < kSmallAttention) {
    pool_.parallel_for(1, 1, [&](int, int) { work(0); });
  } else {
    pool_.run(work);
  }
  out.storage()->start(num_rows, rows_at_position_0(step.rows));
  pool_.parallel_for(num_rows, kStoreRows, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const size_t width = static_cast<size_t>(q.width());
      out.storage()->store(kernels_.quantize, r, 0, {&scratch.context[static_cast<size_t>(r) * width], width});
    }
  });
}

}  // namespace brio::ops
