#include <fmt/format.h>

#include "base/numerics_id.h"
#include "bench/kernel_bench.h"
#include "bench/report_json.h"

namespace brio::bench {

std::string kernel_heading() {
  return fmt::format("{:<58} {:>5} {:>9} {:>9} {:>10}  {:>6} {:<6} {}", "kernel", "rows", "us", "GB/s", "GMAC/s",
                     "share", "of", "min to max");
}

std::string to_line(const KernelResult& result) {
  return fmt::format("{:<58} {:>5} {:>9.1f} {:>9.2f} {:>10.1f}  {:>4.0f} % {:<6} {:.0f} to {:.0f} %", result.name,
                     result.rows, result.seconds.median * 1e6, result.bytes_per_second() * 1e-9,
                     result.macs_per_second() * 1e-9, 100 * result.share.median, name(result.limit),
                     100 * result.share.min, 100 * result.share.max);
}

std::string to_json(const KernelReport& report) {
  boost::json::array results;
  for (const KernelResult& result : report.results) {
    results.push_back(boost::json::object{{"kernel", result.name},
                                          {"rows", result.rows},
                                          {"us", to_object(result.seconds, 1e6)},
                                          {"bytes", result.work.bytes},
                                          {"macs", result.work.macs},
                                          {"gb_per_second", result.bytes_per_second() * 1e-9},
                                          {"gmac_per_second", result.macs_per_second() * 1e-9},
                                          {"share", to_object(result.share, 1.0)},
                                          {"limit", name(result.limit)}});
  }
  const KernelBenchOptions& options = report.options;
  return boost::json::serialize(boost::json::object{{"bench", "kernels"},
                                                    {"numerics_id", kNumericsId},
                                                    {"machine", machine_object(options.isa, options.threads)},
                                                    {"rounds", options.rounds},
                                                    {"working_set_bytes", options.working_set_bytes},
                                                    {"probe_bytes", options.probe_bytes},
                                                    {"probes", probes_array(report.probes)},
                                                    {"results", std::move(results)},
                                                    {"warnings", strings(report.warnings)}});
}

}  // namespace brio::bench
