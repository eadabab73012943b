// Linear layers as a model calls them: through the device's operations, with several weights sharing an input where they do
// in a model. Bytes are those of the packed weights.
#include <algorithm>
#include <memory>

#include "bench/kernel_case.h"
#include "bench/random_data.h"

namespace brio::bench {
namespace {

using tensor::DType;
using tensor::InputForms;
using tensor::Weight;

struct ModelShape {
  const char* name;
  int hidden, feed_forward, heads, kv_heads, head_dim, vocab;
};
constexpr ModelShape kModels[] = {{"smollm2-135m", 576, 1536, 9, 3, 64, 49152},
                                  {"gemma3-270m", 640, 2048, 4, 1, 256, 262144},
                                  {"qwen2.5-coder-0.5b", 896, 4864, 14, 2, 64, 151936},
                                  {"qwen2.5-coder-1.5b", 1536, 8960, 12, 2, 128, 151936}};

enum class Role : uint8_t { kPlain, kResidual, kGated, kHead };

struct LinearShape {
  std::string name;
  Role role;
  std::vector<int> outputs;  // rows of each weight
  int inputs;                // their columns
};

// Only rows that want logits reach the head, and no step has more of them.
constexpr int kMostHeadRows = 64;

std::vector<LinearShape> shapes_of(const ModelShape& m) {
  const int q = m.heads * m.head_dim;
  const int kv = m.kv_heads * m.head_dim;
  const std::string prefix = std::string(m.name) + ".";
  return {{prefix + "qkv", Role::kPlain, {q, kv, kv}, m.hidden},
          {prefix + "attention_out", Role::kResidual, {m.hidden}, q},
          {prefix + "gate_up", Role::kGated, {m.feed_forward, m.feed_forward}, m.hidden},
          {prefix + "down", Role::kResidual, {m.hidden}, m.feed_forward},
          {prefix + "head", Role::kHead, {m.vocab}, m.hidden}};
}

// Copies of a layer's weights, taken in turn by all cases of a group.
struct WeightRing {
  std::vector<std::vector<Weight>> layers;
  size_t next = 0;

  const std::vector<Weight>& turn() {
    next = next + 1 < layers.size() ? next + 1 : 0;
    return layers[next];
  }
};

Result<std::shared_ptr<WeightRing>> make_ring(const LinearShape& shape, DType type, const KernelSetup& setup) {
  auto ring = std::make_shared<WeightRing>();
  for (int64_t bytes = 0; bytes < setup.working_set_bytes || ring->layers.empty();) {
    std::vector<Weight> layer;
    for (const int outputs : shape.outputs) {
      BRIO_TRY(Weight weight, random_weight(type, outputs, shape.inputs, setup.pool));
      bytes += weight.size_bytes();
      layer.push_back(std::move(weight));
    }
    ring->layers.push_back(std::move(layer));
  }
  return ring;
}

Arithmetic arithmetic_of(InputForms form) {
  switch (form) {
    case InputForms::kBF16:
      return Arithmetic::kBF16;
    case InputForms::kF32:
      return Arithmetic::kFP32;
    default:
      return Arithmetic::kInt8;
  }
}

Result<KernelCase> make_case(const LinearShape& shape, int rows, const std::shared_ptr<WeightRing>& ring,
                             const KernelSetup& setup) {
  const std::vector<Weight>& layer = ring->layers.front();
  KernelCase made;
  made.rows = rows;
  made.work.arithmetic = arithmetic_of(layer.front().input_form());
  for (const Weight& weight : layer) {
    made.work.bytes += static_cast<double>(weight.size_bytes());
    made.work.macs += static_cast<double>(weight.rows() * weight.cols()) * rows;
  }
  const InputForms form = layer.front().input_form();
  const bool pair = shape.role == Role::kHead && form == InputForms::kS8;  // as Decoder::allocate has it
  BRIO_TRY(ops::Activation made_in,
           random_activation(setup.ops, rows, shape.inputs, pair ? InputForms::kS8Pair : form));
  const auto in = std::make_shared<ops::Activation>(std::move(made_in));
  ops::CpuOps* const ops = &setup.ops;
  if (shape.role == Role::kGated) {
    BRIO_TRY(ops::Activation made_out, setup.ops.make_activation(rows, shape.outputs.front(), form));
    const auto out = std::make_shared<ops::Activation>(std::move(made_out));
    made.run = [ops, ring, in, out, rows] {
      const std::vector<Weight>& weights = ring->turn();
      ops->gated_linear(*in, rows, weights[0], weights[1], ops::Nonlinearity::kSilu, *out);
    };
    return made;
  }
  const auto ys = std::make_shared<std::vector<ops::Rows>>();
  for (const int outputs : shape.outputs) {
    BRIO_TRY(ops::Rows y, setup.ops.make_rows(rows, outputs));
    ys->push_back(std::move(y));
  }
  const ops::Store store = shape.role == Role::kResidual ? ops::Store::kAdd : ops::Store::kReplace;
  made.run = [ops, ring, in, ys, rows, store] {
    const std::vector<Weight>& weights = ring->turn();
    ops::LinearTask tasks[3];
    for (size_t i = 0; i < weights.size(); ++i) tasks[i] = {&weights[i], nullptr, &(*ys)[i], store};
    ops->linear(*in, rows, {tasks, weights.size()});
  };
  return made;
}

CaseGroup make_group(const LinearShape& shape, DType type, const std::vector<int>& rows) {
  int outputs = 0;
  for (const int each : shape.outputs) outputs += each;
  CaseGroup group;
  group.name = fmt::format("linear {} {} {}x{}", tensor::name(type), shape.name, outputs, shape.inputs);
  group.make = [shape, type, rows](const KernelSetup& setup) -> Result<std::vector<KernelCase>> {
    BRIO_TRY(const std::shared_ptr<WeightRing> ring, make_ring(shape, type, setup));
    std::vector<KernelCase> cases;
    for (const int count : rows) {
      if (shape.role == Role::kHead && count > kMostHeadRows) continue;
      BRIO_TRY(KernelCase made, make_case(shape, count, ring, setup));
      cases.push_back(std::move(made));
    }
    return cases;
  };
  return group;
}

}  // namespace

std::vector<CaseGroup> linear_groups(const std::vector<DType>& types, const std::vector<int>& rows) {
  std::vector<CaseGroup> groups;
  for (const DType type : types) {
    for (const ModelShape& model : kModels) {
      for (const LinearShape& shape : shapes_of(model)) {
        if (shape.inputs % tensor::traits(type).block_elements != 0) continue;
        groups.push_back(make_group(shape, type, rows));
      }
    }
  }
  return groups;
}

}  // namespace brio::bench
