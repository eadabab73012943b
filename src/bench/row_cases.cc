// Row kernels: every thread on its own array of 1536 floats, which stays in its nearest cache. Bytes are those read, each as
// often as the kernel must read it; the roof is a read of the same cache.
#include <memory>

#include "bench/kernel_case.h"
#include "bench/random_data.h"
#include "kernels/table.h"

namespace brio::bench {
namespace {

constexpr int kWidth = 1536;  // Qwen2.5 1.5B's hidden size; three arrays are 18 KiB
constexpr int kCalls = 256;   // of a thread in one run, so that waking it costs little beside them

struct Arrays {
  std::vector<float> x, y, out;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int16_t> sums;
  std::vector<uint16_t> bf16;

  Arrays()
      : x(kWidth, 0.5F),
        y(kWidth, 0.25F),
        out(kWidth),
        values(kWidth),
        scales(kWidth / kernels::kGroup),
        sums(kWidth / 16),
        bf16(kWidth) {
    for (int i = 0; i < kWidth; ++i) x[static_cast<size_t>(i)] = 0.001F * static_cast<float>(i % 1000 - 500);
  }
};

struct RowKernel {
  const char* name;
  int floats_read;  // times kWidth
  void (*run)(const kernels::KernelTable& table, Arrays& a);
};

constexpr RowKernel kRowKernels[] = {
    {"rms_norm", 3,  // the row twice, for the sum and for the product
     [](const kernels::KernelTable& t, Arrays& a) {
       t.rows.rms_norm(a.x.data(), a.y.data(), kWidth, 1e-6F, a.out.data());
     }},
    {"rms_norm_add", 4,
     [](const kernels::KernelTable& t, Arrays& a) {
       t.rows.rms_norm_add(a.x.data(), a.y.data(), kWidth, 1e-6F, a.out.data());
     }},
    {"rotate_halves", 2,
     [](const kernels::KernelTable& t, Arrays& a) {
       t.rows.rotate_halves(a.out.data(), a.x.data(), a.x.data() + kWidth / 2, kWidth / 2);
     }},
    {"silu_multiply", 2,
     [](const kernels::KernelTable& t, Arrays& a) {
       t.rows.silu_multiply(a.x.data(), a.y.data(), kWidth, a.out.data());
     }},
    {"gelu_tanh_multiply", 2,
     [](const kernels::KernelTable& t, Arrays& a) {
       t.rows.gelu_tanh_multiply(a.x.data(), a.y.data(), kWidth, a.out.data());
     }},
    {"exp", 1, [](const kernels::KernelTable& t, Arrays& a) { t.rows.exp(a.x.data(), kWidth, a.out.data()); }},
    {"tanh", 1, [](const kernels::KernelTable& t, Arrays& a) { t.rows.tanh(a.x.data(), kWidth, a.out.data()); }},
    {"quantize_row", 1,
     [](const kernels::KernelTable& t, Arrays& a) {
       t.quantize.quantize_row(a.x.data(), kWidth, {a.values.data(), a.scales.data(), a.sums.data()});
     }},
    {"round_row_bf16", 1,
     [](const kernels::KernelTable& t, Arrays& a) { t.quantize.round_row_bf16(a.x.data(), kWidth, a.bf16.data()); }},
};

}  // namespace

std::vector<CaseGroup> row_groups() {
  std::vector<CaseGroup> groups;
  for (const RowKernel& kernel : kRowKernels) {
    CaseGroup group;
    group.name = fmt::format("row {} {}", kernel.name, kWidth);
    group.make = [kernel](const KernelSetup& setup) -> Result<std::vector<KernelCase>> {
      const int threads = setup.pool.num_threads();
      const auto arrays = std::make_shared<std::vector<Arrays>>(static_cast<size_t>(threads));
      const kernels::KernelTable* const table = &kernels::kernel_table(setup.isa);
      ThreadPool* const pool = &setup.pool;
      KernelCase made;
      made.rows = threads * kCalls;
      made.work.bytes = static_cast<double>(kernel.floats_read) * kWidth * sizeof(float) * made.rows;
      made.work.source = Source::kCache;
      made.run = [pool, table, arrays, kernel] {
        pool->run([&](int thread) {
          for (int call = 0; call < kCalls; ++call) kernel.run(*table, (*arrays)[static_cast<size_t>(thread)]);
        });
      };
      return std::vector<KernelCase>{made};
    };
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace brio::bench
