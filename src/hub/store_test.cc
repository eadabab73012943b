// Names, places and locks of the store; the catalogue; progress.
#include "base/sha256.h"
#include "hub/store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/temporary_folder.h"
#include "hub/catalogue.h"
#include "hub/progress.h"

namespace brio::hub {
namespace {

class StoreTest : public testing::Test {
 protected:
  void write(const std::filesystem::path& path, std::string_view text = "x") { std::ofstream(path) << text; }
  TemporaryFolder folder_;
  Store store_{folder_ / "models"};
};

TEST_F(StoreTest, ListsAndRemoves) {
  EXPECT_TRUE(store_.list().empty()) << "a store that does not exist yet is empty";
  EXPECT_EQ(store_.remove("a").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(store_.create_folder().ok());
  write(store_.path("b"), "12345");
  write(store_.path("a"));
  write(store_.partial_path("a"));
  std::filesystem::create_directory(store_.work_folder("a"));
  write(store_.work_folder("a") / "x.whl");
  write(store_.folder() / "notes.txt");
  const std::vector<StoredModel> models = store_.list();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[1].size_bytes, 5);
  ASSERT_TRUE(store_.remove("a").ok());
  EXPECT_FALSE(std::filesystem::exists(store_.partial_path("a")));
  EXPECT_FALSE(std::filesystem::exists(store_.work_folder("a")));
  EXPECT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.remove("a").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, LetsOneWorkOnAName) {
  ASSERT_TRUE(store_.create_folder().ok());
  {
    auto first = store_.lock("a");
    ASSERT_TRUE(first.ok());
    const auto second = store_.lock("a");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(store_.remove("a").ok());
    EXPECT_TRUE(store_.lock("b").ok());
  }
  EXPECT_TRUE(store_.lock("a").ok());
}

TEST_F(StoreTest, KeepsNamesInside) {
  for (const char* bad : {"", ".", "..", "../a", "a/b", ".hidden", "a b", "a\n", "a\\b"}) {
    EXPECT_FALSE(check_name(bad).ok()) << bad;
    EXPECT_FALSE(store_.remove(bad).ok()) << bad;
    EXPECT_FALSE(store_.has(bad)) << bad;
  }
  EXPECT_FALSE(check_name(std::string(201, 'a')).ok());
  EXPECT_TRUE(check_name("Model-1.5_b.Q4_K_M-00001-of-00002").ok());
}

TEST_F(StoreTest, ResolvesPathsThenNames) {
  ASSERT_TRUE(store_.create_folder().ok());
  write(folder_ / "file.gguf");
  EXPECT_EQ(resolve((folder_ / "file.gguf").string(), store_).value(), folder_ / "file.gguf");
  EXPECT_EQ(resolve(folder_.path().string(), store_).value(), folder_.path()) << "a safetensors folder";
  const auto absent = resolve("smollm2-135m", store_);
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().hint.find("brio pull smollm2-135m"), std::string::npos);
  write(store_.path("smollm2-135m"));
  EXPECT_EQ(resolve("smollm2-135m", store_).value(), store_.path("smollm2-135m"));
  write(store_.path("mine"));
  EXPECT_EQ(resolve("mine", store_).value(), store_.path("mine"));
  const auto unknown = resolve("gpt-17", store_);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().hint.find("qwen2.5-coder-0.5b"), std::string::npos);
  EXPECT_FALSE(resolve("", store_).ok());
}

TEST_F(StoreTest, FollowsBrioHome) {
  const char* before = std::getenv("BRIO_HOME");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("BRIO_HOME", "/somewhere", 1);
  EXPECT_EQ(home(), "/somewhere");
  ::unsetenv("BRIO_HOME");
  EXPECT_TRUE(home().string().ends_with("/.cache/brio"));
  if (before != nullptr) ::setenv("BRIO_HOME", saved.c_str(), 1);
}

TEST(Catalogue, HasPartsThatAddUp) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second && check_name(entry.name).ok()) << entry.name;
    EXPECT_TRUE(is_sha256(entry.sha256)) << entry.name;
    EXPECT_FALSE(entry.licence.empty());
    for (const Source& source : entry.sources) {
      int64_t total = 0;
      for (const PackagePart& part : source.packages) total += part.size_bytes;
      EXPECT_EQ(total, source.packages.empty() ? 0 : entry.size_bytes) << entry.name;
    }
    EXPECT_EQ(find_entry(entry.name), &entry);
  }
  EXPECT_EQ(names.size(), 4U);
  EXPECT_EQ(find_entry("nothing"), nullptr);
}

TEST(Progress, TellsRateAndTimeLeft) {
  VirtualClock clock;
  std::vector<Progress> seen;
  ProgressMeter meter([&](const Progress& p) { return seen.push_back(p), true; }, "downloading", 1000, 11000, clock);
  for (int i = 1; i <= 100; ++i) {
    clock.advance(std::chrono::milliseconds(100));
    meter.update(1000 + i * 100);
  }
  ASSERT_GE(seen.size(), 50U);
  EXPECT_LE(seen.size(), 52U) << "five reports a second";
  EXPECT_EQ(seen.back().bytes, 11000);
  EXPECT_DOUBLE_EQ(*seen.back().seconds_left, 0);
  const Progress& half = seen[25];
  EXPECT_NEAR(half.bytes_per_second, 1000, 1) << "resumed bytes are not part of the rate";
  EXPECT_NEAR(*half.seconds_left, static_cast<double>(11000 - half.bytes) / 1000, 0.1);
}

TEST(Progress, RateFollowsTheLastSeconds) {
  VirtualClock clock;
  double rate = 0;
  ProgressMeter meter([&](const Progress& p) { return rate = p.bytes_per_second, true; }, "downloading", 0, 0, clock);
  int64_t bytes = 0;
  for (int i = 0; i < 300; ++i) {
    clock.advance(std::chrono::milliseconds(200));
    bytes += i < 150 ? 2000 : 20;
    meter.update(bytes);
  }
  EXPECT_NEAR(rate, 100, 1);
}

}  // namespace
}  // namespace brio::hub
