// The vocabularies of real models, where BRIO_MODELS has the files: ids equal those of the `tokenizers` package (byte-level
// BPE) or llama.cpp (SentencePiece) on 2,000 generated strings. Digests by tools/tokenizer_oracle.py models.
#include "server/vocabulary.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tokenizer/golden_cases.h"

namespace brio::server {
namespace {

class VocabularyOfModel : public testing::TestWithParam<const char*> {};

std::string without(std::string text, std::string_view part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

TEST_P(VocabularyOfModel, IdsEqualTheReference) {
  const char* folder = std::getenv("BRIO_MODELS");
  const std::string name = GetParam();
  const std::filesystem::path path = std::filesystem::path(folder == nullptr ? "" : folder) / (name + ".gguf");
  if (folder == nullptr || !std::filesystem::exists(path)) GTEST_SKIP() << "no " << name << ".gguf in BRIO_MODELS";
  auto checkpoint = weights::Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  auto spec = read_vocabulary(*checkpoint);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  auto made = tokenizer::Tokenizer::create(std::move(*spec));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const tokenizer::Tokenizer& tokenizer = **made;

  const std::filesystem::path goldens = "tests/golden/tokenizer";
  std::vector<std::string> texts = tokenizer::golden::read_texts(goldens / "texts.json");
  // llama.cpp takes gemma's HTML tag </s> for the end of the text; brio takes it for what the file says.
  for (std::string& text : texts) text = without(text, "</s>");
  std::ifstream in(goldens / "models" / (name + ".txt"));
  std::stringstream digests;
  digests << in.rdbuf();
  const auto differences = tokenizer::golden::differences(texts, digests.str(), [&](size_t i) {
    return tokenizer.encode(texts[i], tokenizer::Trust::kUntrusted, tokenizer::AddSpecial::kNo);
  });
  for (const std::string& difference : differences) ADD_FAILURE() << difference;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, VocabularyOfModel,
                         testing::Values("smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"));

}  // namespace
}  // namespace brio::server
