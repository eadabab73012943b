#include "invariance/tiny_run.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/rng.h"
#include "base/sha256.h"
#include "base/temporary_folder.h"
#include "kv/kv_cache.h"
#include "ops/cpu_ops.h"
#include "weights/checkpoint.h"

namespace brio::invariance {
namespace {

constexpr int kMaxRows = 128;

class Pages final : public model::KvSource {
 public:
  explicit Pages(kv::KvCache& cache) : cache_(cache) {}
  tensor::KvLayerView layer(int layer) override { return cache_.layer(layer); }

 private:
  kv::KvCache& cache_;
};

}  // namespace

TinyModel load(const std::filesystem::path& path, int threads, Isa isa, tensor::Numerics numerics,
               std::optional<tensor::KvType> kv_type) {
  TinyModel tiny;
  tiny.pool = std::make_unique<ThreadPool>(threads);
  std::shared_ptr<ops::OpSet> ops = take(ops::CpuOps::create(*tiny.pool, isa, numerics));
  const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(path));
  model::BuildOptions options;
  options.limits = {kMaxRows, kMaxRows};
  options.kv_type = kv_type;
  tiny.model = take(model::build_model(checkpoint, std::move(ops), *tiny.pool, options));
  return tiny;
}

std::filesystem::path scratch_folder(const std::string& name) {
  static const TemporaryFolder all;
  std::filesystem::create_directories(all / name);
  return all / name;
}

std::filesystem::path gguf_of(const tiny::TinySpec& spec) {
  const auto path = scratch_folder("gguf") / (spec.name + ".gguf");
  if (!std::filesystem::exists(path)) {
    const auto written = tiny::write_gguf(spec, path);
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
  return path;
}

std::vector<tiny::TinySpec> all_specs() {
  std::vector<tiny::TinySpec> specs = tiny::shape_specs();
  for (auto& spec : tiny::type_specs()) specs.push_back(std::move(spec));
  return specs;
}

std::vector<tiny::TinySpec> one_of_each_architecture() {
  std::set<std::string> seen;
  std::vector<tiny::TinySpec> specs = tiny::shape_specs();
  std::erase_if(specs, [&](const tiny::TinySpec& spec) { return !seen.insert(spec.architecture).second; });
  return specs;
}

std::string test_name(const testing::TestParamInfo<tiny::TinySpec>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Tokens random_tokens(int count, int vocab, uint64_t seed) {
  Rng rng(seed);
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(rng.below(static_cast<uint32_t>(vocab))));
  return tokens;
}

Logits logits_of(model::Model& model, const Tokens& text) {
  kv::KvOptions options;
  options.demand = {static_cast<int>(text.size()), 1, kMaxRows, 0};
  options.poison = kv::Poison::kYes;
  auto cache = take(kv::KvCache::create(model.kv_specs(), options));
  const kv::SequenceId sequence = cache->open();
  const auto count = static_cast<int32_t>(text.size());
  EXPECT_TRUE(cache->reserve(sequence, 0, count));
  std::vector<ops::Row> rows;
  std::vector<ops::WriteSlot> writes;
  for (int32_t p = 0; p < count; ++p) {
    rows.push_back({text[static_cast<size_t>(p)], p, 0, 0, 0, p + 1, p, p + 1, ops::RowOutput::kLogits});
    writes.push_back({0, p});
  }
  cache->begin({&sequence, 1});
  Pages pages(*cache);
  model::LayerHooks hooks;
  const ops::Rows& out = model.forward({{rows, writes}, pages, hooks});
  Logits logits;
  for (int32_t r = 0; r < count; ++r) {
    const std::span<const float> row = model.ops().read(out, r).first(static_cast<size_t>(model.config().vocab));
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

testing::AssertionResult same_bits(const Logits& expected, const Logits& got, int vocab) {
  if (expected.size() != got.size()) {
    return testing::AssertionFailure() << got.size() << " logits instead of " << expected.size();
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &got[i], sizeof(float)) == 0) continue;
    return testing::AssertionFailure() << "position " << i / static_cast<size_t>(vocab) << ", logit "
                                       << i % static_cast<size_t>(vocab) << ": " << expected[i] << " became " << got[i];
  }
  return testing::AssertionSuccess();
}

std::string sha256(std::span<const float> values) {
  Sha256 hash;
  hash.update(values);
  return hash.finish();
}

}  // namespace brio::invariance
