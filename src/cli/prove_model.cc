#include "cli/prove_model.h"

#include <algorithm>
#include <vector>

#include "cli/answer.h"
#include "cli/terminal.h"

namespace brio::cli {
namespace {

// Small models (tests) are cheap enough for more.
constexpr int64_t kSmallModelBytes = 32 << 20;
constexpr int kSmallModelVisits = 32;
constexpr int kSmallModelRuns = 5;  // times as many
constexpr int kSmallModelLongest = 300;
// Larger ones get fewer runs of a row in a full proof, so that it ends within hours; --runs asks for more.
constexpr int64_t kAllRunsBytes = 100 << 20;
constexpr int kFewestRuns = 3;

// Cut into prompts; long enough for the longest. Several scripts, code, digits and emoji.
constexpr std::string_view kRealText =
    "The kettle had been on the stove since six, and nobody in the house admitted to lighting it. Marta counted the "
    "cups: 3 blue, 4 white, 12 chipped. \"Whose are these?\" she asked.\n"
    "int sum(const std::vector<int>& values) {\n  int total = 0;\n  for (int value : values) total += value;\n  return "
    "total;\n}\n"
    "Der Zug nach Köln fährt um 17:42 Uhr ab; ¿y quién compró los billetes? Personne ne le sait.\n"
    "昨天的雨下了一整夜，今天早上街上全是水。他说他会在九点之前回来。\n"
    "كان البحر هادئا في الصباح، ثم جاءت الريح من الشمال.\n"
    "Πόσο κοστίζει; 1.250,00 € — ακριβό! 🙂🚀👩‍👩‍👧 {\"key\": [1, 2.5e-3, null], "
    "\"ok\": "
    "true}\n"
    "Every evening the lighthouse keeper wrote one line in the log: wind, sea, ships passed. In forty years he missed "
    "two. SELECT name, COUNT(*) FROM ships WHERE year = 1911 GROUP BY name ORDER BY 2 DESC;\n";

prove::Depth depth_for(const ProveModelOptions& options, const weights::Checkpoint& checkpoint) {
  prove::Depth depth = options.depth;
  if (depth.name != prove::kFull.name) return depth;
  const int64_t bytes = checkpoint.file_bytes();
  if (bytes < kSmallModelBytes) {
    depth.most_visits = kSmallModelVisits;
    depth.longest = kSmallModelLongest;
    depth.runs *= kSmallModelRuns;
  } else if (bytes > kAllRunsBytes) {
    depth.runs = std::max(kFewestRuns, static_cast<int>(depth.runs * kAllRunsBytes / bytes));
  }
  return depth;
}

Result<std::vector<int32_t>> real_tokens(const weights::Checkpoint& checkpoint, int at_least) {
  std::vector<int32_t> real;
  auto tokenizer = server::load_tokenizer(checkpoint);
  if (!tokenizer.ok()) return real;
  BRIO_TRY(real, (*tokenizer)->encode(kRealText, tokenizer::Trust::kUntrusted, tokenizer::AddSpecial::kNo));
  while (!real.empty() && static_cast<int>(real.size()) < at_least) {
    const std::vector<int32_t> once = real;
    real.insert(real.end(), once.begin(), once.end());
  }
  return real;
}

}  // namespace

Result<ProveModel> make_prove_model(const ProveModelOptions& options) {
  BRIO_TRY(const tensor::Numerics numerics, parse_numerics(options.numerics));
  BRIO_TRY(const std::optional<tensor::KvType> kv_type, parse_kv_type(options.kv_type));
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(options.model));
  const prove::Depth depth = depth_for(options, checkpoint);
  BRIO_TRY(std::shared_ptr<prove::ProbeDevice> device, prove::ProbeDevice::create(numerics, options.threads));
  ThreadPool& pool = device->pool(std::min(options.threads, effective_cpus()));
  ProgressLine progress("loading " + options.model);
  model::BuildOptions build;
  build.limits = prove::limits_of(depth);
  build.kv_type = kv_type;
  build.progress_context = &progress;
  build.progress = [](void* context, double done) { static_cast<ProgressLine*>(context)->fraction(done); };
  std::optional<weights::PackedCache> cache;
  if (!options.packed_folder.empty()) build.packed = &cache.emplace(options.packed_folder, checkpoint, pool);
  BRIO_TRY(auto model, model::build_model(checkpoint, device, pool, build));
  progress.finish();
  ProveModel bench;
  if (cache) {
    bench.packed_path = cache->path();
    bench.num_mapped = cache->num_mapped();
    bench.num_packed = cache->num_packed();
    bench.mapped_bytes = cache->mapped_bytes();
    bench.refused = cache->refused();
    auto writer = cache->keep();
    if (writer.ok()) {
      bench.keeping = std::move(writer).value();
    } else {
      bench.not_kept = writer.error();
    }
  }
  bench.runs = options.runs > 0 ? options.runs : depth.runs;
  BRIO_TRY(const std::vector<int32_t> real, real_tokens(checkpoint, depth.longest));
  bench.model = std::make_unique<prove::TracedModel>(std::move(model), device);
  BRIO_TRY(bench.material, prove::make_material(depth, *bench.model, options.seed, real));
  return bench;
}

}  // namespace brio::cli
