#include "ops/cpu_storage.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tensor/float16.h"

namespace brio::ops {

using tensor::InputForms;

namespace {

// The second image of a row: x - value * scale, quantised. A group with scale NaN (x not finite) stays NaN.
void store_rest(const kernels::QuantizeKernels& kernels, const float* x, int k, const kernels::QuantizedRow& image,
                const kernels::QuantizedRow& out) {
  float rest[kernels::kGroup];
  for (int begin = 0; begin < k; begin += kernels::kGroup) {
    const int count = std::min(kernels::kGroup, k - begin);
    const float scale = image.scales[begin / kernels::kGroup];
    for (int i = 0; i < count; ++i) rest[i] = x[begin + i] - static_cast<float>(image.values[begin + i]) * scale;
    kernels.quantize_row(rest, count, out.at(begin));
  }
}

}  // namespace

std::vector<int32_t> rows_at_position_0(std::span<const Row> rows) {
  std::vector<int32_t> out;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].position == 0) out.push_back(static_cast<int32_t>(r));
  }
  return out;
}

void Activation::Storage::start(int rows, std::span<const int32_t> first_rows) {
  num_rows = rows;
  rest_rows.clear();
  if (all_rests) {
    rest_rows.resize(static_cast<size_t>(num_rows));
    std::iota(rest_rows.begin(), rest_rows.end(), 0);
    return;
  }
  std::copy_if(first_rows.begin(), first_rows.end(), std::back_inserter(rest_rows),
               [rows](int32_t row) { return row < rows; });
}

void Activation::Storage::store(const kernels::QuantizeKernels& kernels, int r, int column, std::span<const float> x) {
  const int k = static_cast<int>(x.size());
  if (values != nullptr) {
    const kernels::QuantizedRow image = quantized_row(r).at(column);
    kernels.quantize_row(x.data(), k, image);
    const auto rest = std::lower_bound(rest_rows.begin(), rest_rows.end(), r);
    if (rest != rest_rows.end() && *rest == r) {
      const int row = num_rows + static_cast<int>(rest - rest_rows.begin());
      store_rest(kernels, x.data(), k, image, quantized_row(row).at(column));
    }
  }
  if (bf16 != nullptr) kernels.round_row_bf16(x.data(), k, bf16 + r * stride + column);
  if (f32 != nullptr) {
    float* out = f32 + r * stride + column;
    std::fill(std::copy(x.begin(), x.end(), out), out + kernels::padded_k(k), 0.0F);
  }
}

std::vector<float> Activation::Storage::read(int r) const {
  std::vector<float> out;
  const auto add_image = [&](const kernels::QuantizedRow& image) {
    for (int i = 0; i < width; ++i)
      out.push_back(static_cast<float>(image.values[i]) * image.scales[i / kernels::kGroup]);
  };
  if (values != nullptr) {
    add_image(quantized_row(r));
    const auto rest = std::lower_bound(rest_rows.begin(), rest_rows.end(), r);
    if (rest != rest_rows.end() && *rest == r) {
      add_image(quantized_row(num_rows + static_cast<int>(rest - rest_rows.begin())));
    }
  }
  for (int i = 0; bf16 != nullptr && i < width; ++i) out.push_back(tensor::bf16_to_f32(bf16[r * stride + i]));
  if (f32 != nullptr) out.insert(out.end(), f32 + r * stride, f32 + r * stride + width);
  return out;
}

Result<std::shared_ptr<Rows::Storage>> make_rows_storage(int max_rows, int width) {
  auto storage = std::make_shared<Rows::Storage>();
  storage->stride = kernels::row_stride(width);
  const size_t bytes = static_cast<size_t>(max_rows) * storage->stride * sizeof(float);
  BRIO_TRY(storage->buffer, AlignedBuffer::create(bytes));
  storage->data = storage->buffer.as<float>();
  return storage;
}

Result<std::shared_ptr<Activation::Storage>> make_activation_storage(int max_rows, int width, InputForms forms) {
  auto storage = std::make_shared<Activation::Storage>();
  storage->width = width;
  storage->stride = kernels::row_stride(width);
  const size_t count = static_cast<size_t>(max_rows) * storage->stride;  // a multiple of 64: every part stays aligned
  storage->all_rests = contains(forms, InputForms::kS8Pair);
  const size_t s8_bytes = contains(forms, InputForms::kS8 | InputForms::kS8Pair) ? 2 * count : 0;
  const size_t scale_bytes = s8_bytes / kernels::kGroup * sizeof(float);
  const size_t sum_bytes = s8_bytes / (kernels::kGroup / 2) * sizeof(int16_t);
  const size_t bf16_bytes = contains(forms, InputForms::kBF16) ? count * sizeof(uint16_t) : 0;
  const size_t f32_bytes = contains(forms, InputForms::kF32) ? count * sizeof(float) : 0;
  BRIO_TRY(storage->buffer, AlignedBuffer::create(f32_bytes + bf16_bytes + s8_bytes + scale_bytes + sum_bytes));
  std::byte* next = storage->buffer.data();
  const auto take = [&next](size_t bytes) { return std::exchange(next, next + bytes); };
  if (f32_bytes > 0) storage->f32 = reinterpret_cast<float*>(take(f32_bytes));
  if (bf16_bytes > 0) storage->bf16 = reinterpret_cast<uint16_t*>(take(bf16_bytes));
  if (s8_bytes > 0) {
    storage->values = reinterpret_cast<int8_t*>(take(s8_bytes));
    storage->scales = reinterpret_cast<float*>(take(scale_bytes));
    storage->sums = reinterpret_cast<int16_t*>(take(sum_bytes));
  }
  return storage;
}

}  // namespace brio::ops
