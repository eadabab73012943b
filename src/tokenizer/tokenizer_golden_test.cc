// Ids equal those of the `tokenizers` and `sentencepiece` packages on 2,000 generated strings per vocabulary and per
// pretokenizer name. The files come from tools/tokenizer_oracle.py: vocabularies of about 1,000 tokens whose merges cross
// words, so that a wrong split shows, and one CRC-32 per 8 strings. BRIO_TOKENIZER_GOLDENS names a folder of more such files
// (tools/tokenizer_oracle.py dump), for vocabularies too large to commit.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tokenizer/tokenizer.h"

namespace brio::tokenizer {
namespace {

namespace json = boost::json;
constexpr size_t kGroup = 8;  // strings a digest, as in the oracle

json::value read_json(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return json::parse(text.str());
}

std::vector<std::string> read_texts(const std::filesystem::path& path) {
  std::vector<std::string> out;
  const json::value file = read_json(path);
  for (const json::value& v : file.as_array()) {
    if (v.is_string()) {
      out.emplace_back(v.as_string());
      continue;
    }
    const std::string hex(v.at("hex").as_string());
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    out.push_back(bytes);
  }
  return out;
}

TokenizerSpec read_spec(const json::object& file, std::string_view pre) {
  TokenizerSpec spec;
  spec.model = file.at("model").as_string();
  spec.pre = pre;
  for (const json::value& v : file.at("tokens").as_array()) spec.tokens.emplace_back(v.as_string());
  if (const auto* merges = file.if_contains("merges"))
    for (const json::value& v : merges->as_array()) spec.merges.emplace_back(v.as_string());
  if (const auto* scores = file.if_contains("scores"))
    for (const json::value& v : scores->as_array()) spec.scores.push_back(v.to_number<float>());
  if (const auto* types = file.if_contains("types")) {
    for (const json::value& v : types->as_array()) spec.types.push_back(static_cast<TokenType>(v.to_number<int>()));
    spec.types.resize(spec.tokens.size(), TokenType::kNormal);
  }
  if (const auto* unk = file.if_contains("unk")) spec.unk = unk->to_number<int32_t>();
  if (const auto* prefix = file.if_contains("add_space_prefix")) spec.add_space_prefix = prefix->as_bool();
  if (const auto* lowercase = file.if_contains("lowercase")) spec.lowercase = lowercase->as_bool();
  return spec;
}

uint32_t crc32(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);  // the reflected polynomial of zlib
  }
  return ~crc;
}

void append_int32(std::string& out, int32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(static_cast<uint32_t>(value) >> shift));
}

std::string join(const std::vector<int32_t>& ids) { return fmt::format("{}", fmt::join(ids, " ")); }

// Where the file has the ids themselves, names the strings that differ.
void explain(const json::object& file, const std::vector<std::string>& texts, size_t index, const std::vector<int32_t>& got) {
  const auto* cases = file.if_contains("cases");
  if (cases == nullptr) return;
  const auto want = json::value_to<std::vector<int32_t>>(cases->at(index));
  EXPECT_EQ(join(got), join(want)) << "string " << index << ": " << json::serialize(json::value(texts[index]));
}

void check_file(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename().string());
  const std::vector<std::string> texts = read_texts(path.parent_path() / "texts.json");
  const json::value file = read_json(path);
  for (const auto& [pre, digests] : file.at("pre").as_object()) {
    SCOPED_TRACE(std::string(pre));
    auto tokenizer = Tokenizer::create(read_spec(file.as_object(), pre));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    std::stringstream expected{std::string(digests.as_string())};
    for (size_t begin = 0; begin < texts.size(); begin += kGroup) {
      std::string packed;
      for (size_t i = begin; i < std::min(begin + kGroup, texts.size()); ++i) {
        auto ids = (*tokenizer)->encode(texts[i], Trust::kUntrusted, AddSpecial::kNo);
        ASSERT_TRUE(ids.ok()) << ids.error().message;
        append_int32(packed, static_cast<int32_t>(ids->size()));
        for (int32_t id : *ids) append_int32(packed, id);
        explain(file.as_object(), texts, i, *ids);
      }
      std::string want;
      expected >> want;
      EXPECT_EQ(fmt::format("{:08x}", crc32(packed)), want) << "strings " << begin << " to " << begin + kGroup - 1;
    }
  }
}

TEST(TokenizerGolden, IdsEqualTheReferencePackages) {
  int files = 0;
  std::vector<std::filesystem::path> folders = {"tests/golden/tokenizer"};
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

}  // namespace
}  // namespace brio::tokenizer
