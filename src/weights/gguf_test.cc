// Reading what the gguf Python package and our own writer wrote, and split files. Hostile files: gguf_hostile_test.cc.
#include "weights/gguf.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "base/temporary_folder.h"
#include "tensor/dequantize.h"
#include "weights/gguf_writer.h"

namespace brio::weights {
namespace {

using tensor::DType;

constexpr int kNumTypes = static_cast<int>(DType::kIQ4_XS) + 1;

std::vector<std::byte> random_bytes(int64_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(256));
  return bytes;
}

std::vector<float> dequantized(const TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.rows() * tensor.cols()));
  tensor::dequantize_row(tensor.dtype, tensor.data, static_cast<int64_t>(values.size()), values.data());
  return values;
}

TEST(Gguf, ReadsMetadataThatTheGgufPackageWrote) {
  auto opened = Gguf::open("tests/golden/written_by_gguf.gguf");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Metadata& m = opened->metadata();
  EXPECT_EQ(m.string("general.architecture").value(), "llama");
  EXPECT_EQ(m.u64("a.u8").value(), 200U);
  EXPECT_EQ(m.i64("a.i8").value(), -100);
  EXPECT_EQ(m.u64("a.u16").value(), 60000U);
  EXPECT_EQ(m.i64("a.i16").value(), -30000);
  EXPECT_EQ(m.u64("a.u32").value(), 4'000'000'000U);
  EXPECT_EQ(m.i64("a.i32").value(), -2'000'000'000);
  EXPECT_EQ(m.f64("a.f32").value(), static_cast<double>(0.1F));
  EXPECT_TRUE(m.boolean("a.bool").value());
  EXPECT_EQ(m.string("a.string").value(), "grüße");
  EXPECT_EQ(m.u64("a.u64").value(), UINT64_MAX);
  EXPECT_EQ(m.i64("a.i64").value(), INT64_MIN);
  EXPECT_EQ(m.f64("a.f64").value(), 0.1);
  EXPECT_EQ(m.strings("b.strings").value(), (std::vector<std::string_view>{"one", "", "drei"}));
  EXPECT_EQ(m.integers("b.integers").value(), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(m.floats("b.floats").value(), (std::vector<float>{0.5F, -0.25F}));
  EXPECT_EQ(m.integers("b.bools").value(), (std::vector<int64_t>{1, 0}));
}

TEST(Gguf, ReadsTensorsThatTheGgufPackageWrote) {
  auto opened = Gguf::open("tests/golden/written_by_gguf.gguf");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_EQ(opened->tensors().size(), 4U);
  const TensorInfo* matrix = opened->find("matrix");
  EXPECT_EQ(matrix->rows(), 2);
  EXPECT_EQ(matrix->cols(), 3);
  EXPECT_EQ(dequantized(*matrix), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dequantized(*opened->find("vector")), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(opened->find("cube")->dims, (std::array<int64_t, 4>{4, 3, 2, 1}));
  const std::vector<float> ramp = dequantized(*opened->find("blocks"));
  for (size_t i = 0; i < ramp.size(); ++i) {
    // Q8_0 rounds to 1/127 of the block's largest magnitude, at most 1, and its scale to a half.
    EXPECT_NEAR(ramp[i], -1.0 + 2.0 * static_cast<double>(i) / 63, 0.5 / 127 + 1.0 / 1024);
  }
}

TEST(Gguf, ReturnsWhatTheWriterWasGivenForEveryType) {
  for (const uint32_t version : {2U, 3U}) {
    for (const uint32_t alignment : {8U, 32U, 4096U}) {
      GgufWriter writer(version, alignment);
      for (int t = 0; t < kNumTypes; ++t) {
        const auto type = static_cast<DType>(t);
        const int64_t cols = tensor::traits(type).block_elements * 3;
        writer.tensor(tensor::name(type), type, {cols, 5}, random_bytes(tensor::row_bytes(type, cols) * 5, 7));
      }
      const std::string bytes = writer.bytes();
      auto part = GgufPart::parse(std::as_bytes(std::span(bytes)));
      ASSERT_TRUE(part.ok()) << part.error().message;
      EXPECT_EQ(part->version, version);
      ASSERT_EQ(part->tensors.size(), static_cast<size_t>(kNumTypes));
      for (int t = 0; t < kNumTypes; ++t) {
        const TensorInfo& tensor = part->tensors[static_cast<size_t>(t)];
        EXPECT_EQ(tensor.dtype, static_cast<DType>(t));
        EXPECT_EQ(tensor.offset % alignment, 0U);
        const std::vector<std::byte> expected = random_bytes(tensor.size_bytes, 7);
        EXPECT_EQ(std::memcmp(tensor.data, expected.data(), expected.size()), 0) << tensor.name;
      }
    }
  }
}

TEST(Metadata, NamesTheKeyAndTheTypeInErrors) {
  GgufWriter writer;
  writer.string("name", "llama");
  writer.i32("minus", -1);
  writer.f32("inf", INFINITY);
  writer.f32s("list", std::vector<float>{1.0F});
  const std::string bytes = writer.bytes();
  auto part = GgufPart::parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(part.ok());
  const Metadata& m = part->metadata;
  EXPECT_EQ(m.u64("name").error().message, "key 'name' holds string where an integer is needed (byte 24)");
  EXPECT_EQ(m.u64("absent").error().message, "key 'absent' is missing");
  EXPECT_NE(m.u64("minus").error().message.find("'minus' is negative: -1"), std::string::npos);
  EXPECT_NE(m.f64("inf").error().message.find("'inf' is not a finite number"), std::string::npos);
  EXPECT_NE(m.strings("list").error().message.find("'list' holds an array of f32"), std::string::npos);
  EXPECT_NE(m.string("list").error().message.find("'list' holds an array of f32"), std::string::npos);
  EXPECT_EQ(m.u64_or("absent", 7).value(), 7U);
  EXPECT_FALSE(m.u64_or("name", 7).ok()) << "a fallback is for absent keys, not for wrong ones";
}

class SplitGguf : public testing::Test {
 protected:
  std::filesystem::path part_path(int part, int of) {
    return folder_ / fmt::format("model-{:05}-of-{:05}.gguf", part, of);
  }
  // One part with one tensor of one element, whose value is the part's number.
  void write_part(int part, int of, uint16_t no, uint16_t count, int32_t tensors, const std::string& name) {
    GgufWriter writer;
    if (part == 1) writer.string("general.architecture", "llama");
    writer.u16("split.no", no);
    writer.u16("split.count", count);
    writer.i32("split.tensors.count", tensors);
    writer.tensor(name, {1}, std::vector<float>{static_cast<float>(part)});
    ASSERT_TRUE(writer.write(part_path(part, of)).ok());
  }
  void write_three() {
    for (int i = 0; i < 3; ++i) {
      write_part(i + 1, 3, static_cast<uint16_t>(i), 3, 3, fmt::format("t{}", i + 1));
    }
  }
  std::string open_error(int part, int of) {
    auto opened = Gguf::open(part_path(part, of));
    return opened.ok() ? "" : opened.error().message;
  }
  TemporaryFolder folder_;
};

TEST_F(SplitGguf, OpensFromAnyPart) {
  write_three();
  for (int part = 1; part <= 3; ++part) {
    auto opened = Gguf::open(part_path(part, 3));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->metadata().string("general.architecture").value(), "llama");
    EXPECT_EQ(opened->tensors().size(), 3U);
    for (int i = 1; i <= 3; ++i) {
      const TensorInfo* tensor = opened->find(fmt::format("t{}", i));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->file, i - 1);
      EXPECT_EQ(dequantized(*tensor)[0], static_cast<float>(i));
      opened->drop(*tensor, tensor->size_bytes);
      EXPECT_EQ(dequantized(*tensor)[0], static_cast<float>(i)) << "dropped pages must read the same again";
    }
  }
}

TEST_F(SplitGguf, NamesAMissingPart) {
  write_three();
  std::filesystem::remove(part_path(2, 3));
  EXPECT_NE(open_error(1, 3).find("model-00002-of-00003.gguf"), std::string::npos);
}

TEST_F(SplitGguf, RefusesPartsThatDoNotBelongTogether) {
  write_three();
  write_part(2, 3, 2, 3, 3, "t2");
  EXPECT_NE(open_error(1, 3).find("say part 3 of 3, the name part 2 of 3"), std::string::npos);
  write_part(2, 3, 1, 4, 3, "t2");
  EXPECT_NE(open_error(1, 3).find("say part 2 of 4, the name part 2 of 3"), std::string::npos);
  write_part(2, 3, 1, 3, 3, "t1");
  EXPECT_NE(open_error(1, 3).find("tensor 't1' is already in"), std::string::npos);
  write_three();
  write_part(1, 3, 0, 3, 4, "t1");
  EXPECT_NE(open_error(1, 3).find("'split.tensors.count' is 4"), std::string::npos);
}

TEST_F(SplitGguf, RefusesAPartUnderAnotherName) {
  write_three();
  std::filesystem::copy(part_path(1, 3), folder_ / "alone.gguf");
  auto opened = Gguf::open(folder_ / "alone.gguf");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("say part 1 of 3"), std::string::npos);
}

TEST(Gguf, SaysWhatIsWrongWithAPath) {
  TemporaryFolder folder;
  EXPECT_EQ(Gguf::open(folder / "absent.gguf").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Gguf::open(folder.path()).error().code, ErrorCode::kIo);
}

TEST(RealModels, OpenAndHoldFiniteValues) {
  const char* models = std::getenv("BRIO_MODELS");
  if (models == nullptr) GTEST_SKIP() << "BRIO_MODELS is not set";
  for (const char* name : {"smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"}) {
    const auto path = std::filesystem::path(models) / (std::string(name) + ".gguf");
    if (!std::filesystem::exists(path)) continue;
    auto opened = Gguf::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    for (const TensorInfo& tensor : opened->tensors()) {
      std::vector<float> row(static_cast<size_t>(tensor.cols()));
      const std::byte* last = tensor.data + tensor.size_bytes - tensor::row_bytes(tensor.dtype, tensor.cols());
      for (const std::byte* at : {tensor.data, last}) {
        tensor::dequantize_row(tensor.dtype, at, tensor.cols(), row.data());
        for (const float value : row) ASSERT_TRUE(std::isfinite(value)) << tensor.name;
      }
    }
  }
}

}  // namespace
}  // namespace brio::weights
