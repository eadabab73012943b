// Packing loses nothing: every type, read back from panels, has the values of dequantize_row, bit for bit.
#include "weights/packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "base/sanitizers.h"
#include "base/temporary_folder.h"
#include "base/testing/peak_memory.h"
#include "kernels/linear.h"
#include "tensor/dequantize.h"
#include "weights/gguf_writer.h"

namespace brio::weights {
namespace {

using tensor::DType;
using tensor::Numerics;

constexpr DType kAllTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,   DType::kQ4_1,
                               DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K,   DType::kQ3_K,
                               DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS};

// A tensor of random bytes: every bit pattern is a valid block (floats may be NaN, which must survive as NaN).
struct RandomTensor {
  RandomTensor(DType type, int64_t rows, int64_t cols) : bytes(rows * tensor::row_bytes(type, cols)) {
    Rng rng(static_cast<uint64_t>(type) * 1000 + rows + cols);
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(256));
    view.name = "test.weight";
    view.dtype = type;
    view.rows = rows;
    view.cols = cols;
    view.data = bytes.data();
    view.size_bytes = static_cast<int64_t>(bytes.size());
  }
  std::vector<float> row(int64_t r) const {
    std::vector<float> values(view.cols);
    tensor::dequantize_row(view.dtype, view.data + r * tensor::row_bytes(view.dtype, view.cols), view.cols,
                           values.data());
    return values;
  }
  std::vector<std::byte> bytes;
  TensorView view;
};

void expect_same_values(const std::vector<float>& expected, const std::vector<float>& actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(expected[i]), std::bit_cast<uint32_t>(actual[i]))
        << "element " << i << ": " << expected[i] << " and " << actual[i];
  }
}

TEST(PackerTest, PanelsHoldTheValuesOfTheFile) {
  ThreadPool pool(3);
  for (const DType type : kAllTypes) {
    const int block = tensor::traits(type).block_elements;
    for (const int64_t cols : {static_cast<int64_t>(block) * 2, static_cast<int64_t>(block) * 3, int64_t{1280}}) {
      if (cols % block != 0) continue;
      for (const int64_t rows : {1, 16, 37}) {
        SCOPED_TRACE(::testing::Message() << tensor::name(type) << " " << rows << " x " << cols);
        const RandomTensor source(type, rows, cols);
        for (const Numerics numerics : {Numerics::kDefault, Numerics::kFp32}) {
          Result<tensor::Weight> weight = pack(source.view, numerics, pool);
          ASSERT_TRUE(weight.ok()) << weight.error().message;
          EXPECT_EQ(weight->rows(), rows);
          EXPECT_EQ(weight->cols(), cols);
          EXPECT_EQ(weight->input_form(), tensor::input_form(type, numerics));
          std::vector<float> values(cols);
          for (int64_t r = 0; r < rows; ++r) {
            kernels::unpack_row(weight->format(), weight->panels(), static_cast<int>(cols), r, values.data());
            expect_same_values(source.row(r), values);
          }
        }
      }
    }
  }
}

// Every type at every shape of the four models of the catalogue that it can have, padding included. Prints the worst.
TEST(PackerTest, PanelsTakeNoMoreThanThreeHundredthsOnTopOfTheFile) {
  struct Shape {
    int64_t rows, cols;
  };
  constexpr Shape kShapes[] = {
      {49152, 576},  {192, 576},   {576, 576},   {1536, 576},  {576, 1536},                  // smollm2-135m
      {262144, 640}, {256, 640},   {1024, 640},  {640, 1024},  {2048, 640},    {640, 2048},  // gemma3-270m
      {151936, 896}, {128, 896},   {896, 896},   {4864, 896},  {896, 4864},                  // qwen2.5-coder-0.5b
      {256, 1536},   {1536, 1536}, {8960, 1536}, {1536, 8960}, {151936, 1536},               // qwen2.5-coder-1.5b
  };
  for (const DType type : kAllTypes) {
    double worst = 0.0;
    int num_shapes = 0;
    for (const auto& [rows, cols] : kShapes) {
      if (cols % tensor::traits(type).block_elements != 0) continue;
      const auto file = static_cast<double>(rows * tensor::row_bytes(type, cols));
      const double ratio = static_cast<double>(tensor::packed_bytes(type, Numerics::kDefault, rows, cols)) / file;
      EXPECT_LE(ratio, 1.03) << tensor::name(type) << " " << rows << " x " << cols;
      worst = std::max(worst, ratio);
      ++num_shapes;
    }
    std::printf("%-6s %.4f of the file's bytes at worst, %d shapes\n", tensor::name(type).data(), worst, num_shapes);
    EXPECT_GT(num_shapes, 0);
  }
}

// The peak of resident memory, which is the packed bytes, what is mapped of the file, and little else.
TEST(PackerTest, PagesOfTheFileAreGivenBackWhilePacking) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not ours";
  constexpr int64_t kRows = 65536;
  constexpr int64_t kCols = 1024;
  const TemporaryFolder folder;
  int64_t file_bytes = 0;
  {
    const RandomTensor source(DType::kQ8_0, kRows, kCols);
    GgufWriter out;
    out.string("general.architecture", "qwen2");
    out.tensor("big.weight", DType::kQ8_0, {kCols, kRows}, source.bytes);
    ASSERT_TRUE(out.write(folder / "model.gguf").ok());
    file_bytes = source.view.size_bytes;
  }
  const Checkpoint checkpoint = Checkpoint::open(folder / "model.gguf").value();
  const TensorView view = checkpoint.tensor("big.weight", kRows, kCols).value();
  ThreadPool pool(2);
  const testing::PeakMemory peak;
  if (!peak.is_measured()) GTEST_SKIP() << "the system does not tell";
  const auto weight = pack(view, Numerics::kDefault, pool, [&](int64_t read) { checkpoint.drop(view, read); });
  ASSERT_TRUE(weight.ok());
  const int64_t grown = peak.grown_bytes();
  std::printf("%.1f MB of file: packing took %.1f MB\n", file_bytes / 1e6, grown / 1e6);
  EXPECT_GE(grown, weight->size_bytes());
  EXPECT_LE(grown, file_bytes * 5 / 4);
}

TEST(PackerTest, ImpossibleShapesAreErrorsThatNameTheTensor) {
  ThreadPool pool(1);
  const RandomTensor good(DType::kQ4_K, 4, 512);
  const auto message_of = [&](auto change) {
    TensorView view = good.view;
    change(view);
    Result<tensor::Weight> weight = pack(view, Numerics::kDefault, pool);
    EXPECT_FALSE(weight.ok());
    return weight.ok() ? std::string() : weight.error().message;
  };
  EXPECT_NE(message_of([](TensorView& v) { v.cols = 511; }).find("test.weight"), std::string::npos);
  EXPECT_NE(message_of([](TensorView& v) { v.rows = 0; }).find("test.weight"), std::string::npos);
  EXPECT_NE(message_of([](TensorView& v) { v.rows = 5; }).find("test.weight"), std::string::npos);
  EXPECT_NE(message_of([](TensorView& v) { v.rows = int64_t{1} << 62; }).find("test.weight"), std::string::npos);
  EXPECT_NE(message_of([](TensorView& v) { v.cols = int64_t{1} << 40; }).find("test.weight"), std::string::npos);
  EXPECT_NE(message_of([](TensorView& v) { v.data = nullptr; }).find("test.weight"), std::string::npos);
}

}  // namespace
}  // namespace brio::weights
