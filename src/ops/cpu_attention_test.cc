// rope_and_store and attention through CpuOps: a row's result has the same bits alone or among others, in chunks of any
// size, on any number of threads and every ISA; and it is close to a plain double computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "base/rng.h"
#include "kernels/reference/attention_reference.h"
#include "kernels/reference/row_reference.h"
#include "ops/cpu_ops.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using tensor::KvSpec;
using tensor::KvType;

enum class Factors : uint8_t { kNone, kPowersOfTwo, kLoudChannels };

struct Shape {
  int num_heads, num_kv_heads, head_dim;
  int window = 0;
  KvType type = KvType::kBF16;
  bool head_norms = false;
  float softcap = 0.0F;
  std::vector<int> lengths;  // of the sequences
  Factors factors = Factors::kNone;
  float loud_channels = 0.0F;  // added to channels 0 and 1 (one pair) of every key
};

// q, k or v of a token: a function of (sequence, position) alone.
std::vector<float> projection(int which, int sequence, int position, int width) {
  Rng rng(static_cast<uint64_t>(which) << 48 | static_cast<uint64_t>(sequence) << 32 | static_cast<uint32_t>(position));
  std::vector<float> x(static_cast<size_t>(width));
  for (float& value : x) value = rng.uniform(-1.5F, 1.5F);
  return x;
}

// Everything attention must not depend on.
struct Setting {
  Isa isa = Isa::kScalar;
  int threads = 1;
  int chunk = 1;          // tokens of a sequence in a step
  bool together = false;  // sequences share steps
};

using Outputs = std::map<std::pair<int, int>, std::vector<float>>;  // (sequence, position) -> [num_heads * head_dim]

// Runs the sequences of a shape and collects every row's output.
class Scene {
 public:
  Scene(const Shape& shape, const Setting& setting) : shape_(shape), setting_(setting), pool_(setting.threads) {
    ops_ = std::move(CpuOps::create(pool_, setting.isa, tensor::Numerics::kDefault)).value();
    spec_.kind = shape.window > 0 ? KvSpec::Kind::kWindow : KvSpec::Kind::kFull;
    spec_.window = shape.window;
    spec_.num_kv_heads = shape.num_kv_heads;
    spec_.head_dim = shape.head_dim;
    spec_.type = shape.type;
    RopeSpec rope;
    rope.rotary_dim = shape.head_dim / 2 / 2 * 2;  // partial
    rope.interleaved = shape.num_heads % 2 == 1;
    rope_ = std::make_unique<RopeTable>(rope);
    std::vector<float> weight = projection(9, 0, 0, shape.head_dim);
    for (float& w : weight) w += 2.0F;
    norm_weight_ = tensor::Vector(weight);
    std::vector<float> factor;
    for (int c = 0; c < shape.num_kv_heads * shape.head_dim; ++c) factor.push_back(factor_of(c));
    key_factor_ = tensor::Vector(factor);
    allocate_blocks();
  }

  Outputs run() {
    int max_rows = 0;
    for (int length : shape_.lengths) max_rows += std::min(length, setting_.chunk);
    const int q_width = shape_.num_heads * shape_.head_dim;
    const int kv_width = shape_.num_kv_heads * shape_.head_dim;
    q_ = std::move(ops_->make_rows(max_rows, q_width)).value();
    k_ = std::move(ops_->make_rows(max_rows, kv_width)).value();
    v_ = std::move(ops_->make_rows(max_rows, kv_width)).value();
    using tensor::InputForms;
    const InputForms forms = InputForms::kS8 | InputForms::kBF16 | InputForms::kF32;
    out_ = std::move(ops_->make_activation(max_rows, q_width, forms)).value();
    const int num_sequences = static_cast<int>(shape_.lengths.size());
    std::vector<int> done(shape_.lengths.size());
    for (bool more = true; more;) {
      more = false;
      rows_.clear();
      for (int i = 0; i < num_sequences; ++i) {
        const int s = (i + static_cast<int>(steps_)) % num_sequences;  // neighbours change places
        const int end = std::min(done[s] + setting_.chunk, shape_.lengths[s]);
        for (int p = done[s]; p < end; ++p) add_row(s, p);
        done[s] = end;
        more |= end < shape_.lengths[s];
        if (!setting_.together && !rows_.empty()) {
          step();
          rows_.clear();
        }
      }
      if (!rows_.empty()) step();
      ++steps_;
    }
    return outputs_;
  }

