// Reading of tests/golden/tokenizer, for tests only: generated strings, small vocabularies, and one CRC-32 per 8
// strings of the reference's ids (tools/tokenizer_oracle.py writes them).
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace brio::tokenizer::golden {

namespace json = boost::json;
inline constexpr size_t kGroup = 8;  // strings a digest, as in the oracle

inline json::value read_json(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return json::parse(text.str());
}

inline std::vector<std::string> read_texts(const std::filesystem::path& path) {
  std::vector<std::string> out;
  const json::value file = read_json(path);
  for (const json::value& v : file.as_array()) {
    if (v.is_string()) {
      out.emplace_back(v.as_string());
      continue;
    }
    const std::string hex(v.at("hex").as_string());
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    out.push_back(bytes);
  }
  return out;
}

inline TokenizerSpec read_spec(const json::object& file, std::string_view pre) {
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

inline uint32_t crc32(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);  // the reflected polynomial of zlib
  }
  return ~crc;
}

inline void append_int32(std::string& out, int32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(static_cast<uint32_t>(value) >> shift));
}

// Encodes every text and compares the digests; returns one line per group of texts that differs, and errors.
inline std::vector<std::string> differences(const std::vector<std::string>& texts, std::string_view digests,
                                            const std::function<Result<std::vector<int32_t>>(size_t)>& encode) {
  std::vector<std::string> out;
  std::stringstream expected{std::string(digests)};
  for (size_t begin = 0; begin < texts.size(); begin += kGroup) {
    std::string packed;
    const size_t end = std::min(begin + kGroup, texts.size());
    for (size_t i = begin; i < end; ++i) {
      const auto ids = encode(i);
      if (!ids.ok()) {
        out.push_back(fmt::format("string {}: {}", i, ids.error().message));
        continue;
      }
      append_int32(packed, static_cast<int32_t>(ids->size()));
      for (int32_t id : *ids) append_int32(packed, id);
    }
    std::string want;
    expected >> want;
    if (fmt::format("{:08x}", crc32(packed)) != want) out.push_back(fmt::format("strings {} to {}", begin, end - 1));
  }
  return out;
}

}  // namespace brio::tokenizer::golden
