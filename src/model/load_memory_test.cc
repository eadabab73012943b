// What loading a model takes at most: its packed weights, the pages of its file, and everything else. On the models of
// BRIO_MODELS.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/sanitizers.h"
#include "base/testing/peak_memory.h"
#include "model/model.h"
#include "ops/cpu_ops.h"

namespace brio::model {
namespace {

constexpr int64_t kRestBytes = 64 << 20;  // everything that is neither weights nor file

class LoadMemoryTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("BRIO_MODELS");
    path_ = std::filesystem::path(folder != nullptr ? folder : "") / GetParam();
    path_ += ".gguf";
    if (folder == nullptr || !std::filesystem::exists(path_)) GTEST_SKIP() << "no " << GetParam() << " in BRIO_MODELS";
    if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not ours";
  }
  std::filesystem::path path_;
};

TEST_P(LoadMemoryTest, PeakIsAQuarterMoreThanTheFile) {
  const auto checkpoint = weights::Checkpoint::open(path_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  ThreadPool pool(2);
  std::shared_ptr<ops::OpSet> ops = ops::CpuOps::create(pool, choose_isa().value(), tensor::Numerics::kDefault).value();
  const testing::PeakMemory peak;
  if (!peak.is_measured()) GTEST_SKIP() << "the system does not tell";
  BuildOptions options;
  options.limits.max_rows = 64;
  const auto built = build_model(*checkpoint, std::move(ops), pool, options);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const double grown = static_cast<double>(peak.grown_bytes());
  const auto file = static_cast<double>(checkpoint->file_bytes());
  std::printf("%s: file %.1f MB, packed %.1f MB (%.4f), peak while loading %.1f MB (%.3f)\n", GetParam(), file / 1e6,
              static_cast<double>((*built)->weight_bytes()) / 1e6, static_cast<double>((*built)->weight_bytes()) / file,
              grown / 1e6, grown / file);
  EXPECT_LE(grown, 1.25 * file + kRestBytes);
}

INSTANTIATE_TEST_SUITE_P(Models, LoadMemoryTest,
                         ::testing::Values("smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace brio::model
