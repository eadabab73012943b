// Hostile GGUF files: each must give an error that names the tensor or key and the byte offset.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "weights/gguf.h"
#include "weights/gguf_writer.h"

namespace brio::weights {
namespace {

using tensor::DType;

template <typename T>
std::string encoded(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// A small sound file; the byte offsets of its fields follow from the format.
std::string sound_file() {
  GgufWriter writer;
  writer.string("general.architecture", "llama");  // key at 24, type at 52, text at 64
  writer.u32("llama.block_count", 2);
  writer.strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "bc"});
  const std::vector<std::byte> blocks(36);
  writer.tensor("first", DType::kQ4_0, {64}, blocks);
  writer.tensor("second", {4, 2}, std::vector<float>(8, 1.0F));
  return writer.bytes();
}

std::string parse_error(const std::string& bytes) {
  auto part = GgufPart::parse(std::as_bytes(std::span(bytes)));
  return part.ok() ? "" : part.error().message;
}

template <typename T>
std::string patched(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
  return bytes;
}

// Position just behind the first occurrence of `text`.
size_t behind(const std::string& bytes, const std::string& text) {
  return bytes.find(text) + text.size();
}

struct Attack {
  const char* name;
  std::function<std::string()> make;
  std::vector<std::string> expected;
};

std::vector<Attack> attacks() {
  const std::string sound = sound_file();
  const size_t first = behind(sound, "first");    // n_dims u32, dim u64, type u32, offset u64
  const size_t second = behind(sound, "second");  // n_dims u32, dims 2 u64, type u32, offset u64
  const size_t tokens = behind(sound, "tokenizer.ggml.tokens");
  const std::string tokens_count_at = std::to_string(tokens + 16);
  return {
      {"magic", [=] { return patched(sound, 0, 'X'); }, {"not a GGUF file"}},
      {"version 1", [=] { return patched<uint32_t>(sound, 4, 1); }, {"GGUF version 1 (byte 4)"}},
      {"big-endian", [=] { return patched<uint32_t>(sound, 4, 0x03000000); }, {"big-endian", "byte 4"}},
      {"too many tensors", [=] { return patched<uint64_t>(sound, 8, 1ULL << 60); }, {"1152921504606846976 tensors"}},
      {"too many keys", [=] { return patched<uint64_t>(sound, 16, UINT64_MAX); }, {"metadata keys", "byte 24"}},
      {"key length", [=] { return patched<uint64_t>(sound, 24, UINT64_MAX - 3); }, {"metadata key at byte 32"}},
      {"empty key", [=] { return patched<uint64_t>(sound, 24, 0); }, {"key of 0 bytes at byte 24"}},
      {"value type",
       [=] { return patched<uint32_t>(sound, 52, 13); },
       {"'general.architecture'", "type 13", "byte 52"}},
      {"text length", [=] { return patched<uint64_t>(sound, 56, 1ULL << 40); }, {"'general.architecture'", "byte 64"}},
      {"array count",
       [=] { return patched<uint64_t>(sound, tokens + 8, UINT64_MAX); },
       {"'tokenizer.ggml.tokens'", "byte"}},
      {"number array count",
       [=] {
         const std::string huge = patched<uint32_t>(sound, tokens + 4, static_cast<uint32_t>(ValueType::kF64));
         return patched<uint64_t>(huge, tokens + 8, (1ULL << 61) + 1);
       },
       {"'tokenizer.ggml.tokens'", "do not fit", "byte " + tokens_count_at}},
      {"duplicate key",
       [] {
         GgufWriter writer;
         writer.u32("a", 1);
         writer.u32("a", 2);
         return writer.bytes();
       },
       {"key 'a' appears twice", "byte 41"}},
      {"nested arrays",
       [] {
         std::string nested;
         for (int i = 0; i < 1000; ++i)
           nested += encoded(static_cast<uint32_t>(ValueType::kArray)) + encoded<uint64_t>(1);
         GgufWriter writer;
         writer.raw("deep", static_cast<uint32_t>(ValueType::kArray), nested);
         return writer.bytes();
       },
       {"key 'deep'", "nest deeper than 4", "byte"}},
      {"alignment 0",
       [] {
         GgufWriter writer;
         writer.u32("general.alignment", 0);
         return writer.bytes();
       },
       {"'general.alignment' is 0", "byte 24"}},
      {"alignment of a gigabyte",
       [] {
         GgufWriter writer;
         writer.u32("general.alignment", 1 << 30);
         return writer.bytes();
       },
       {"'general.alignment' is 1073741824"}},
      {"alignment as text",
       [] {
         GgufWriter writer;
         writer.string("general.alignment", "32");
         return writer.bytes();
       },
       {"'general.alignment' holds string"}},
      {"tensor name length",
       [=] { return patched<uint64_t>(sound, first - 13, 1ULL << 50); },
       {"name of tensor 0", "byte"}},
      {"no dimensions",
       [=] { return patched<uint32_t>(sound, first, 0); },
       {"'first'", "0 dimensions", std::to_string(first)}},
      {"five dimensions", [=] { return patched<uint32_t>(sound, first, 5); }, {"'first'", "5 dimensions"}},
      {"dimension 0",
       [=] { return patched<uint64_t>(sound, first + 4, 0); },
       {"'first'", "dimension 0 is 0", std::to_string(first + 4)}},
      {"negative dimension", [=] { return patched<int64_t>(sound, first + 4, -32); }, {"'first'", "out of range"}},
      {"product overflows",
       [=] {
         const std::string half = patched<uint64_t>(sound, second + 4, 1ULL << 32);
         return patched<uint64_t>(half, second + 12, 1ULL << 32);
       },
       {"'second'", "out of range", std::to_string(second + 12)}},
      {"broken blocks",
       [=] { return patched<uint64_t>(sound, first + 4, 63); },
       {"'first'", "63", "Q4_0 blocks of 32"}},
      {"unknown type",
       [=] { return patched<uint32_t>(sound, first + 12, 77); },
       {"'first'", "unknown type number 77", std::to_string(first + 12)}},
      {"foreign type", [=] { return patched<uint32_t>(sound, first + 12, 16); }, {"'first'", "IQ2_XXS"}},
      {"unaligned offset",
       [=] { return patched<uint64_t>(sound, second + 24, 65); },
       {"'second'", "offset 65", "multiple of 32"}},
      {"offset outside",
       [=] { return patched<uint64_t>(sound, second + 24, 1ULL << 40); },
       {"'second'", "past the end of the file"}},
      {"offset wraps",
       [=] { return patched<uint64_t>(sound, second + 24, UINT64_MAX - 31); },
       {"'second'", "past the end of the file"}},
      {"overlap",
       [=] { return patched<uint64_t>(sound, second + 24, 32); },
       {"'first'", "'second'", "overlap at byte"}},
      {"duplicate tensor",
       [] {
         GgufWriter writer;
         writer.tensor("t", {1}, std::vector<float>{1});
         writer.tensor("t", {1}, std::vector<float>{1});
         return writer.bytes();
       },
       {"tensor 't' appears twice", "byte"}},
  };
}

TEST(HostileGguf, TheFileThatAttacksStartFromIsSound) {
  EXPECT_EQ(parse_error(sound_file()), "");
}

TEST(HostileGguf, NamesTheCulpritAndTheOffset) {
  for (const Attack& attack : attacks()) {
    const std::string message = parse_error(attack.make());
    EXPECT_NE(message, "") << attack.name << " was accepted";
    for (const std::string& part : attack.expected) {
      EXPECT_NE(message.find(part), std::string::npos) << attack.name << ": '" << part << "' not in: " << message;
    }
  }
}

TEST(HostileGguf, RefusesEveryTruncation) {
  const std::string sound = sound_file();  // its last tensor fills the file to the end
  for (size_t length = 0; length < sound.size(); ++length) {
    ASSERT_NE(parse_error(sound.substr(0, length)), "") << length << " of " << sound.size() << " bytes";
  }
}

TEST(HostileGguf, WhateverItAcceptsIsSafeToRead) {
  const std::string sound = sound_file();
  Rng rng(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = sound;
    for (uint32_t i = 0; i <= rng.below(3); ++i) {
      constexpr char kNasty[] = {0, 1, 2, 4, 8, 9, 16, 32, 64, 127, -128, -1};
      bytes[rng.below(static_cast<uint32_t>(bytes.size()))] = kNasty[rng.below(sizeof(kNasty))];
    }
    auto part = GgufPart::parse(std::as_bytes(std::span(bytes)));
    if (!part.ok()) {
      ASSERT_FALSE(part.error().message.empty());
      continue;
    }
    ++accepted;
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    for (const TensorInfo& tensor : part->tensors) {
      ASSERT_GE(tensor.data, begin);
      ASSERT_LE(tensor.data + tensor.size_bytes, begin + bytes.size());
      ASSERT_EQ(tensor.size_bytes, tensor::row_bytes(tensor.dtype, tensor.cols()) * tensor.rows());
    }
    for (const MetadataEntry& entry : part->metadata.entries()) {
      ASSERT_LE(entry.bytes.data() + entry.bytes.size(), begin + bytes.size());
      (void)part->metadata.strings(entry.key);
      (void)part->metadata.integers(entry.key);
      (void)part->metadata.f64(entry.key);
      (void)Metadata::describe(entry);
    }
  }
  EXPECT_GT(accepted, 100) << "mutations should also hit bytes that do not matter";
}

}  // namespace
}  // namespace brio::weights
