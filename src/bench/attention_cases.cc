// Attention over a real KV cache: one layer, filled through the device's own store. Bytes are those of the keys and values
// that are visible, multiply-adds those of query-key pairs that are not masked.
#include <algorithm>
#include <memory>

#include "bench/kernel_case.h"
#include "bench/random_data.h"
#include "kv/kv_cache.h"

namespace brio::bench {
namespace {

using tensor::KvSpec;
using tensor::KvType;

struct HeadLayout {
  int heads, kv_heads, head_dim;
};
// Qwen2.5 1.5B's, and that of 7B and 8B models.
constexpr HeadLayout kDecodeLayouts[] = {{12, 2, 128}, {32, 8, 128}};
// Qwen2.5 0.5B, Qwen2.5 1.5B, Gemma 3 270M.
constexpr HeadLayout kPrefillLayouts[] = {{14, 2, 64}, {12, 2, 128}, {4, 1, 256}};
constexpr int kDecodeContexts[] = {4096, 16384};
constexpr int kPrefillContext = 4096;
constexpr int kPrefillRows = 512;

struct NamedKvType {
  KvType type;
  const char* name;
  Arithmetic arithmetic;
};
constexpr NamedKvType kKvTypes[] = {{KvType::kBF16, "bf16", Arithmetic::kBF16}};

// A cache of equally long sequences and the step that reads it.
struct Attention {
  KvSpec spec;
  ops::AttentionShape shape;
  std::unique_ptr<kv::KvCache> cache;
  std::vector<kv::SequenceId> sequences;
  tensor::KvLayerView view;
  ops::Rows q;
  ops::Activation out;
  std::vector<ops::Row> rows;
  int next = 0;  // sequence
};

ops::Row row_at(int position, int write) {
  ops::Row row;
  row.position = position;
  row.visible_end = position + 1;
  row.write_begin = write;
  row.write_end = write + 1;
  return row;
}

Result<void> store_context(Attention& attention, const HeadLayout& layout, int context, ops::OpSet& ops) {
  const int kv_width = layout.kv_heads * layout.head_dim;
  BRIO_TRY(ops::Rows q, random_rows(ops, kPrefillRows, layout.heads * layout.head_dim));
  BRIO_TRY(const ops::Rows k, random_rows(ops, kPrefillRows, kv_width));
  BRIO_TRY(const ops::Rows v, random_rows(ops, kPrefillRows, kv_width));
  ops::RopeSpec rope_spec;
  rope_spec.rotary_dim = layout.head_dim;
  ops::RopeTable rope(rope_spec);
  std::vector<ops::Row> rows;
  std::vector<ops::WriteSlot> writes;
  for (int s = 0; s < static_cast<int>(attention.sequences.size()); ++s) {
    for (int begin = 0; begin < context; begin += kPrefillRows) {
      rows.clear();
      writes.clear();
      for (int position = begin; position < std::min(begin + kPrefillRows, context); ++position) {
        rows.push_back(row_at(position, position - begin));
        rows.back().sequence = s;
        writes.push_back({s, position});
      }
      ops.rope_and_store(q, k, v, {rows, writes}, {}, rope, attention.view);
    }
  }
  return {};
}

// The last `num_rows` positions of sequences of `context`, as many sequences as the working set asks for.
Result<std::shared_ptr<Attention>> make_attention(const HeadLayout& layout, KvType type, int context, int num_rows,
                                                  int num_sequences, ops::OpSet& ops) {
  auto attention = std::make_shared<Attention>();
  attention->spec = {KvSpec::Kind::kFull, 0, layout.kv_heads, layout.head_dim, type};
  attention->shape = {layout.heads, layout.head_dim, 0.1F, 0.0F};
  kv::KvOptions options;
  options.demand = {context, num_sequences, context, 0};
  BRIO_TRY(attention->cache, kv::KvCache::create({&attention->spec, 1}, options));
  for (int s = 0; s < num_sequences; ++s) {
    attention->sequences.push_back(attention->cache->open());
    if (!attention->cache->reserve(attention->sequences.back(), 0, context)) {
      return error(ErrorCode::kOutOfMemory, "no KV blocks left for sequence {} of {}", s + 1, num_sequences);
    }
  }
  attention->cache->begin(attention->sequences);
  attention->view = attention->cache->layer(0);
  BRIO_TRY_OK(store_context(*attention, layout, context, ops));
  const int width = layout.heads * layout.head_dim;
  BRIO_TRY(attention->q, random_rows(ops, num_rows, width));
  BRIO_TRY(attention->out, ops.make_activation(num_rows, width, tensor::InputForms::kS8));
  for (int r = 0; r < num_rows; ++r) attention->rows.push_back(row_at(context - num_rows + r, 0));
  return attention;
}

CaseGroup make_group(std::string name, const HeadLayout& layout, const NamedKvType& kv, int context, int num_rows) {
  CaseGroup group;
  group.name = std::move(name);
  group.make = [layout, kv, context, num_rows](const KernelSetup& setup) -> Result<std::vector<KernelCase>> {
    const KvSpec spec = {KvSpec::Kind::kFull, 0, layout.kv_heads, layout.head_dim, kv.type};
    const int64_t bytes = tensor::record_bytes(spec) * context / tensor::kBlockTokens;
    // Many rows on the same keys compute: they need not come from memory.
    const int64_t sequences = num_rows > 1 ? 1 : (setup.working_set_bytes + bytes - 1) / bytes;
    BRIO_TRY(const std::shared_ptr<Attention> attention,
             make_attention(layout, kv.type, context, num_rows, static_cast<int>(sequences), setup.ops));
    int64_t pairs = 0;
    for (const ops::Row& row : attention->rows) pairs += row.visible_end;
    KernelCase made;
    made.rows = num_rows;
    made.work = {static_cast<double>(bytes), 2.0 * static_cast<double>(pairs) * layout.heads * layout.head_dim,
                 kv.arithmetic};
    ops::CpuOps* const ops = &setup.ops;
    made.run = [ops, attention] {
      Attention& a = *attention;
      a.next = a.next + 1 < static_cast<int>(a.sequences.size()) ? a.next + 1 : 0;
      for (ops::Row& row : a.rows) row.sequence = a.next;
      ops->attention(a.q, {a.rows, {}}, a.shape, a.view, a.out);
    };
    return std::vector<KernelCase>{made};
  };
  return group;
}

}  // namespace

std::vector<CaseGroup> attention_groups() {
  std::vector<CaseGroup> groups;
  for (const NamedKvType& kv : kKvTypes) {
    for (const HeadLayout& l : kDecodeLayouts) {
      for (const int context : kDecodeContexts) {
        groups.push_back(make_group(
            fmt::format("attention {} decode {}:{}x{} at {}", kv.name, l.heads, l.kv_heads, l.head_dim, context), l, kv,
            context, 1));
      }
    }
    for (const HeadLayout& l : kPrefillLayouts) {
      groups.push_back(make_group(
          fmt::format("attention {} prefill {}:{}x{} at {}", kv.name, l.heads, l.kv_heads, l.head_dim, kPrefillContext),
          l, kv, kPrefillContext, kPrefillRows));
    }
  }
  return groups;
}

}  // namespace brio::bench
