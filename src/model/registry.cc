#include <algorithm>

#include "model/decoder.h"
#include "ops/null_ops.h"

namespace brio::model {
namespace {

using Builder = Result<std::unique_ptr<Model>> (*)(Config, Limits, std::shared_ptr<ops::OpSet>, WeightLoader&);

struct Architecture {
  std::string_view name;
  Builder build;
};

constexpr Architecture kArchitectures[] = {
    {"llama", build_llama},
    {"qwen2", build_qwen2},
    {"qwen3", build_qwen3},
    {"gemma3", build_gemma3},
};

Builder find_builder(std::string_view name) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture.build;
  }
  return nullptr;
}

}  // namespace

const std::vector<std::string>& known_architectures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Architecture& architecture : kArchitectures) list.emplace_back(architecture.name);
    return list;
  }();
  return names;
}

std::vector<tensor::KvSpec> Model::kv_specs() const {
  std::vector<tensor::KvSpec> specs;
  specs.reserve(static_cast<size_t>(config_.num_layers));
  for (int layer = 0; layer < config_.num_layers; ++layer) specs.push_back(kv_spec(config_, layer));
  return specs;
}

Result<std::unique_ptr<Model>> build_model(const weights::Checkpoint& checkpoint, std::shared_ptr<ops::OpSet> ops,
                                           ThreadPool& pool, const BuildOptions& options) {
  const tensor::Numerics numerics = ops->numerics();
  const auto usual = numerics == tensor::Numerics::kFp32 ? tensor::KvType::kF32 : tensor::KvType::kBF16;
  BRIO_TRY(Config config, read_config(checkpoint, options.kv_type.value_or(usual)));
  WeightLoader load(checkpoint, numerics, pool, options);
  const std::string architecture = config.architecture;
  BRIO_TRY(auto model, find_builder(architecture)(std::move(config), options.limits, std::move(ops), load));
  BRIO_TRY_OK(load.check_all_used(architecture));
  return model;
}

std::unique_ptr<Model> build_null_model(const Config& config, Limits limits) {
  WeightLoader load;
  auto built = find_builder(config.architecture)(config, limits, std::make_shared<ops::NullOps>(), load);
  return built.ok() ? std::move(built).value() : nullptr;
}

}  // namespace brio::model
