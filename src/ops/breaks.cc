#ifdef BRIO_BREAKS
#include "ops/breaks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using kernels::PanelFormat;

constexpr int kFewRows = 8;     // R1: at most these are summed as one
constexpr int kFewQueries = 3;  // R4: at most these get shorter splits
constexpr int kShortSplit = kernels::kSplitTokens / 2;
constexpr int kManyThreads = 5;  // R8
constexpr int kRowsInPlace = 4;  // R3: the first rows, whose norm stays

// The middle of K where a panel can be cut, or 0.
int middle(PanelFormat format, int k) {
  const bool is_super =
      (format >= PanelFormat::kQ2_K && format <= PanelFormat::kQ6_K) || format == PanelFormat::kIQ4_XS;
  const int unit = is_super ? 256 : 64;
  return k / 2 / unit * unit;
}

kernels::LinearInput columns_from(kernels::LinearInput x, int k) {
  if (x.s8.values != nullptr) {
    x.s8.values += k;
    x.s8.scales += k / kernels::kGroup;
    x.s8.sums += k / (kernels::kGroup / 2);
  }
  if (x.bf16 != nullptr) x.bf16 += k;
  if (x.f32 != nullptr) x.f32 += k;
  return x;
}

// y = W[:, :half] x + W[:, half:] x
void add_halves(kernels::LinearKernels::Linear kernel, PanelFormat format, const kernels::PanelRange& w, int k,
                int half, const kernels::LinearInput& x, int num_rows, kernels::LinearOutput out) {
  for (int p = 0; p < w.count; ++p) {
    const std::byte* panel = w.first + p * kernels::panel_bytes(format, k);
    kernel({panel, 1}, half, x, num_rows, out);
    kernel({panel + kernels::panel_bytes(format, half), 1}, k - half, columns_from(x, half), num_rows,
           {out.y, out.stride, nullptr, kernels::Write::kAdd, out.columns});
    out.y += kernels::kPanelRows;
    if (out.bias != nullptr) out.bias += kernels::kPanelRows;
    out.columns -= kernels::kPanelRows;
  }
}

template <Isa isa, PanelFormat format, bool many_threads>
void linear(const kernels::PanelRange& w, int k, const kernels::LinearInput& x, int num_rows,
            const kernels::LinearOutput& out) {
  const auto kernel = kernels::linear_kernels(isa).linear[static_cast<int>(format)];
  const int half = middle(format, k);
  const bool broken = (is_broken(Rule::kR1) && num_rows > kFewRows) || (is_broken(Rule::kR8) && many_threads);
  if (half == 0 || !broken) return kernel(w, k, x, num_rows, out);
  add_halves(kernel, format, w, k, half, x, num_rows, out);
}

// Those of the queries that see some of [begin, end), and of it alone.
kernels::AttentionQueries within(const kernels::AttentionQueries& queries, int begin, int end) {
  kernels::AttentionQueries out;
  for (int i = 0; i < queries.count; ++i) {
    if (queries.begin[i] >= end || queries.end[i] <= begin) continue;
    const int m = out.count++;
    out.q[m] = queries.q[i];
    out.begin[m] = std::max(queries.begin[i], begin);
    out.end[m] = std::min(queries.end[i], end);
    out.state[m] = queries.state[i];
  }
  return out;
}

template <Isa isa, int type>
void attend(const kernels::AttentionQueries& queries, const kernels::AttentionSplit& split,
            const kernels::AttentionParameters& parameters) {
  const auto kernel = kernels::attention_kernels(isa).attend[type];
  if (!is_broken(Rule::kR4) || queries.count > kFewQueries) return kernel(queries, split, parameters);
  for (const int begin : {0, kShortSplit}) {
    const kernels::AttentionQueries part = within(queries, begin, begin + kShortSplit);
    if (part.count > 0) kernel(part, split, parameters);
  }
}

template <Isa isa>
void silu_multiply(const float* gate, const float* up, int n, float* out) {
  if (isa != Isa::kScalar || !is_broken(Rule::kR9)) return kernels::row_kernels(isa).silu_multiply(gate, up, n, out);
  for (int i = 0; i < n; ++i) out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

template <Isa isa, bool many_threads>
kernels::KernelTable make_table() {
  kernels::KernelTable table = kernels::kernel_table(isa);
  [&]<int... format>(std::integer_sequence<int, format...>) {
    ((table.linear.linear[format] = linear<isa, static_cast<PanelFormat>(format), many_threads>), ...);
  }
  (std::make_integer_sequence<int, kernels::kNumPanelFormats>());
  [&]<int... type>(std::integer_sequence<int, type...>) {
    ((table.attention.attend[type] = attend<isa, type>), ...);
  }
  (std::make_integer_sequence<int, kernels::kNumKvTypes>());
  table.rows.silu_multiply = silu_multiply<isa>;
  return table;
}

template <Isa isa>
std::array<kernels::KernelTable, 2> make_tables() {
  return {make_table<isa, false>(), make_table<isa, true>()};
}

}  // namespace

const kernels::KernelTable& breakable_kernels(Isa isa, int num_threads) {
  static const std::array<kernels::KernelTable, 2> kTables[] = {make_tables<Isa::kScalar>(), make_tables<Isa::kAvx2>(),
                                                                make_tables<Isa::kAvx512>()};
  return kTables[static_cast<int>(isa)][num_threads >= kManyThreads ? 1 : 0];
}

void share_scales(Activation::Storage& out) {
  if (out.values == nullptr) return;
  for (int column = 0; column < out.width; column += kernels::kGroup) {
    float shared = 0.0F;
    for (int r = 0; r < out.num_rows; ++r) shared = std::max(shared, *out.quantized_row(r).at(column).scales);
    for (int r = 0; r < out.num_rows; ++r) {
      const kernels::QuantizedRow group = out.quantized_row(r).at(column);
      if (*group.scales == shared) continue;
      group.sums[0] = group.sums[1] = 0;
      for (int i = 0; i < kernels::kGroup; ++i) {
        group.values[i] =
            static_cast<int8_t>(std::nearbyint(static_cast<float>(group.values[i]) * *group.scales / shared));
        group.sums[i / 16] = static_cast<int16_t>(group.sums[i / 16] + group.values[i]);
      }
      *group.scales = shared;
    }
  }
}

void norm_later_rows(const Rows& x, int num_rows, const tensor::Vector& weight, float epsilon,
                     const kernels::QuantizeKernels& kernels, Activation& out) {
  std::vector<float> normed(static_cast<size_t>(x.width()));
  for (int r = kRowsInPlace; r < num_rows; ++r) {
    const float* row = x.storage()->row(r);
    float squares = 0.0F;
    for (int i = 0; i < x.width(); ++i) squares += row[i] * row[i];
    const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(x.width()) + epsilon);
    for (size_t i = 0; i < normed.size(); ++i) normed[i] = row[i] * inverse * weight.values()[i];
    out.storage()->store(kernels, r, 0, normed);
  }
}

}  // namespace brio::ops
#endif
