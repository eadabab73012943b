// prove: shows on the user's own machine and model that nothing but the text decides the bits of an answer.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/numerics_id.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/prove_model.h"
#include "cli/prove_state.h"
#include "cli/terminal.h"
#include "prove/matrix.h"

namespace brio::cli {
namespace {

using prove::RowResult;

struct Flags {
  std::string model, numerics = "default", kv_type = "default", state, peer, packed_cache;
  std::vector<std::string> only;
  bool quick = false, full = false, json = false, fingerprints = false;
  int runs = 0, threads = 5;
  uint64_t seed = 1;
};

const std::string kPackedCache = "packed cache";
const std::string kFreshProcess = "fresh process";
const std::string kAnotherBuild = "another build";

const prove::Depth& depth_of(const Flags& flags) {
  return flags.full ? prove::kFull : flags.quick ? prove::kQuick : prove::kUsual;
}

ProveModelOptions bench_options(const Flags& flags) {
  return {flags.model, flags.numerics, flags.kv_type, {}, flags.threads, flags.runs, flags.seed, depth_of(flags)};
}

std::string quoted(const std::string& text) {  // for sh
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// What every text gave alone: a digest each, and how many positions they are of.
struct Alone {
  std::vector<std::string> fingerprints;
  int64_t positions = 0;
};

RowResult compared(const std::string& name, const Alone& expected, const std::vector<std::string>& actual,
                   std::string occurred) {
  RowResult row;
  row.name = name;
  row.runs = 1;
  row.status = RowResult::Status::kEqual;
  row.occurred = std::move(occurred);
  for (size_t text = 0; text < expected.fingerprints.size(); ++text) {
    ++row.combinations;
    const std::string& before = expected.fingerprints[text];
    if (actual[text] == before) continue;
    row.status = RowResult::Status::kDiffers;
    row.detail = fmt::format("text {}: {} became {}", text, before.substr(0, 12), actual[text].substr(0, 12));
    return row;
  }
  row.positions = expected.positions;
  return row;
}

Error stopped() {
  return error(ErrorCode::kCancelled, "stopped");
}

// The texts alone in another process: this program again, or another build of it.
Result<RowResult> other_process(const std::string& name, const std::string& program, const Flags& flags,
                                const Alone& expected) {
  std::string command = quoted(program) + " prove " + quoted(flags.model) + " --fingerprints --numerics " +
                        quoted(flags.numerics) + " --seed " + std::to_string(flags.seed) + " --" +
                        std::string(depth_of(flags).name);
  if (depth_of(flags).name == prove::kUsual.name) command.resize(command.rfind(" --"));
  if (flags.kv_type != "default") command += " --kv-type " + flags.kv_type;
  std::FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return error(ErrorCode::kIo, "{} cannot be started", program);
  std::string output;
  char piece[4096];
  for (size_t got; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) output.append(piece, got);
  if (const int status = pclose(pipe); status != 0) {
    if (InterruptGuard::interrupted()) return stopped();  // Ctrl-C is for every process of the terminal
    return error(ErrorCode::kIo, "{} prove --fingerprints failed ({} {})", program,
                 WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  std::vector<std::string> fingerprints;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) fingerprints.push_back(line);
  if (fingerprints.size() != expected.fingerprints.size()) {
    return error(ErrorCode::kIo, "{} prove --fingerprints printed {} lines for {} texts", program, fingerprints.size(),
                 expected.fingerprints.size());
  }
  return compared(name, expected, fingerprints, fmt::format("every text alone by {}", program));
}

// The texts alone once more, with weights from the packed file: the one that `brio run` and `brio serve` map. Where there
// is none it is written first.
Result<RowResult> packed_cache(const Flags& flags, const std::filesystem::path& folder, const Alone& expected) {
  RowResult vacuous;
  vacuous.name = kPackedCache;
  ProveModelOptions options = bench_options(flags);
  options.packed_folder = folder;
  BRIO_TRY(ProveModel bench, make_prove_model(options));
  if (bench.num_packed > 0) {
    if (bench.keeping != nullptr) {
      finish_keeping(bench.keeping.get());
      if (InterruptGuard::interrupted()) bench.keeping->cancel();
      if (const Result<void> kept = bench.keeping->result(); !kept.ok()) bench.not_kept = kept.error();
      if (InterruptGuard::interrupted()) return stopped();
    }
    if (bench.not_kept) {
      vacuous.detail = bench.not_kept->message;
      return vacuous;
    }
    bench = {};  // only one model at a time
    BRIO_TRY(bench, make_prove_model(options));
  }
  if (bench.num_mapped == 0 || bench.num_packed > 0) {
    vacuous.detail = fmt::format("{} of {} weights mapped from {}", bench.num_mapped,
                                 bench.num_mapped + bench.num_packed, bench.packed_path.string());
    return vacuous;
  }
  prove::Matrix matrix(*bench.model, bench.material, flags.seed);
  ProgressLine progress(kPackedCache);
  BRIO_TRY_OK(matrix.run_alone([&](int done, int of) {
    progress.fraction(static_cast<double>(done) / of);
    return !InterruptGuard::interrupted();
  }));
  return compared(kPackedCache, expected, matrix.fingerprints(),
                  fmt::format("{} weights, {} mapped from {}", bench.num_mapped, format_bytes(bench.mapped_bytes),
                              bench.packed_path.string()));
}

std::string_view word(RowResult::Status status) {
  switch (status) {
    case RowResult::Status::kEqual:
      return "equal";
    case RowResult::Status::kVacuous:
      return "VACUOUS";
    case RowResult::Status::kDiffers:
      return "DIFFERS";
  }
  return "";
}

void print_row(const RowResult& row) {
  fmt::print("{:<36} {:>6} {:>9} {:>10}  {:<8} {}\n", row.name, row.runs, row.combinations, row.positions,
             word(row.status), row.status == RowResult::Status::kEqual ? row.occurred : row.detail);
  std::fflush(stdout);
}

boost::json::object to_json(const Flags& flags, std::string_view kv_type, const std::vector<RowResult>& rows,
                            const Alone& alone) {
  boost::json::array list;
  int64_t combinations = 0;
  int64_t positions = 0;
  int failed = 0;
  for (const RowResult& row : rows) {
    list.push_back(boost::json::object{{"row", row.name},
                                       {"runs", row.runs},
                                       {"combinations", row.combinations},
                                       {"positions", row.positions},
                                       {"result", word(row.status)},
                                       {"occurred", row.occurred},
                                       {"detail", row.detail}});
    combinations += row.combinations;
    positions += row.positions;
    failed += row.status == RowResult::Status::kEqual ? 0 : 1;
  }
  return {{"model", flags.model},
          {"depth", depth_of(flags).name},
          {"numerics", flags.numerics},
          {"kv_type", kv_type},
          {"numerics_id", kNumericsId},
          {"seed", flags.seed},
          {"combinations", combinations},
          {"positions", positions},
          {"rows_failed", failed},
          {"stopped", InterruptGuard::interrupted()},
          {"rows", std::move(list)},
          {"fingerprints", boost::json::array(alone.fingerprints.begin(), alone.fingerprints.end())}};
}

bool is_wanted(const Flags& flags, const std::string& name) {
  return flags.only.empty() || std::find(flags.only.begin(), flags.only.end(), name) != flags.only.end();
}

// Rows asked for by name exist and can run: nothing compared would look like nothing differing.
Result<void> check_rows(const Flags& flags, const std::vector<prove::Row>& rows, bool has_packed) {
  std::vector<std::string> names;
  names.reserve(rows.size() + 3);
  for (const prove::Row& row : rows) names.push_back(row.name);
  names.insert(names.end(), {kPackedCache, kFreshProcess, kAnotherBuild});
  for (const std::string& name : flags.only) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return error(ErrorCode::kInvalidArgument, "--row '{}': no such row; there are: {}", name, fmt::join(names, ", "));
    }
    if (name == kPackedCache && !has_packed) {
      return error(ErrorCode::kInvalidArgument, "--row '{}': there is no packed file with {}", name,
                   flags.numerics == "fp32" ? "--numerics fp32" : "--packed-cache off");
    }
    if (name == kAnotherBuild && flags.peer.empty()) {
      return error(ErrorCode::kInvalidArgument, "--row '{}': needs --peer, another build of brio", name);
    }
  }
  return {};
}

Result<void> prove_model(const Flags& flags) {
  server::LoadOptions load;
  set_packed_cache(flags.packed_cache, load);
  const bool has_packed = !load.packed.path.empty() && flags.numerics != "fp32";
  BRIO_TRY_OK(ProveState::check_writable(flags.state));
  BRIO_TRY(ProveModel bench, make_prove_model(bench_options(flags)));
  const std::vector<prove::Row> rows = prove::rows(bench.material);
  BRIO_TRY_OK(check_rows(flags, rows, has_packed));
  prove::Matrix matrix(*bench.model, bench.material, flags.seed);
  const InterruptGuard guard;
  {
    ProgressLine progress("every text alone");
    BRIO_TRY_OK(matrix.run_alone([&](int done, int of) {
      progress.fraction(static_cast<double>(done) / of);
      return !InterruptGuard::interrupted();
    }));
  }
  const Alone alone{matrix.fingerprints(), matrix.num_positions()};
  if (flags.fingerprints) {
    for (const std::string& fingerprint : alone.fingerprints) fmt::print("{}\n", fingerprint);
    return {};
  }
  ProveState state(flags.state,
                   fmt::format("prove: {}, {}, seed {}, {} threads, {}", version_text(), depth_of(flags).name,
                               flags.seed, flags.threads, fmt::join(alone.fingerprints, " ")));
  BRIO_TRY_OK(state.read());
  if (!flags.json) {
    fmt::print("{}\n", bold(fmt::format("{:<36} {:>6} {:>9} {:>10}  {:<8} {}", "what must not matter", "runs",
                                        "answers", "positions", "bits", "what occurred"),
                            STDOUT_FILENO));
  }
  std::vector<RowResult> results;
  Result<void> kept;
  const auto add = [&](const RowResult& result) {
    results.push_back(result);
    if (!flags.json) print_row(result);
  };
  for (const prove::Row& row : rows) {
    if (!is_wanted(flags, row.name) || InterruptGuard::interrupted()) continue;
    const int runs = std::max(bench.runs, row.least_runs);
    ProgressLine progress(row.name);
    auto last_kept = Clock::steady().now();
    const prove::OnRun on_run = [&](const RowResult& result) {
      progress.fraction(static_cast<double>(result.runs) / runs);
      if (const auto now = Clock::steady().now(); now - last_kept > std::chrono::seconds(10)) {
        last_kept = now;
        kept = state.keep(result);
      }
      return kept.ok() && !InterruptGuard::interrupted();
    };
    const RowResult result = matrix.prove(row, runs, state.of(row.name), on_run);
    progress.finish();
    BRIO_TRY_OK(kept);
    BRIO_TRY_OK(state.keep(result));
    const bool had_time = !InterruptGuard::interrupted();
    if (had_time || result.status != RowResult::Status::kVacuous) add(result);
  }
  // Another process or file that failed has proved nothing; what was proved before is told all the same.
  const auto add_unless_stopped = [&](const std::string& name, const Result<RowResult>& row) {
    if (row.ok()) return add(*row);
    if (row.error().code == ErrorCode::kCancelled) return;
    RowResult vacuous;
    vacuous.name = name;
    vacuous.detail = row.error().message;
    add(vacuous);
  };
  if (has_packed && is_wanted(flags, kPackedCache) && !InterruptGuard::interrupted()) {
    add_unless_stopped(kPackedCache, packed_cache(flags, load.packed.path, alone));
  }
  if (is_wanted(flags, kFreshProcess) && !InterruptGuard::interrupted()) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    add_unless_stopped(kFreshProcess, other_process(kFreshProcess, self, flags, alone));
  }
  if (!flags.peer.empty() && is_wanted(flags, kAnotherBuild) && !InterruptGuard::interrupted()) {
    const std::string peer = std::filesystem::absolute(flags.peer).string();  // sh would look in $PATH
    add_unless_stopped(kAnotherBuild, other_process(kAnotherBuild, peer, flags, alone));
  }
  int64_t combinations = 0;
  int differing = 0;
  int vacuous = 0;
  for (const RowResult& row : results) {
    combinations += row.combinations;
    differing += row.status == RowResult::Status::kDiffers ? 1 : 0;
    vacuous += row.status == RowResult::Status::kVacuous ? 1 : 0;
  }
  if (flags.json)
    fmt::print("{}\n",
               boost::json::serialize(to_json(flags, tensor::name(bench.model->config().kv_type), results, alone)));
  if (InterruptGuard::interrupted()) return error(ErrorCode::kCancelled, "stopped after {} combinations", combinations);
  if (differing > 0) return error(ErrorCode::kNumeric, "bits differ in {} of {} rows", differing, results.size());
  if (vacuous > 0) return error(ErrorCode::kNumeric, "{} of {} rows proved nothing", vacuous, results.size());
  if (!flags.json) fmt::print("{} combinations, 0 differing bits\n", combinations);
  return {};
}

}  // namespace