 private:
  // The same for the two channels of a pair: 2^-3 to 2^3, or 8 for the loud pair alone.
  float factor_of(int channel) const {
    const int c = channel % shape_.head_dim;
    const int rotary = shape_.head_dim / 2 / 2 * 2;
    const int pair = c >= rotary ? c : shape_.num_heads % 2 == 1 ? c / 2 : c % (rotary / 2);
    if (shape_.factors == Factors::kLoudChannels) return pair == 0 ? 8.0F : 1.0F;
    return std::ldexp(1.0F, 3 - (pair + channel / shape_.head_dim) % 7);
  }

  void allocate_blocks() {
    size_t num_blocks = 0;
    for (int length : shape_.lengths) num_blocks += (length + 31) / 32;
    const size_t bytes = static_cast<size_t>(tensor::record_bytes(spec_));
    memory_ = std::move(AlignedBuffer::create(bytes * num_blocks)).value();
    std::memset(memory_.data(), 0xff, memory_.size_bytes());  // NaN: what released blocks may hold
    size_t next = num_blocks;                                 // blocks come in no helpful order
    for (int length : shape_.lengths) {
      blocks_.emplace_back();
      for (int b = 0; b < (length + 31) / 32; ++b) blocks_.back().push_back(memory_.data() + bytes * --next);
    }
  }

  void add_row(int sequence, int position) {
    Row row;
    row.position = position;
    row.sequence = sequence;
    row.visible_end = position + 1;
    row.write_begin = static_cast<int32_t>(rows_.size());
    row.write_end = row.write_begin + 1;
    rows_.push_back(row);
  }

  void step() {
    std::vector<WriteSlot> writes;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const Row& row = rows_[r];
      writes.push_back({row.sequence, row.position});
      const int at = static_cast<int>(r);
      std::ranges::copy(projection(0, row.sequence, row.position, q_.width()), q_.storage()->row(at));
      std::vector<float> key = projection(1, row.sequence, row.position, k_.width());
      for (int c = 0; c < k_.width(); c += shape_.head_dim) {
        key[static_cast<size_t>(c)] += shape_.loud_channels;
        key[static_cast<size_t>(c) + 1] += shape_.loud_channels;
      }
      std::ranges::copy(key, k_.storage()->row(at));
      std::ranges::copy(projection(2, row.sequence, row.position, v_.width()), v_.storage()->row(at));
    }
    std::vector<std::span<std::byte* const>> views(blocks_.begin(), blocks_.end());
    const tensor::KvLayerView kv = {&spec_, views};
    HeadNorms norms;
    if (shape_.head_norms) norms = {&norm_weight_, &norm_weight_, 1e-6F};
    if (shape_.factors != Factors::kNone) norms.key_factor = &key_factor_;
    ops_->rope_and_store(q_, k_, v_, {rows_, writes}, norms, *rope_, kv);
    const AttentionShape attention = {shape_.num_heads, shape_.head_dim, 0.2F, shape_.softcap};
    ops_->attention(q_, {rows_, writes}, attention, kv, out_);
    for (size_t r = 0; r < rows_.size(); ++r) {
      const float* out = out_.storage()->f32 + static_cast<ptrdiff_t>(r) * out_.storage()->stride;
      outputs_[{rows_[r].sequence, rows_[r].position}].assign(out, out + q_.width());
    }
  }

  Shape shape_;
  Setting setting_;
  ThreadPool pool_;
  std::unique_ptr<CpuOps> ops_;
  KvSpec spec_;
  std::unique_ptr<RopeTable> rope_;
  tensor::Vector norm_weight_;
  tensor::Vector key_factor_;
  AlignedBuffer memory_;
  std::vector<std::vector<std::byte*>> blocks_;
  Rows q_, k_, v_;
  Activation out_;
  std::vector<Row> rows_;
  size_t steps_ = 0;
  Outputs outputs_;
};

::testing::AssertionResult same(const Outputs& got, const Outputs& want) {
  if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " rows";
  for (const auto& [key, values] : want) {
    if (std::memcmp(values.data(), got.at(key).data(), values.size() * sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "sequence " << key.first << " position " << key.second;
    }
  }
  return ::testing::AssertionSuccess();
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (cpu_supports(isa)) isas.push_back(isa);
  }
  return isas;
}

