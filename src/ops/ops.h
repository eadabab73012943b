// OpSet: every operation a model's forward pass is made of, for one device. Models call it with opaque handles and never
// see an address; the CPU implementation splits work over the ThreadPool and calls kernels, the null one checks shapes.
//
// All operations are row-wise deterministic (DESIGN section 4): the bits of a row's result depend on that row's inputs
// alone, not on num_rows, neighbours or threads. Shapes are CHECKed: they come from validated configs, not users.
// One thread (the engine's) calls an OpSet at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ops/rope_table.h"
#include "ops/row.h"
#include "tensor/device.h"
#include "tensor/kv_layout.h"
#include "tensor/weight.h"

namespace brio::ops {

// A device matrix of fp32, [max_rows, width]. Move-only handle; contents are reached through OpSet alone.
class Rows {
 public:
  struct Storage;  // defined by each device
  Rows() = default;
  Rows(std::shared_ptr<Storage> storage, int max_rows, int width)
      : storage_(std::move(storage)), max_rows_(max_rows), width_(width) {}
  int max_rows() const { return max_rows_; }
  int width() const { return width_; }
  Storage* storage() const { return storage_.get(); }

 private:
  std::shared_ptr<Storage> storage_;
  int max_rows_ = 0;
  int width_ = 0;
};

// The input of linear layers, [max_rows, width], in every form that its consumers read (s8 with scales, bf16, fp32).
// Rows at position 0, known from embed() and the step on, are kept more exactly in s8 (tensor::InputForms).
class Activation {
 public:
  struct Storage;
  Activation() = default;
  Activation(std::shared_ptr<Storage> storage, int max_rows, int width)
      : storage_(std::move(storage)), max_rows_(max_rows), width_(width) {}
  int max_rows() const { return max_rows_; }
  int width() const { return width_; }
  Storage* storage() const { return storage_.get(); }

 private:
  std::shared_ptr<Storage> storage_;
  int max_rows_ = 0;
  int width_ = 0;
};

enum class Nonlinearity : uint8_t { kSilu, kGeluTanh };
enum class Store : uint8_t { kReplace, kAdd };

struct LinearTask {
  const tensor::Weight* weight;          // [N, K]
  const tensor::Vector* bias = nullptr;  // [N] or none
  Rows* y;                               // [num_rows, N]
  Store store = Store::kReplace;         // kAdd: y += W x (residual)
};

inline constexpr int kMaxHeadDim = 512;  // what every device's attention has room for

struct AttentionShape {
  int num_heads = 0;  // query heads, a multiple of the spec's num_kv_heads
  int head_dim = 0;
  float scale = 0.0F;    // score = scale * q.k
  float softcap = 0.0F;  // > 0: score = softcap * tanh(score / softcap)
};

// Per-head RMS norm of q and k before rotation (Qwen3, Gemma 3), and what keys are divided and queries multiplied by after
// it (int8 keys); null: none.
struct HeadNorms {
  const tensor::Vector* q = nullptr;  // [head_dim]
  const tensor::Vector* k = nullptr;  // [head_dim]
  float epsilon = 0.0F;
  const tensor::Vector* key_factor =
      nullptr;  // [num_kv_heads * head_dim], equal for the channels that are rotated together
};

class OpSet {
 public:
  virtual ~OpSet() = default;
  virtual tensor::Device device() const = 0;
  virtual tensor::Numerics numerics() const = 0;

  // forms: the union of tensor::Weight::input_form() over the weights that will read the activation.
  virtual Result<Rows> make_rows(int max_rows, int width) = 0;
  virtual Result<Activation> make_activation(int max_rows, int width, tensor::InputForms forms) = 0;

  // x[r] = scale * table[rows[r].token]                                         table [vocab, hidden], x [rows, hidden]
  virtual void embed(const tensor::Weight& table, std::span<const Row> rows, float scale, Rows& x) = 0;
  // out[r] = rms_norm(x[r]) * weight, in the activation's forms
  virtual void norm(const Rows& x, int num_rows, const tensor::Vector& weight, float epsilon, Activation& out) = 0;
  // out[i] = rms_norm(x[row_ids[i]]) * weight: only the rows that need logits
  virtual void norm_gather(const Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight, float epsilon,
                           Activation& out) = 0;
  // x[r] += rms_norm(branch[r]) * weight: a post-norm and its residual
  virtual void norm_add(const Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon, Rows& x) = 0;

  // For each task: y = in W^T + bias (or y += ...). Tasks share the input and one parallel region; every weight is read
  // once whatever num_rows.
  virtual void linear(const Activation& in, int num_rows, std::span<const LinearTask> tasks) = 0;
  // out[r] = f(gate in[r]) * (up in[r])                                        gate, up [feed_forward, hidden]
  virtual void gated_linear(const Activation& in, int num_rows, const tensor::Weight& gate, const tensor::Weight& up,
                            Nonlinearity f, Activation& out) = 0;

  // Normalises heads (if asked), rotates q in place and k, applies key factors (if given), and stores k and v at the rows'
  // write slots in the cache's type.
  //   q [rows, num_heads * head_dim], k and v [rows, num_kv_heads * head_dim]
  virtual void rope_and_store(Rows& q, const Rows& k, const Rows& v, const StepRows& step, const HeadNorms& norms,
                              RopeTable& rope, const tensor::KvLayerView& kv) = 0;
  // out[r] = softmax(scale q k^T over the row's visible keys) v                out [rows, num_heads * head_dim]
  virtual void attention(const Rows& q, const StepRows& step, const AttentionShape& shape,
                         const tensor::KvLayerView& kv, Activation& out) = 0;

  // Host view of one row (logits for the sampler, tests). Valid until the next call that writes `rows`.
  virtual std::span<const float> read(const Rows& rows, int row) const = 0;
  // One row of a linear layer's input as its consumers see it, every form after the other (proofs).
  virtual std::vector<float> read(const Activation& in, int row) const = 0;

  // Weight passes since construction: one per (weight, linear call). Proves "each weight is read once per step".
  virtual int64_t weight_passes() const = 0;
};

}  // namespace brio::ops