void add_prove_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "prove", "Show that batching, neighbours, threads, instruction sets and the like change no bit of any answer");
  command->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  CLI::Option* quick = command->add_flag("--quick", flags->quick, "Few and short texts: a minute or so");
  command->add_flag("--full", flags->full, "Many and long texts: an hour or more; see --state")
      ->excludes(quick);
  command->add_flag("--json", flags->json, "One JSON object instead of the table");
  command->add_option("--row", flags->only, "This row alone; may be given several times");
  command->add_option("--runs", flags->runs, "Runs of every row, instead of the depth's")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--threads", flags->threads, "The most threads to try, more than there are cores too")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--numerics", flags->numerics, "default, or fp32: exact weights, fp32 activations and KV")
      ->capture_default_str();
  add_packed_cache_flag(*command, flags->packed_cache);
  add_kv_type_flag(*command, flags->kv_type);
  command->add_option("--seed", flags->seed, "Another seed draws other texts and runs")->capture_default_str();
  command->add_option("--state", flags->state,
                      "A file that keeps what has been proved: the same command goes on from it");
  command->add_option("--peer", flags->peer, "Another build of brio, to be compared as well")->check(CLI::ExistingFile);
  command->add_flag("--fingerprints", flags->fingerprints, "Only print a digest of each text's logits alone")
      ->group("");
  command->callback([flags, &exit_code] { exit_code = run_command([&] { return prove_model(*flags); }); });
}

}  // namespace brio::cli
