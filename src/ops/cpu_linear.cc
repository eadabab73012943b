// CpuOps: embedding and linear layers. Work is split over panels of 16 output columns, which are independent; every
// panel is read once per call, whatever the rows (each row's bits are the same alone and in company: kernels/linear.h).
#include <algorithm>

#include "base/check.h"
#include "kernels/table.h"
#include "ops/cpu_ops.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using kernels::kPanelRows;
using tensor::Weight;

int64_t panel_bytes(const Weight& weight) {
  return kernels::panel_bytes(weight.format(), static_cast<int>(weight.cols()));
}

// Neighbouring panels of a weight and the kernel that reads them.
struct Panels {
  kernels::LinearKernels::Linear kernel = nullptr;
  const std::byte* first = nullptr;
  int64_t bytes_each = 0;
  int count = 0;
  int k = 0;
  bool reads_s8 = true;  // else the input's rows are exact enough to have no rest

  Panels part(int begin, int size) const { return {kernel, first + begin * bytes_each, bytes_each, size, k, reads_s8}; }
  void run(const kernels::LinearInput& x, int num_rows, const kernels::LinearOutput& out) const {
    kernel({first, count}, k, x, num_rows, out);
  }
};

Panels panels_of(const kernels::KernelTable& table, const Weight& weight) {
  return {table.linear.linear[static_cast<int>(weight.format())],
          weight.panels(),
          panel_bytes(weight),
          kernels::num_panels(weight.rows()),
          static_cast<int>(weight.cols()),
          weight.input_form() == tensor::InputForms::kS8};
}

// Where the parts that threads claim one after the other begin, and the end: each a share of what is left, so that the first
// are long streams and the last are small, and a slow or late thread is not waited for. Kernels take up to four panels
// together: parts are multiples of that, unless there would be too few.
constexpr int kPanelsTogether = 4;
constexpr int kLeastPartsPerThread = 2;

std::vector<int> parts_of(int count, int num_threads, int together = kPanelsTogether) {
  const int least = std::clamp(count / (num_threads * kLeastPartsPerThread), 1, together);
  std::vector<int> parts = {0};
  while (parts.back() < count) {
    const int left = count - parts.back();
    const int share = std::max(left / (2 * num_threads), least);
    parts.push_back(parts.back() + std::min(share < together ? share : share / together * together, left));
  }
  return parts;
}

void check_input(const Activation& in, int num_rows, const Weight& weight) {
  BRIO_CHECK(weight.cols() == in.width() && num_rows <= in.max_rows() && weight.panels() != nullptr,
             "linear of {} x {} on {} of {} rows of {}", weight.rows(), weight.cols(), num_rows, in.max_rows(),
             in.width());
  const Activation::Storage& storage = *in.storage();
  const tensor::InputForms form = weight.input_form();
  BRIO_CHECK((form == tensor::InputForms::kS8 && storage.values != nullptr) ||
                 (form == tensor::InputForms::kBF16 && storage.bf16 != nullptr) ||
                 (form == tensor::InputForms::kF32 && storage.f32 != nullptr),
             "the activation lacks the form that its consumer reads");
}

// One task and the parts of its panels.
struct LinearPlan {
  Panels panels;
  std::vector<int> parts;
  kernels::LinearOutput out;
  int num_parts() const { return static_cast<int>(parts.size()) - 1; }
};

LinearPlan plan_task(const kernels::KernelTable& table, const LinearTask& task, int num_rows, int num_threads) {
  const Weight& weight = *task.weight;
  BRIO_CHECK(task.y->width() == weight.rows() && num_rows <= task.y->max_rows() &&
                 (task.bias == nullptr || task.bias->size() == weight.rows()),
             "linear of {} x {} into {} of {} columns", weight.rows(), weight.cols(), num_rows, task.y->width());
  const Rows::Storage& y = *task.y->storage();
  const Panels panels = panels_of(table, weight);
  return {
      panels,
      parts_of(panels.count, num_threads),
      {y.data, y.stride, task.bias == nullptr ? nullptr : task.bias->values().data(),
       task.store == Store::kAdd ? kernels::Write::kAdd : kernels::Write::kReplace, static_cast<int>(weight.rows())}};
}

kernels::LinearOutput columns_from(kernels::LinearOutput out, int column) {
  out.y += column;
  if (out.bias != nullptr) out.bias += column;
  out.columns -= column;
  return out;
}

