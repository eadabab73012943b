#include <fmt/format.h>

#include "base/numerics_id.h"
#include "bench/model_bench.h"
#include "bench/report_json.h"

namespace brio::bench {
namespace {

boost::json::object to_object(const ModelCase& measured) {
  boost::json::object object{{"phase", name(measured.phase)}, {"batch", measured.batch}, {"context", measured.context}};
  if (!measured.skipped.empty()) {
    object["skipped"] = measured.skipped;
    return object;
  }
  boost::json::array breakdown;
  for (const OpShare& op : measured.breakdown) {
    breakdown.push_back(boost::json::object{{"op", op.op},
                                            {"ms_per_step", op.ms_per_step},
                                            {"calls_per_step", op.calls_per_step},
                                            {"share", op.share},
                                            {"linear", op.is_linear}});
  }
  object["tokens_per_second"] = to_object(measured.tokens_per_second, 1.0);
  object["ms_per_step"] = to_object(measured.ms_per_step, 1.0);
  object["rows_per_step"] = measured.rows_per_step;
  object["bytes_per_step"] = measured.bytes_per_step;
  object["macs_per_step"] = measured.macs_per_step;
  object["share"] = to_object(measured.share, 1.0);
  object["limit"] = name(measured.limit);
  object["read_share"] = to_object(measured.read_share, 1.0);
  object["int8_share"] = to_object(measured.int8_share, 1.0);
  object["linear_int8_share"] = measured.linear_share;
  object["breakdown"] = std::move(breakdown);
  return object;
}

std::string breakdown_text(const ModelCase& measured) {
  std::string text = fmt::format("\n{} of {} at {}: {:.2f} ms a step", name(measured.phase), measured.batch,
                                 measured.context, measured.ms_per_step.median);
  if (measured.phase == Phase::kPrefill) {
    text += fmt::format(", linear layers at {:.0f} % of int8", 100 * measured.linear_share);
  }
  text += "\n";
  for (const OpShare& op : measured.breakdown) {
    text += fmt::format("  {:<32} {:>9.3f} ms {:>5.1f} %  {:>6.1f} calls\n", op.op, op.ms_per_step, 100 * op.share,
                        op.calls_per_step);
  }
  return text;
}

}  // namespace

std::string to_table(const ModelReport& report) {
  std::string text = fmt::format("{:<8} {:>5} {:>7} {:>10} {:>19} {:>9}  {:>6} {:<5} {:>7} {:>7}\n", "phase", "batch",
                                 "context", "tokens/s", "min to max", "ms/step", "share", "of", "read", "int8");
  for (const ModelCase& measured : report.cases) {
    text += fmt::format("{:<8} {:>5} {:>7} ", name(measured.phase), measured.batch, measured.context);
    if (!measured.skipped.empty()) {
      text += fmt::format("skipped: {}\n", measured.skipped);
      continue;
    }
    const Spread& rate = measured.tokens_per_second;
    text += fmt::format("{:>10.1f} {:>19} {:>9.2f}  {:>4.0f} % {:<5} {:>5.0f} % {:>5.0f} %\n", rate.median,
                        fmt::format("{:.1f} to {:.1f}", rate.min, rate.max), measured.ms_per_step.median,
                        100 * measured.share.median, name(measured.limit), 100 * measured.read_share.median,
                        100 * measured.int8_share.median);
  }
  for (const ModelCase& measured : report.cases) {
    if (measured.skipped.empty()) text += breakdown_text(measured);
  }
  return text + "\n" + to_text(report.probes);
}

std::string to_json(const ModelReport& report) {
  boost::json::array cases;
  for (const ModelCase& measured : report.cases) cases.push_back(to_object(measured));
  const ModelBenchOptions& options = report.options;
  return boost::json::serialize(boost::json::object{{"bench", "model"},
                                                    {"model", report.model},
                                                    {"numerics_id", kNumericsId},
                                                    {"machine", machine_object(options.isa, options.threads)},
                                                    {"rounds", options.rounds},
                                                    {"prompt", options.prompt},
                                                    {"tokens", options.tokens},
                                                    {"probe_bytes", options.probe_bytes},
                                                    {"weights",
                                                     {{"file_bytes_per_step", report.cost.weight_bytes},
                                                      {"head_file_bytes", report.cost.bytes_of_head},
                                                      {"packed_bytes", report.packed_bytes},
                                                      {"macs_per_row", report.cost.macs_per_row},
                                                      {"macs_per_logits_row", report.cost.macs_per_logits_row}}},
                                                    {"probes", probes_array(report.probes)},
                                                    {"cases", std::move(cases)},
                                                    {"warnings", strings(report.warnings)}});
}

}  // namespace brio::bench
