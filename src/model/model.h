// Model: one transformer on one device, as a function from the rows of a step to logits. One file per architecture reads
// top to bottom (llama.cc, gemma3.cc, ...). The engine's runner is the only caller; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "ops/ops.h"
#include "tensor/kv_layout.h"
#include "weights/checkpoint.h"
#include "weights/packed_cache.h"

namespace brio::model {

// Where a forward pass finds the pages of a layer at this step.
class KvSource {
 public:
  virtual ~KvSource() = default;
  virtual tensor::KvLayerView layer(int layer) = 0;
};

// Called around each layer: fences for tiers and layer-wise transfer. Empty by default.
class LayerHooks {
 public:
  virtual ~LayerHooks() = default;
  virtual void before_layer(int /*layer*/) {}
  virtual void after_layer(int /*layer*/) {}
};

struct StepInputs {
  ops::StepRows step;  // at most Limits::max_rows rows, at most Limits::max_logits of them with RowOutput::kLogits
  KvSource& kv;
  LayerHooks& hooks;
};

struct Limits {
  int max_rows = 512;   // rows of one step: sizes the activations
  int max_logits = 64;  // rows of one step that may ask for logits
};

class Model {
 public:
  virtual ~Model() = default;
  const Config& config() const { return config_; }
  const Limits& limits() const { return limits_; }
  // What each layer keeps in the KV cache. Layers with equal specs share a KV group.
  std::vector<tensor::KvSpec> kv_specs() const;
  // Bytes of packed weights.
  int64_t weight_bytes() const { return weight_bytes_; }

  // One ragged forward pass. Returns the logits of the rows that asked, in row order: [num asked, vocab], valid until the
  // next call; read them through ops().read().
  virtual const ops::Rows& forward(const StepInputs& in) = 0;

  ops::OpSet& ops() { return *ops_; }

 protected:
  Model(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops)
      : config_(std::move(config)), limits_(limits), ops_(std::move(ops)) {}
  Config config_;
  Limits limits_;
  std::shared_ptr<ops::OpSet> ops_;
  int64_t weight_bytes_ = 0;
};

// Builds the model that a checkpoint describes; weights are packed with the pool's threads, progress (0..1) is reported
// now and then. An unknown architecture is an error that lists the known ones.
using Progress = void (*)(void* context, double fraction);
struct BuildOptions {
  Limits limits;
  std::optional<tensor::KvType> kv_type;  // none: fp32 with Numerics::kFp32, else bf16
  Progress progress = nullptr;
  void* progress_context = nullptr;
  weights::PackedCache* packed = nullptr;  // where weights are mapped from and added to; not with Numerics::kFp32
};
Result<std::unique_ptr<Model>> build_model(const weights::Checkpoint& checkpoint, std::shared_ptr<ops::OpSet> ops,
                                           ThreadPool& pool, const BuildOptions& options);

// A model of the null device with this config: shapes only, for scheduler tests.
std::unique_ptr<Model> build_null_model(const Config& config, Limits limits);

}  // namespace brio::model