// All rows and their rests, which follow them, in one pass over few panels at a time; then y = W x + W rest.
void project_together(const Panels& p, const Activation::Storage& in, const kernels::LinearOutput& out) {
  constexpr int kScratchElements = 16384;  // 64 KiB
  alignas(64) thread_local float scratch[kScratchElements];
  const int rows = in.num_rows + static_cast<int>(in.rest_rows.size());
  const int at_once = std::clamp(kScratchElements / (rows * kPanelRows), 1, p.count);
  const int width = at_once * kPanelRows;
  for (int panel = 0; panel < p.count; panel += at_once) {
    const int panels = std::min(at_once, p.count - panel);
    const kernels::LinearOutput y = columns_from(out, panel * kPanelRows);
    const int columns = std::min(panels * kPanelRows, y.columns);
    p.part(panel, panels).run(in.input(0), rows, {scratch, width, nullptr, kernels::Write::kReplace, columns});
    auto rest = in.rest_rows.begin();
    for (int r = 0; r < in.num_rows; ++r) {
      const float* image = scratch + r * width;
      float* row = y.y + r * y.stride;
      for (int c = 0; c < columns; ++c) {  // the roundings of a kernel's own end
        const float value = y.bias == nullptr ? image[c] : image[c] + y.bias[c];
        row[c] = y.write == kernels::Write::kAdd ? row[c] + value : value;
      }
      if (rest == in.rest_rows.end() || *rest != r) continue;
      const float* left_over = scratch + (in.num_rows + (rest - in.rest_rows.begin())) * width;
      for (int c = 0; c < columns; ++c) row[c] += left_over[c];
      ++rest;
    }
  }
}

constexpr int kMostRowsTogether = 128;

// Rows [row, row + num_rows) of the input into out.y, whose first row is `row`: y = W x (or y += W x), then y += W rest for
// the rows that have one: in the same pass for few rows, else in a second one that finds the panels in cache.
void project(const Panels& p, const Activation::Storage& in, int row, int num_rows, const kernels::LinearOutput& out) {
  const std::vector<int32_t>& rests = in.rest_rows;
  auto rest = std::lower_bound(rests.begin(), rests.end(), row);
  const auto end = std::lower_bound(rest, rests.end(), row + num_rows);
  const bool any = p.reads_s8 && rest != end;
  if (any && num_rows == in.num_rows && num_rows <= kMostRowsTogether) return project_together(p, in, out);
  p.run(in.input(row), num_rows, out);
  while (any && rest != end) {
    auto last = rest + 1;  // rests of neighbouring rows together
    while (last != end && *last == last[-1] + 1) ++last;
    const int first_rest = in.num_rows + static_cast<int>(rest - rests.begin());
    p.run(in.input(first_rest), static_cast<int>(last - rest),
          {out.y + (*rest - row) * out.stride, out.stride, nullptr, kernels::Write::kAdd, out.columns});
    rest = last;
  }
}

void run_part(std::span<const LinearPlan> plans, int part, const Activation::Storage& in, int num_rows) {
  for (const LinearPlan& plan : plans) {
    if (part < plan.num_parts()) {
      const int begin = plan.parts[static_cast<size_t>(part)];
      const int count = plan.parts[static_cast<size_t>(part) + 1] - begin;
      return project(plan.panels.part(begin, count), in, 0, num_rows, columns_from(plan.out, begin * kPanelRows));
    }
    part -= plan.num_parts();
  }
}

// Gated layers are finished 32 columns (two panels) at a time or a multiple, in tiles of rows x columns of this many
// fp32 for the gate and as many for the up projection: 64 KiB together, four panels of 128 rows.
constexpr int kTileElements = 8192;
constexpr int kTileMostRows = 128;
constexpr int kUnit = 2;  // panels in 32 columns

struct GatedPlan {
  Panels gate;
  Panels up;
  int columns;
  void (*multiply)(const float* gate, const float* up, int n, float* out);
};

