// Round trips, sharded folders and hostile safetensors files.
#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/temporary_folder.h"
#include "weights/safetensors_writer.h"

namespace brio::weights {
namespace {

using tensor::DType;

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

std::string parse_error(const std::string& bytes) {
  auto parsed = parse_safetensors(std::as_bytes(std::span(bytes)));
  return parsed.ok() ? "" : parsed.error().message;
}

std::string with_header(std::string_view header, size_t data_bytes = 16) {
  return SafetensorsWriter::assemble(header, std::string(data_bytes, '\1'));
}

TEST(Safetensors, ReadsAFileFromItsDefinition) {
  // Spelled out byte by byte after the format's description, not by our writer.
  const std::string header =
      R"( {"__metadata__":{"format":"pt"}, "b":{"shape":[2,2],"data_offsets":[4,12],"dtype":"BF16"},)"
      R"("a\u00e9\n":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )";
  const std::string data(
      "\x00\x00\x80\x3f"
      "\x80\x3f\x00\x40\x40\x40\x80\x40",
      12);
  const std::string bytes = SafetensorsWriter::assemble(header, data);
  auto parsed = parse_safetensors(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 2U);
  EXPECT_EQ((*parsed)[0].name, "b");
  EXPECT_EQ((*parsed)[0].dtype, DType::kBF16);
  EXPECT_EQ((*parsed)[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((*parsed)[0].data - reinterpret_cast<const std::byte*>(bytes.data()),
            static_cast<int64_t>(8 + header.size() + 4));
  EXPECT_EQ((*parsed)[1].name, "a\xC3\xA9\n");
  EXPECT_EQ((*parsed)[1].shape, std::vector<int64_t>{1});
  float one = 0;
  std::memcpy(&one, (*parsed)[1].data, sizeof(one));
  EXPECT_EQ(one, 1.0F);
}

TEST(Safetensors, ReturnsWhatTheWriterWasGiven) {
  TemporaryFolder folder;
  SafetensorsWriter writer;
  const std::vector<uint16_t> halves = {1, 2, 3, 4, 5, 6};
  writer.tensor("half", DType::kF16, {3, 2}, std::as_bytes(std::span(halves)));
  writer.tensor("single", {4}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(writer.write(folder / "model.safetensors").ok());
  for (const auto& path : {folder.path(), folder / "model.safetensors"}) {
    auto opened = Safetensors::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const SafetensorsTensor* half = opened->find("half");
    ASSERT_NE(half, nullptr);
    EXPECT_EQ(half->dtype, DType::kF16);
    EXPECT_EQ(half->shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(std::memcmp(half->data, halves.data(), 12), 0);
    EXPECT_EQ(opened->find("absent"), nullptr);
  }
}

class ShardedSafetensors : public testing::Test {
 protected:
  void SetUp() override {
    write_shard("one.safetensors", "a");
    write_shard("two.safetensors", "b");
    write_index(R"({"metadata":{"total_size":8},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  }
  void write_shard(const std::string& file, const std::string& tensor) {
    SafetensorsWriter writer;
    writer.tensor(tensor, {1}, std::vector<float>{static_cast<float>(tensor[0])});
    ASSERT_TRUE(writer.write(folder_ / file).ok());
  }
  void write_index(std::string_view text) { write_text(folder_ / "model.safetensors.index.json", text); }
  std::string open_error() {
    auto opened = Safetensors::open(folder_.path());
    return opened.ok() ? "" : opened.error().message;
  }
  TemporaryFolder folder_;
};

TEST_F(ShardedSafetensors, JoinsTheShards) {
  auto opened = Safetensors::open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  for (const std::string name : {"a", "b"}) {
    float value = 0;
    std::memcpy(&value, opened->find(name)->data, sizeof(value));
    EXPECT_EQ(value, static_cast<float>(name[0]));
  }
}

TEST_F(ShardedSafetensors, RefusesBrokenFolders) {
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})");
  EXPECT_NE(open_error().find("tensor 'b' is not in 'one.safetensors'"), std::string::npos);
  write_index(R"({"weight_map":{"a":"../one.safetensors"}})");
  EXPECT_NE(open_error().find("tensor 'a' in 'weight_map' names no file beside the index"), std::string::npos);
  write_index(R"({"weight_map":{"a":"three.safetensors"}})");
  EXPECT_NE(open_error().find("three.safetensors"), std::string::npos);
  write_index(R"({"weight_map":[]})");
  EXPECT_NE(open_error().find("'weight_map'"), std::string::npos);
  write_index(R"({"weight_map":{)");
  EXPECT_NE(open_error().find("not valid JSON at byte"), std::string::npos);
  write_index(std::string(100000, '['));
  EXPECT_NE(open_error().find("not valid JSON at byte"), std::string::npos);
  write_shard("two.safetensors", "a");
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  EXPECT_NE(open_error().find("tensor 'a' is already in"), std::string::npos);
}

TEST(HostileSafetensors, NamesTheCulpritAndTheOffset) {
  struct Attack {
    std::string bytes;
    std::vector<std::string> expected;
  };
  const std::string sound = R"({"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  ASSERT_EQ(parse_error(with_header(sound)), "");
  const std::vector<Attack> attacks = {
      {"", {"header length at byte 0"}},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), {"header of 9223372036854775807 bytes (byte 0)"}},
      {std::string("\x20\0\0\0\0\0\0\0{}", 10), {"the header at byte 8 needs 32 bytes, only 2"}},
      {with_header("[]"), {"byte 8 is 0x5b", "expected '{'"}},
      {with_header(sound + "x"), {"expected the end"}},
      {with_header(R"({"t")"), {"the header ends at byte 12 before ':'"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[2,2]}})"), {"'t'", "'data_offsets' is missing", "byte"}},
      {with_header(R"({"t":{"shape":[2,2],"data_offsets":[0,16]}})"), {"'t'", "'dtype' is missing"}},
      {with_header(R"({"t":{"dtype":"F32","data_offsets":[0,16]}})"), {"'t'", "'shape' is missing"}},
      {with_header(R"({"t":{"dtype":"F32","dtype":"F32"}})"),
       {"'t'", "'dtype' is unknown or appears twice", "byte 36"}},
      {with_header(R"({"t":{"extra":{}}})"), {"'t'", "'extra' is unknown"}},
      {with_header(R"({"t":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,16]}})"), {"'t'", "F8_E4M3", "byte 13"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[2,-2],"data_offsets":[0,16]}})"), {"'t'", "number without sign"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]}})"), {"'t'", "dimension 0"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
       {"'t'", "out of range"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,0]}})"),
       {"'t'", "beyond 2^63"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[04],"data_offsets":[0,16]}})"), {"'t'", "starts with 0"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})"),
       {"'t'", "more than 8"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[0,16,20]}})"), {"'t'", "more than 2"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})"), {"'t'", "[16, 0)"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}})"),
       {"'t'", "[0, 20) lie outside the 16 bytes"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})"),
       {"'t'", "asks for 12 bytes", "give 16"}},
      {with_header(sound, 20), {"4 bytes after byte", "belong to no tensor"}},
      {with_header(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"), {"'t' leaves a gap", "byte"}},
      {with_header(
           R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"u":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"),
       {"'u' overlaps another", "byte"}},
      {with_header(
           R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"),
       {"'t' appears twice", "byte"}},
      {with_header("{\"t\\ud800\":{}}"), {"low surrogate"}},
      {with_header("{\"t\\q\":{}}"), {"an escape"}},
      {with_header("{\"a\nb\":{}}"), {"control characters"}},
      {with_header("{\"\":{}}"), {"name of 0 bytes"}},
      {with_header("{\"__metadata__\":{\"a\":1}}"), {"expected '\"'"}},
  };
  for (const Attack& attack : attacks) {
    const std::string message = parse_error(attack.bytes);
    for (const std::string& part : attack.expected) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    }
  }
}

TEST(HostileSafetensors, RefusesEveryTruncation) {
  SafetensorsWriter writer;
  writer.tensor("a", {3}, std::vector<float>{1, 2, 3});
  writer.tensor("b", {2}, std::vector<float>{1, 2});
  const std::string sound = writer.bytes();
  ASSERT_EQ(parse_error(sound), "");
  for (size_t length = 0; length < sound.size(); ++length)
    EXPECT_NE(parse_error(sound.substr(0, length)), "") << length;
}

TEST(HostileSafetensors, WhateverItAcceptsIsSafeToRead) {
  SafetensorsWriter writer;
  writer.tensor("a", {3}, std::vector<float>{1, 2, 3});
  writer.tensor("b", DType::kBF16, {2, 2}, std::vector<std::byte>(8));
  const std::string sound = writer.bytes();
  Rng rng(5);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = sound;
    constexpr std::string_view kNasty = "{}[]\",:\\u0129-e. \x7f\xff";
    for (uint32_t i = 0; i <= rng.below(3); ++i) {
      bytes[rng.below(static_cast<uint32_t>(bytes.size()))] = kNasty[rng.below(kNasty.size())];
    }
    auto parsed = parse_safetensors(std::as_bytes(std::span(bytes)));
    if (!parsed.ok()) continue;
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    for (const SafetensorsTensor& tensor : *parsed) {
      ASSERT_GE(tensor.data, begin);
      ASSERT_LE(tensor.data + tensor.size_bytes, begin + bytes.size());
    }
  }
}

}  // namespace
}  // namespace brio::weights
