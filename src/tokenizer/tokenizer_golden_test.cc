// Ids equal those of the `tokenizers` and `sentencepiece` packages on 2,000 generated strings per vocabulary and per
// pretokenizer name. The files come from tools/tokenizer_oracle.py: vocabularies of about 1,000 tokens whose merges
// cross words, so that a wrong split shows. BRIO_TOKENIZER_GOLDENS names a folder of more such files
// (tools/tokenizer_oracle.py dump), for vocabularies too large to commit; those hold the ids themselves, so that a
// difference is named.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tokenizer/golden_cases.h"

namespace brio::tokenizer {
namespace {

namespace json = boost::json;
const std::filesystem::path kFolder = "tests/golden/tokenizer";

std::string join(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

void expect_equal(const std::vector<std::string>& texts, std::string_view digests,
                  const std::function<Result<std::vector<int32_t>>(size_t)>& encode) {
  for (const std::string& difference : golden::differences(texts, digests, encode)) ADD_FAILURE() << difference;
}

// Where the file has the ids themselves, names the string that differs.
void explain(const json::object& file, const std::vector<std::string>& texts, size_t index,
             const std::vector<int32_t>& got) {
  const auto* cases = file.if_contains("cases");
  if (cases == nullptr) return;
  const auto want = json::value_to<std::vector<int32_t>>(cases->at(index));
  EXPECT_EQ(join(got), join(want)) << "string " << index << ": " << json::serialize(json::value(texts[index]));
}

void check_file(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename().string());
  const std::vector<std::string> texts = golden::read_texts(path.parent_path() / "texts.json");
  const json::value file = golden::read_json(path);
  for (const auto& [pre, digests] : file.at("pre").as_object()) {
    SCOPED_TRACE(std::string(pre));
    auto tokenizer = Tokenizer::create(golden::read_spec(file.as_object(), pre));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    expect_equal(texts, digests.as_string(), [&](size_t i) {
      auto ids = (*tokenizer)->encode(texts[i], Trust::kUntrusted, AddSpecial::kNo);
      if (ids.ok()) explain(file.as_object(), texts, i, *ids);
      return ids;
    });
  }
}

TEST(TokenizerGolden, IdsEqualTheReferencePackages) {
  int files = 0;
  std::vector<std::filesystem::path> folders = {kFolder};
  if (const char* more = std::getenv("BRIO_TOKENIZER_GOLDENS")) folders.emplace_back(more);
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json" || entry.path().filename() == "texts.json") continue;
      check_file(entry.path());
      ++files;
    }
  }
  EXPECT_GE(files, 6);
}

// Whole tokenizer.json files, special tokens recognised and added.
TEST(TokenizerGolden, TokenizerJsonEqualsThePackageThatWroteIt) {
  const std::vector<std::string> texts = golden::read_texts(kFolder / "texts.json");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / "json")) {
    SCOPED_TRACE(entry.path().filename().string());
    const json::value file = golden::read_json(entry.path());
    auto spec = spec_from_tokenizer_json(json::serialize(file.at("tokenizer")), "");
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    auto tokenizer = Tokenizer::create(std::move(*spec));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    expect_equal(texts, file.at("digests").as_string(),
                 [&](size_t i) { return (*tokenizer)->encode(texts[i], Trust::kTrusted, AddSpecial::kYes); });
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace brio::tokenizer