// Rows [row, row + num_rows) of panels [begin, end), which fit a tile.
void gated_tile(const GatedPlan& plan, const kernels::QuantizeKernels& quantize, const Activation::Storage& in, int row,
                int num_rows, int begin, int end, Activation::Storage& out) {
  alignas(64) float gate[kTileElements];
  alignas(64) float up[kTileElements];
  const int first = begin * kPanelRows;
  const int width = (end - begin) * kPanelRows;
  const int columns = std::min(width, plan.columns - first);
  const auto run = [&](const Panels& p, float* y) {
    project(p.part(begin, end - begin), in, row, num_rows, {y, width, nullptr, kernels::Write::kReplace, columns});
  };
  run(plan.gate, gate);
  run(plan.up, up);
  for (int r = 0; r < num_rows; ++r) {
    float* values = gate + r * width;
    plan.multiply(values, up + r * width, columns, values);
    out.store(quantize, row + r, first, {values, static_cast<size_t>(columns)});
  }
}

}  // namespace

void CpuOps::embed(const Weight& table, std::span<const Row> rows, float scale, Rows& x) {
  BRIO_CHECK(table.cols() == x.width() && static_cast<int>(rows.size()) <= x.max_rows(), "embed {} rows of {} into {}",
             rows.size(), table.cols(), x.width());
  x.storage()->first_rows = rows_at_position_0(rows);
  constexpr int kRowsAtATime = 8;
  const int width = x.width();
  pool_.parallel_for(static_cast<int>(rows.size()), kRowsAtATime, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const int32_t token = rows[static_cast<size_t>(r)].token;
      BRIO_CHECK(token >= 0 && token < table.rows(), "token {} of {}", token, table.rows());
      float* out = x.storage()->row(r);
      kernels::unpack_row(table.format(), table.panels(), width, token, out);
      for (int i = 0; i < width; ++i) out[i] *= scale;
    }
  });
}

void CpuOps::linear(const Activation& in, int num_rows, std::span<const LinearTask> tasks) {
  if (num_rows == 0) return;
  std::vector<LinearPlan> plans;
  int num_parts = 0;
  for (const LinearTask& task : tasks) {
    check_input(in, num_rows, *task.weight);
    plans.push_back(plan_task(kernels_, task, num_rows, pool_.num_threads()));
    num_parts += plans.back().num_parts();
  }
  pool_.parallel_for(num_parts, 1, [&](int begin, int end) {
    for (int part = begin; part < end; ++part) run_part(plans, part, *in.storage(), num_rows);
  });
  weight_passes_.fetch_add(static_cast<int64_t>(tasks.size()), std::memory_order_relaxed);
}

void CpuOps::gated_linear(const Activation& in, int num_rows, const Weight& gate, const Weight& up, Nonlinearity f,
                          Activation& out) {
  if (num_rows == 0) return;
  check_input(in, num_rows, gate);
  check_input(in, num_rows, up);
  BRIO_CHECK(gate.rows() == up.rows() && out.width() == gate.rows() && num_rows <= out.max_rows(),
             "gated linear of {} and {} columns into {}", gate.rows(), up.rows(), out.width());
  const GatedPlan plan = {panels_of(kernels_, gate), panels_of(kernels_, up), static_cast<int>(gate.rows()),
                          f == Nonlinearity::kSilu ? kernels_.rows.silu_multiply : kernels_.rows.gelu_tanh_multiply};
  out.storage()->start(num_rows, in.storage()->rest_rows);
  const int num_panels = plan.gate.count;
  const int units = (num_panels + kUnit - 1) / kUnit;
  const int row_tiles = (num_rows + kTileMostRows - 1) / kTileMostRows;
  const int tile_rows = (num_rows + row_tiles - 1) / row_tiles;
  const int tile_units = std::max(1, kTileElements / (tile_rows * kUnit * kPanelRows));
  const std::vector<int> parts = parts_of(units, pool_.num_threads(), kPanelsTogether / kUnit);
  pool_.parallel_for(static_cast<int>(parts.size()) - 1, 1, [&](int part, int end_part) {
    const int first = parts[static_cast<size_t>(part)];
    const int last = parts[static_cast<size_t>(end_part)];
    for (int row = 0; row < num_rows; row += tile_rows) {
      for (int unit = first; unit < last; unit += tile_units) {
        const int end = std::min(std::min(unit + tile_units, last) * kUnit, num_panels);
        gated_tile(plan, kernels_.quantize, *in.storage(), row, std::min(tile_rows, num_rows - row), unit * kUnit, end,
                   *out.storage());
      }
    }
  });
  weight_passes_.fetch_add(2, std::memory_order_relaxed);
}

}  // namespace brio::ops
