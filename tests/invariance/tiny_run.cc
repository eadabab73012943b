#include "invariance/tiny_run.h"

#include <unistd.h>
#include <algorithm>

#include <cstring>

#include "base/rng.h"
#include "base/sha256.h"
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

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace

TinyModel load(const std::filesystem::path& path, int threads, Isa isa, tensor::Numerics numerics) {
  TinyModel tiny;
  tiny.pool = std::make_unique<ThreadPool>(threads);
  std::shared_ptr<ops::OpSet> ops = take(ops::CpuOps::create(*tiny.pool, isa, numerics));
  const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(path));
  model::BuildOptions options;
  options.limits = {kMaxRows, kMaxRows};
  tiny.model = take(model::build_model(checkpoint, std::move(ops), *tiny.pool, options));
  return tiny;
}

std::filesystem::path scratch_folder(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / ("brio-invariance-" + std::to_string(getpid())) / name;
  std::filesystem::create_directories(folder);
  return folder;
}

std::filesystem::path gguf_of(const tiny::TinySpec& spec) {
  const auto path = scratch_folder("gguf") / (spec.name + ".gguf");
  if (!std::filesystem::exists(path)) {
    const auto written = tiny::write_gguf(spec, path);
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
  return path;
}

Tokens random_tokens(int count, int vocab, uint64_t seed) {
  Rng rng(seed);
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(rng.below(static_cast<uint32_t>(vocab))));
  return tokens;
}

std::vector<Logits> run(model::Model& model, const std::vector<Tokens>& texts, const Mixture& mixture) {
  const std::vector<tensor::KvSpec> specs = model.kv_specs();
  size_t longest = 1;
  for (const Tokens& text : texts) longest = std::max(longest, text.size());
  kv::KvOptions options;
  options.demand = {static_cast<int>(longest), static_cast<int>(texts.size()), kMaxRows, 0};
  options.poison = kv::Poison::kYes;
  auto cache = take(kv::KvCache::create(specs, options));
  std::vector<kv::SequenceId> ids;
  for (size_t t = 0; t < texts.size(); ++t) ids.push_back(cache->open());

  const int vocab = model.config().vocab;
  std::vector<Logits> logits(texts.size());
  std::vector<size_t> done(texts.size());
  Rng rng(mixture.seed);
  Pages pages(*cache);
  model::LayerHooks hooks;
  for (int step = 0;; ++step) {
    std::vector<ops::Row> rows;
    std::vector<ops::WriteSlot> writes;
    bool unfinished = false;
    for (size_t t = 0; t < texts.size(); ++t) {
      unfinished = unfinished || done[t] < texts[t].size();
      if (step < static_cast<int>(t) * mixture.stagger) continue;
      size_t count = static_cast<size_t>(mixture.max_chunk);
      if (mixture.random_chunks) count = rng.below(static_cast<uint32_t>(mixture.max_chunk + 1));
      count = std::min({count, texts[t].size() - done[t], static_cast<size_t>(kMaxRows) - rows.size()});
      if (count == 0) continue;
      EXPECT_TRUE(cache->reserve(ids[t], static_cast<int>(done[t]), static_cast<int>(done[t] + count)));
      for (size_t i = 0; i < count; ++i) {
        const auto position = static_cast<int32_t>(done[t] + i);
        const auto slot = static_cast<int32_t>(writes.size());
        rows.push_back({texts[t][done[t] + i], position, static_cast<int32_t>(t), 0, 0, position + 1, slot, slot + 1,
                        ops::RowOutput::kLogits});
        writes.push_back({static_cast<int32_t>(t), position});
      }
      done[t] += count;
    }
    if (!unfinished) break;
    if (rows.empty()) continue;
    cache->begin(ids);
    const ops::Rows& out = model.forward({{rows, writes}, pages, hooks});
    for (size_t r = 0; r < rows.size(); ++r) {
      const std::span<const float> row = model.ops().read(out, static_cast<int>(r));
      Logits& to = logits[static_cast<size_t>(rows[r].sequence)];
      to.insert(to.end(), row.begin(), row.begin() + vocab);
    }
  }
  return logits;
}

Logits run_alone(model::Model& model, const Tokens& text, int chunk) {
  return run(model, {text}, {chunk})[0];
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