// Head ratios 1, 3, 4, 7 and MQA; head_dim 64, 80, 128, 256; windows; all KV types; norms; softcap; lengths with all tails.
std::vector<Shape> shapes() {
  const KvType f32 = KvType::kF32;
  return {
      {3, 3, 64, 0, KvType::kBF16, false, 0, {70, 33, 1}},    {9, 3, 64, 0, KvType::kBF16, false, 0, {300, 64, 31}},
      {4, 1, 256, 40, KvType::kBF16, true, 0, {90, 20}},      {7, 1, 80, 5, KvType::kBF16, false, 0, {65, 40}},
      {4, 2, 128, 0, KvType::kBF16, true, 20, {66, 270}},     {14, 2, 64, 0, f32, false, 0, {45, 34}},
      {8, 2, 20, 300, KvType::kBF16, false, 0, {330, 32, 2}}, {2, 2, 18, 5, f32, true, 0, {270, 9}},
      {9, 3, 64, 0, KvType::kInt8, false, 0, {300, 64, 31}},  {4, 2, 128, 0, KvType::kInt8, false, 20, {66, 270}},
      {7, 1, 80, 5, KvType::kInt8, false, 0, {65, 40}},       {2, 2, 18, 0, KvType::kInt8, false, 0, {290, 9}},
  };
}

TEST(CpuAttention, RowsHaveEqualBitsInEverySetting) {
  for (const Shape& shape : shapes()) {
    const Outputs want = Scene(shape, {usable_isas().back(), 1, 1, false}).run();
    for (Isa isa : usable_isas()) {
      for (const Setting& setting : std::vector<Setting>{
               {isa, 1, 1000, false}, {isa, 2, 7, true}, {isa, 5, 32, true}, {isa, 2, 1000, true}, {isa, 5, 1, true}}) {
        if (isa == Isa::kScalar && setting.chunk < 32) continue;  // slow, and covered by the kernels' own tests
        ASSERT_TRUE(same(Scene(shape, setting).run(), want))
            << shape.num_heads << '/' << shape.num_kv_heads << " heads of " << shape.head_dim << ", " << name(isa)
            << ", " << setting.threads << " threads, chunk " << setting.chunk
            << (setting.together ? ", together" : ", alone");
      }
    }
  }
}

// A lone row far into its context: its splits go to several threads.
TEST(CpuAttention, LongContextHasEqualBitsOnAnyNumberOfThreads) {
  for (const KvType type : {KvType::kBF16, KvType::kInt8}) {
    const Shape shape = {4, 2, 64, 0, type, false, 0, {1700}};
    const Isa isa = usable_isas().back();
    const Outputs want = Scene(shape, {isa, 1, 400, false}).run();
    for (int threads : {2, 3, 5}) {
      ASSERT_TRUE(same(Scene(shape, {isa, threads, 400, false}).run(), want)) << threads;
      ASSERT_TRUE(same(Scene(shape, {isa, threads, 1699, false}).run(), want)) << threads;  // then the last row alone
    }
  }
}

// Keys are divided by what queries are multiplied by: powers of two change no bit where nothing but the exponent holds them.
TEST(CpuAttention, KeyFactorsCancel) {
  for (Shape shape : shapes()) {
    if (shape.type == KvType::kInt8) continue;
    const Setting setting = {usable_isas().back(), 2, 32, true};
    const Outputs want = Scene(shape, setting).run();
    shape.factors = Factors::kPowersOfTwo;
    ASSERT_TRUE(same(Scene(shape, setting).run(), want)) << shape.num_heads << " heads of " << shape.head_dim;
  }
}

double rms_difference(const Outputs& a, const Outputs& b) {
  double squares = 0.0;
  double count = 0.0;
  for (const auto& [key, values] : a) {
    for (size_t i = 0; i < values.size(); ++i) {
      squares += std::pow(double{values[i]} - b.at(key)[i], 2);
      count += 1.0;
    }
  }
  return std::sqrt(squares / count);
}

// A pair of channels eight times as large as the others (a key bias) takes the bits of all in an int8 key; divided by its
// factor of eight it does not.
TEST(CpuAttention, KeyFactorsSaveTheBitsOfInt8Keys) {
  const Setting setting = {usable_isas().back(), 2, 32, true};
  Shape shape = {3, 3, 64, 0, KvType::kF32, false, 0, {200}};
  shape.loud_channels = 12.0F;
  const Outputs exact = Scene(shape, setting).run();
  shape.type = KvType::kInt8;
  const double without = rms_difference(Scene(shape, setting).run(), exact);
  shape.factors = Factors::kLoudChannels;
  const double with = rms_difference(Scene(shape, setting).run(), exact);
  EXPECT_LT(with, 0.5 * without);
}

