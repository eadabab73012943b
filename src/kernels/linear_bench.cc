// Rates of the linear kernels: GB/s of packed weights and GMAC/s, per format and number of rows, beside a plain read of
// memory. The best of several short rounds counts (other processes only ever slow a round down); with one thread its
// CPU time is measured, so that a busy machine does not hide the kernel.
//
//   linear_bench [--isa avx2] [--threads 2] [--k 2048] [--rows 1,8,512] [--format Q4_K] [--seconds 0.5]
//                [--bytes 50000000]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"

namespace brio::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNames[] = {"Q4_0", "Q4_1", "Q5_0",   "Q5_1",   "Q8_0", "Q2_K", "Q3_K", "Q4_K",
                                  "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "F32",  "F16",  "BF16"};

struct Options {
  Isa isa = Isa::kAvx2;
  int threads = 2;
  int k = 2048;
  double seconds = 0.5;
  int64_t bytes = 0;  // of weights; 0: past all caches for few rows, some panels for many
  std::vector<int> rows = {1, 2, 4, 8, 16, 64, 512};
  std::string format;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--isa") options.isa = value == "scalar" ? Isa::kScalar : value == "avx512" ? Isa::kAvx512 : Isa::kAvx2;
    if (flag == "--threads") options.threads = std::atoi(value.c_str());
    if (flag == "--k") options.k = std::atoi(value.c_str());
    if (flag == "--seconds") options.seconds = std::atof(value.c_str());
    if (flag == "--bytes") options.bytes = std::atoll(value.c_str());
    if (flag == "--format") options.format = value;
    if (flag == "--rows") {
      options.rows.clear();
      std::istringstream in(value);
      for (std::string item; std::getline(in, item, ',');) options.rows.push_back(std::atoi(item.c_str()));
    }
  }
  return options;
}

double now(int threads) {
  timespec time{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Seconds of the fastest round.
template <typename Body>
double best_time(const Options& options, Body&& body) {
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  do {
    const double start = now(options.threads);
    body();
    best = std::min(best, now(options.threads) - start);
  } while (Clock::now() < end);
  return best;
}

// Activations in every form.
struct BenchRows {
  BenchRows(int num_rows, int k, Isa isa) : stride(row_stride(k)) {
    const size_t count = static_cast<size_t>(num_rows) * stride;
    f32.resize(count);
    bf16.resize(count);
    values.resize(count);
    scales.resize(count / kGroup);
    sums.resize(count / 16);
    Rng rng(1);
    for (float& x : f32) x = rng.uniform(-1.0F, 1.0F);
    for (int r = 0; r < num_rows; ++r) {
      const QuantizedRow row = {&values[r * stride], &scales[r * stride / kGroup], &sums[r * stride / 16]};
      quantize_kernels(isa).quantize_row(&f32[r * stride], k, row);
      quantize_kernels(isa).round_row_bf16(&f32[r * stride], k, &bf16[r * stride]);
    }
  }
  LinearInput input() const {
    return {{values.data(), scales.data(), sums.data(), stride}, bf16.data(), f32.data(), stride};
  }
  ptrdiff_t stride;
  std::vector<float> f32;
  std::vector<uint16_t> bf16;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int16_t> sums;
};

void measure(const Options& options, int format, int num_rows, ThreadPool& pool) {
  const auto kernel = linear_kernels(options.isa).linear[format];
  const int64_t bytes = panel_bytes(static_cast<PanelFormat>(format), options.k);
  const int64_t fitting = num_rows >= 64 ? int64_t{32} << 10 : int64_t{48} << 20;
  const int64_t weights = options.bytes > 0 ? options.bytes : fitting;
  const int panels = static_cast<int>(std::max<int64_t>(2, weights / bytes));
  AlignedBuffer buffer = std::move(AlignedBuffer::create(panels * bytes)).value();
  Rng rng(2);
  for (size_t i = 0; i + 4 <= buffer.size_bytes(); i += 4) {
    const uint32_t word = rng.next() & 0x33FF33FFU;  // f16 scales of a moderate size wherever they lie
    std::memcpy(buffer.data() + i, &word, sizeof(word));
  }
  const BenchRows rows(num_rows, options.k, options.isa);
  std::vector<float> y(static_cast<size_t>(num_rows) * panels * kPanelRows);
  const int n = panels * kPanelRows;
  const int chunk = std::max<int>(8, static_cast<int>(128 * 1024 / bytes) / 4 * 4);
  const double seconds = best_time(options, [&] {
    pool.parallel_for(panels, chunk, [&](int begin, int end) {
      kernel({buffer.data() + begin * bytes, end - begin}, options.k, rows.input(), num_rows,
             {y.data() + begin * kPanelRows, n, nullptr, Write::kReplace, n - begin * kPanelRows});
    });
  });
  fmt::print("{:8} rows {:4}  {:7.1f} GB/s  {:7.1f} GMAC/s\n", kNames[format], num_rows,
             static_cast<double>(panels) * bytes / seconds * 1e-9,
             static_cast<double>(n) * options.k * num_rows / seconds * 1e-9);
  std::fflush(stdout);
}

void measure_read(const Options& options, ThreadPool& pool) {
  constexpr int kBlocks = 256;
  constexpr int kWords = 64 * 1024;  // 512 KiB a block, 128 MiB in all
  const std::vector<uint64_t> memory(static_cast<size_t>(kBlocks) * kWords, 1);
  std::vector<uint64_t> sums(kBlocks);
  const double seconds = best_time(options, [&] {
    pool.parallel_for(kBlocks, 1, [&](int begin, int) {
      const uint64_t* p = memory.data() + static_cast<size_t>(begin) * kWords;
      uint64_t lanes[8] = {};
      for (int i = 0; i < kWords; i += 8) {
        for (int j = 0; j < 8; ++j) lanes[j] += p[i + j];
      }
      for (const uint64_t lane : lanes) sums[begin] += lane;
    });
  });
  fmt::print("read     {:17.1f} GB/s\n", static_cast<double>(memory.size()) * 8 / seconds * 1e-9);
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!cpu_supports(options.isa)) return 1;
  ThreadPool pool(options.threads);
  measure_read(options, pool);
  for (int format = 0; format < kNumPanelFormats; ++format) {
    if (!options.format.empty() && options.format != kNames[format]) continue;
    for (const int rows : options.rows) measure(options, format, rows, pool);
  }
  measure_read(options, pool);
  return 0;
}

}  // namespace
}  // namespace brio::kernels

int main(int argc, char** argv) {
  return brio::kernels::run(argc, argv);
}
