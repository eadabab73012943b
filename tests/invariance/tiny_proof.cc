#include "invariance/tiny_proof.h"

#include <algorithm>

#include "base/check.h"
#include "weights/checkpoint.h"

namespace brio::invariance {
namespace {

constexpr int kMostThreads = 5;
constexpr uint64_t kSeed = 1;

}  // namespace

TinyProof::TinyProof(const tiny::TinySpec& spec, tensor::Numerics numerics, const prove::Depth& depth,
                     std::optional<tensor::KvType> kv_type)
    : depth_(depth) {
  auto device = take(prove::ProbeDevice::create(numerics, kMostThreads));
  const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(gguf_of(spec)));
  model::BuildOptions build;
  build.limits = prove::limits_of(depth);
  build.kv_type = kv_type;
  model_ = std::make_unique<prove::TracedModel>(take(model::build_model(checkpoint, device, device->pool(1), build)),
                                                device);
  material_ = take(prove::make_material(depth, *model_, kSeed, {}));
  rows_ = prove::rows(material_);
}

void TinyProof::run_alone() {
  matrix_ = std::make_unique<prove::Matrix>(*model_, material_, kSeed);
  const Result<void> ran = matrix_->run_alone([](int, int) { return true; });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
}

prove::RowResult TinyProof::prove(const prove::Row& row) {
  return matrix_->prove(row, depth_.runs, {}, [](const prove::RowResult&) { return true; });
}

prove::RowResult TinyProof::prove(const std::string& name) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const prove::Row& r) { return r.name == name; });
  BRIO_CHECK(row != rows_.end(), "no row '{}'", name);
  return prove(*row);
}

}  // namespace brio::invariance