// Normalised and rotated in double.
std::vector<float> rotated(const Shape& shape, std::vector<float> x, int heads, int position) {
  const int rotary = shape.head_dim / 2 / 2 * 2;
  const bool interleaved = shape.num_heads % 2 == 1;
  std::vector<float> weight = projection(9, 0, 0, shape.head_dim);
  for (int h = 0; h < heads; ++h) {
    float* head = &x[static_cast<size_t>(h) * shape.head_dim];
    if (shape.head_norms) {
      double squares = 0.0;
      for (int d = 0; d < shape.head_dim; ++d) squares += double{head[d]} * head[d];
      const double r = 1.0 / std::sqrt(squares / shape.head_dim + 1e-6);
      for (int d = 0; d < shape.head_dim; ++d)
        head[d] = static_cast<float>(head[d] * r * (weight[static_cast<size_t>(d)] + 2.0F));
    }
    for (int pair = 0; pair < rotary / 2; ++pair) {
      const double angle = position * std::pow(10000.0, -2.0 * pair / rotary);
      float& a = head[interleaved ? 2 * pair : pair];
      float& b = head[interleaved ? 2 * pair + 1 : pair + rotary / 2];
      const double old_a = a;
      const double old_b = b;
      a = static_cast<float>(old_a * std::cos(angle) - old_b * std::sin(angle));
      b = static_cast<float>(old_b * std::cos(angle) + old_a * std::sin(angle));
    }
  }
  return x;
}

TEST(CpuAttention, IsCloseToDouble) {
  for (const Shape& shape : shapes()) {
    const Outputs got = Scene(shape, {usable_isas().back(), 2, 32, true}).run();
    const int length = shape.lengths[0];
    const int group = shape.num_heads / shape.num_kv_heads;
    const size_t dim = static_cast<size_t>(shape.head_dim);
    for (int head : {0, shape.num_heads - 1}) {
      std::vector<float> k;
      std::vector<float> v;
      for (int t = 0; t < length; ++t) {
        const size_t at = static_cast<size_t>(head / group) * dim;
        const auto key =
            rotated(shape, projection(1, 0, t, shape.num_kv_heads * shape.head_dim), shape.num_kv_heads, t);
        const auto value = projection(2, 0, t, shape.num_kv_heads * shape.head_dim);
        k.insert(k.end(), key.begin() + at, key.begin() + at + dim);
        v.insert(v.end(), value.begin() + at, value.begin() + at + dim);
      }
      for (int position : {0, 1, length / 2, length - 1}) {
        const auto query =
            rotated(shape, projection(0, 0, position, shape.num_heads * shape.head_dim), shape.num_heads, position);
        const float* q = &query[static_cast<size_t>(head) * dim];
        const int begin = shape.window > 0 ? std::max(0, position - shape.window + 1) : 0;
        double largest = 0.0;
        double largest_k = 0.0;
        double q_squares = 0.0;
        for (size_t d = 0; d < dim; ++d) q_squares += double{q[d]} * q[d];
        for (int t = begin; t <= position; ++t) {
          double s = 0.0;
          for (size_t d = 0; d < dim; ++d) {
            s += std::fabs(double{q[d]} * k[static_cast<size_t>(t) * dim + d]);
            largest_k = std::max(largest_k, std::fabs(double{k[static_cast<size_t>(t) * dim + d]}));
          }
          largest = std::max(largest, 0.2 * s);
        }
        // q and k each rounded once to bf16 (2^-9), and a handful of fp32 roundings an element; then p and v.
        const double unit = shape.type == KvType::kBF16 ? 0x1p-9 : 0.0;
        double score_error = largest * (2 * unit + (shape.head_dim + 16) * 0x1p-24);
        double rounded = 2 * unit + 600 * 0x1p-24;
        if (shape.type == KvType::kInt8) {
          // Roundings of k are independent and uniform over a unit, amax / 127: six standard deviations of their sum. v
          // errs by half a unit, 256 weights by half of 2^-15 of the largest.
          score_error += 6 * 0.2 * std::sqrt(q_squares / 12) * largest_k / 127;
          rounded += 0.5 / 127 + 256 * 0x1p-16;
        }
        const double bound = 1.5 * (std::expm1(2 * score_error) + rounded);
        const kernels::reference::AttentionKeys keys = {false, shape.head_dim, k, v};
        const auto want = kernels::reference::exact_attention(q, keys, begin, position + 1, 0.2F, shape.softcap);
        const std::vector<float>& row = got.at({0, position});
        for (size_t d = 0; d < dim; ++d) {
          ASSERT_NEAR(row[static_cast<size_t>(head) * dim + d], want[d], bound)
              << shape.num_heads << '/' << shape.num_kv_heads << " heads of " << shape.head_dim << " at " << position;
        }
      }
    }
  }
}

}  // namespace
}  // namespace brio::ops
