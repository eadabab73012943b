#include "engine/scorer.h"

#include <algorithm>
#include <vector>

namespace brio::engine {
namespace {

class CachePages final : public model::KvSource {
 public:
  explicit CachePages(kv::KvCache& cache) : cache_(cache) {}
  tensor::KvLayerView layer(int layer) override { return cache_.layer(layer); }

 private:
  kv::KvCache& cache_;
};

}  // namespace

Result<Scorer> Scorer::create(model::Model& model, int context, int chunk) {
  const int most = std::min(model.limits().max_rows, model.limits().max_logits);
  if (chunk < 1 || chunk > most) {
    return error(ErrorCode::kInvalidArgument, "chunk {}: expected 1 to {}", chunk, most);
  }
  const std::vector<tensor::KvSpec> specs = model.kv_specs();
  kv::KvOptions options;
  options.device = model.ops().device();
  options.demand.max_context = context;
  options.demand.max_sequences = 1;
  options.demand.max_chunk = chunk;
  BRIO_TRY(std::unique_ptr<kv::KvCache> cache, kv::KvCache::create(specs, options));
  return Scorer(model, std::move(cache), context, chunk);
}

Result<void> Scorer::score(std::span<const int32_t> tokens, const OnLogits& on_logits) {
  if (tokens.size() > static_cast<size_t>(context_)) {
    return error(ErrorCode::kContextLengthExceeded, "{} tokens, the context is {}", tokens.size(), context_);
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= model_->config().vocab) {
      return error(ErrorCode::kInvalidArgument, "token {} at position {} is outside the vocabulary of {}", tokens[i], i,
                   model_->config().vocab);
    }
  }
  const kv::SequenceId sequence = cache_->open();
  Result<void> result = score_sequence(sequence, tokens, on_logits);
  cache_->close(sequence);
  return result;
}

Result<void> Scorer::score_sequence(kv::SequenceId sequence, std::span<const int32_t> tokens,
                                    const OnLogits& on_logits) {
  CachePages pages(*cache_);
  model::LayerHooks hooks;
  std::vector<ops::Row> rows;
  std::vector<ops::WriteSlot> writes;
  const int total = static_cast<int>(tokens.size());
  for (int begin = 0; begin < total; begin += chunk_) {
    const int end = std::min(total, begin + chunk_);
    if (!cache_->reserve(sequence, begin, end)) {
      return error(ErrorCode::kOutOfMemory, "no KV blocks left at position {}", begin);
    }
    rows.clear();
    writes.clear();
    for (int position = begin; position < end; ++position) {
      const int slot = position - begin;
      rows.push_back({tokens[static_cast<size_t>(position)], position, 0, 0, 0, position + 1, slot, slot + 1,
                      ops::RowOutput::kLogits});
      writes.push_back({0, position});
    }
    cache_->begin({&sequence, 1});
    const ops::Rows& logits = model_->forward({{rows, writes}, pages, hooks});
    for (int position = begin; position < end; ++position) {
      BRIO_TRY_OK(on_logits(position, model_->ops().read(logits, position - begin)));
    }
  }
  return {};
}

}  // namespace brio::engine
