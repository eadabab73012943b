// Packed files: mapped they are what packing gives; stale, damaged, forged, half-written or foreign ones are refused.
#include "weights/packed_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/temporary_folder.h"
#include "weights/gguf_writer.h"
#include "weights/packer.h"

namespace brio::weights {
namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::Numerics;

struct Shape {
  std::string name;
  DType dtype;
  int64_t rows;
  int64_t cols;
};
// More than one chunk in all, tensors across chunk boundaries, rows that fill no panel.
const std::vector<Shape> kShapes = {{"token_embd.weight", DType::kQ4_K, 1000, 1024},
                                    {"blk.0.attn_q.weight", DType::kQ6_K, 37, 512},
                                    {"blk.0.attn_k.weight", DType::kQ8_0, 300, 4096},
                                    {"blk.0.ffn_up.weight", DType::kF32, 200, 2048},
                                    {"blk.0.ffn_down.weight", DType::kBF16, 16, 96}};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  chmod(path.c_str(), 0600);
}

class PackedCacheTest : public ::testing::Test {
 protected:
  void write_model(uint64_t seed) {
    GgufWriter out;
    out.string("general.architecture", "qwen2");
    Rng rng(seed);
    for (const Shape& shape : kShapes) {
      std::vector<std::byte> bytes(static_cast<size_t>(shape.rows * tensor::row_bytes(shape.dtype, shape.cols)));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
      out.tensor(shape.name, shape.dtype, {shape.cols, shape.rows}, bytes);
    }
    ASSERT_TRUE(out.write(model_).ok());
  }

  // A load: every tensor mapped or packed. `kept`: what came of writing the packed file; none if there was nothing to write.
  struct Load {
    std::vector<tensor::Weight> weights;
    int num_mapped = 0;
    fs::path path;
    std::optional<Error> refused;
    std::optional<Result<void>> kept;
  };
  Load load(bool keep = true) {
    Load out;
    const Checkpoint checkpoint = Checkpoint::open(model_).value();
    PackedCache cache(folder_, checkpoint, pool_);
    out.path = cache.path();
    out.refused = cache.refused();
    for (const Shape& shape : kShapes) {
      std::optional<tensor::Weight> weight = cache.find(shape.name, shape.dtype, shape.rows, shape.cols);
      if (!weight) {
        weight = pack(checkpoint.tensor(shape.name).value(), Numerics::kDefault, pool_).value();
        cache.add(shape.name, *weight);
      }
      out.weights.push_back(*weight);
    }
    out.num_mapped = cache.num_mapped();
    if (on_packed) on_packed();
    if (keep) {
      auto writer = cache.keep();
      if (!writer.ok()) out.kept = writer.error();
      if (writer.ok() && *writer != nullptr) out.kept = (*writer)->result();
    }
    return out;
  }
  static void expect_same(const Load& a, const Load& b) {
    for (size_t i = 0; i < kShapes.size(); ++i) {
      ASSERT_EQ(a.weights[i].size_bytes(), b.weights[i].size_bytes());
      EXPECT_EQ(std::memcmp(a.weights[i].panels(), b.weights[i].panels(), a.weights[i].size_bytes()), 0)
          << kShapes[i].name;
    }
  }
  // Packs and keeps, then returns the file.
  fs::path keep_one() {
    const Load first = load();
    EXPECT_TRUE(first.kept.has_value() && first.kept->ok());
    return first.path;
  }
  // The file is not believed, says why, and is replaced by one that is.
  void expect_refused_and_rebuilt(const std::string& word) {
    const Load refused = load();
    EXPECT_EQ(refused.num_mapped, 0);
    ASSERT_TRUE(refused.refused.has_value());
    EXPECT_NE(refused.refused->message.find(word), std::string::npos) << refused.refused->message;
    ASSERT_TRUE(refused.kept.has_value() && refused.kept->ok());
    EXPECT_EQ(load().num_mapped, static_cast<int>(kShapes.size()));
  }
  bool is_accepted(const std::string& file) {
    write_bytes(path_of_copy(), file);
    const Checkpoint checkpoint = Checkpoint::open(model_).value();
    return PackedFile::open(path_of_copy(), packed_key(checkpoint), pool_).ok();
  }
  fs::path path_of_copy() const { return root_ / "copy.packed"; }
  fs::path temporary() { return load(/*keep=*/false).path.string() + ".new"; }

  void SetUp() override { write_model(1); }

  TemporaryFolder root_;
  fs::path model_ = root_ / "model.gguf";
  fs::path folder_ = root_ / "cache" / "packed";
  ThreadPool pool_{2};
  std::function<void()> on_packed;
};

TEST_F(PackedCacheTest, MappedWeightsAreThePackedOnes) {
  const Load first = load();
  EXPECT_EQ(first.num_mapped, 0);
  EXPECT_FALSE(first.refused.has_value());
  ASSERT_TRUE(first.kept.has_value() && first.kept->ok());
  EXPECT_FALSE(fs::exists(first.path.string() + ".new"));
  struct stat info {};
  ASSERT_EQ(stat(first.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const Load second = load();
  EXPECT_EQ(second.num_mapped, static_cast<int>(kShapes.size()));
  EXPECT_FALSE(second.kept.has_value()) << "nothing to write";
  for (const tensor::Weight& weight : second.weights) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.panels()) % kPackedAlignment, 0U);
  }
  expect_same(first, second);
}

TEST_F(PackedCacheTest, MappedWeightsOutliveTheFile) {
  const fs::path path = keep_one();
  const Load mapped = load();
  fs::remove(path);
  expect_same(load(/*keep=*/false), mapped);
}

// Written in small pieces the system has only small pages for it: a copy takes the mapping's place.
TEST_F(PackedCacheTest, WhatHasSmallPagesIsCopied) {
  const Checkpoint checkpoint = Checkpoint::open(model_).value();
  PackedCache cache(folder_, checkpoint, pool_);
  const tensor::Weight weight = pack(checkpoint.tensor(kShapes[3].name).value(), Numerics::kDefault, pool_).value();
  constexpr int kCopies = 12;  // some 20 MB
  for (int i = 0; i < kCopies; ++i) cache.add("t" + std::to_string(i), weight);
  ASSERT_TRUE(cache.keep().value()->result().ok());
  const std::string file = bytes_of(cache.path());
  const int small = open(path_of_copy().c_str(), O_RDWR | O_CREAT, 0600);
  for (size_t at = 0; at < file.size(); at += 4096) {
    const size_t length = std::min<size_t>(4096, file.size() - at);
    ASSERT_EQ(pwrite(small, file.data() + at, length, static_cast<off_t>(at)), static_cast<ssize_t>(length));
  }
  close(small);
  const auto packed = PackedFile::open(path_of_copy(), packed_key(checkpoint), pool_);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_FALSE(packed->is_mapped());
  for (int i = 0; i < kCopies; ++i) {
    const auto panels = packed->find("t" + std::to_string(i), weight.source(), weight.rows(), weight.cols());
    ASSERT_NE(panels, nullptr);
    EXPECT_EQ(std::memcmp(panels.get(), weight.panels(), static_cast<size_t>(weight.size_bytes())), 0);
  }
}

TEST_F(PackedCacheTest, AnotherModelOfTheSameSizeAndTimeIsNoticed) {
  keep_one();
  const FileStamp before = FileStamp::of(model_).value();
  write_model(2);
  const timespec time{before.mtime_ns / 1'000'000'000, before.mtime_ns % 1'000'000'000};
  const timespec times[] = {time, time};
  ASSERT_EQ(utimensat(AT_FDCWD, model_.c_str(), times, 0), 0);
  const FileStamp after = FileStamp::of(model_).value();
  ASSERT_EQ(after.size_bytes, before.size_bytes);
  ASSERT_EQ(after.mtime_ns, before.mtime_ns);
  expect_refused_and_rebuilt("changed");
  expect_same(load(), load(/*keep=*/false));
}

TEST_F(PackedCacheTest, AFlippedBitAnywhereIsNoticed) {
  const std::string good = bytes_of(keep_one());
  ASSERT_TRUE(is_accepted(good));
  const uint64_t header_bytes = PackedHeader::parse(std::as_bytes(std::span(good)))->to_bytes().size();
  std::vector<size_t> places;
  for (size_t i = 0; i < header_bytes; ++i) places.push_back(i);
  for (size_t i = kChunkBytes; i < good.size(); i += 99'991) places.push_back(i);
  places.push_back(good.size() - 1);
  const PackedKey key = packed_key(Checkpoint::open(model_).value());
  const int file = open(path_of_copy().c_str(), O_RDWR);
  for (const size_t place : places) {
    const auto bad = static_cast<char>(good[place] ^ 0x10);
    ASSERT_EQ(pwrite(file, &bad, 1, static_cast<off_t>(place)), 1);
    EXPECT_FALSE(PackedFile::open(path_of_copy(), key, pool_).ok()) << "byte " << place;
    ASSERT_EQ(pwrite(file, &good[place], 1, static_cast<off_t>(place)), 1);
  }
  close(file);
}

TEST_F(PackedCacheTest, APartOfAFileIsRefused) {
  const std::string good = bytes_of(keep_one());
  for (size_t length = 0; length < good.size(); length += length < 2000 ? 7 : 999'999) {
    ASSERT_FALSE(is_accepted(good.substr(0, length))) << length << " bytes";
  }
  EXPECT_FALSE(is_accepted(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(is_accepted(good + '\0'));
}

TEST_F(PackedCacheTest, DamageIsSaidAndRepaired) {
  const fs::path path = keep_one();
  const std::string good = bytes_of(path);
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  write_bytes(path, bad);
  expect_refused_and_rebuilt("checksum");
  EXPECT_EQ(bytes_of(path), good);
  write_bytes(path, "");
  expect_refused_and_rebuilt("signature");
}

// Headers that lie, with a digest that is right.
TEST_F(PackedCacheTest, ForgedHeadersAreRefused) {
  const std::string good = bytes_of(keep_one());
  const PackedHeader header = PackedHeader::parse(std::as_bytes(std::span(good))).value();
  const auto forged = [&](const std::function<void(PackedHeader&)>& change) {
    PackedHeader lie = header;
    change(lie);
    std::string file = good;
    const std::string bytes = lie.to_bytes();
    file.replace(0, bytes.size(), bytes);
    return file;
  };
  ASSERT_TRUE(is_accepted(forged([](PackedHeader&) {})));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[1].offset += 64; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[1].offset = h.tensors[0].offset; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors.back().offset += kPackedAlignment; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors.back().offset = ~uint64_t{0xFFF}; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors.back().rows = int64_t{1} << 62; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors.back().rows = 17; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors.back().rows = -1; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[0].cols = 255; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[0].cols = int64_t{1} << 40; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[0].dtype = static_cast<DType>(200); })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.tensors[0].name = h.tensors[1].name; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.data_offset += kChunkBytes; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.data_offset = 0; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.data_bytes += kChunkBytes; })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.checksums.pop_back(); })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.checksums.push_back(0); })));
  EXPECT_FALSE(is_accepted(forged([](PackedHeader& h) { h.key[3] ^= 1; })));
  const auto patched = [&](size_t at, uint64_t number, size_t width) {
    std::string file = good;
    std::memcpy(file.data() + at, &number, width);
    set_header_digest(std::as_writable_bytes(std::span(file)));
    return file;
  };
  EXPECT_FALSE(is_accepted(patched(8, ~uint64_t{0}, 8))) << "the header's length";
  EXPECT_FALSE(is_accepted(patched(8, 40, 8)));
  EXPECT_FALSE(is_accepted(patched(32, 999, 4))) << "the layout version";
  EXPECT_FALSE(is_accepted(patched(36, 999, 4))) << "the numerics id";
  EXPECT_FALSE(is_accepted(patched(72, ~uint64_t{0}, 8))) << "the path's length";
  EXPECT_FALSE(is_accepted(patched(80 + header.source.size(), uint64_t{1} << 60, 8))) << "the number of tensors";
}

TEST_F(PackedCacheTest, WhatOthersMayHaveWrittenIsRefused) {
  const fs::path path = keep_one();
  chmod(path.c_str(), 0620);
  EXPECT_EQ(load(/*keep=*/false).num_mapped, 0);
  chmod(path.c_str(), 0600);
  EXPECT_EQ(load(/*keep=*/false).num_mapped, static_cast<int>(kShapes.size()));
  fs::rename(path, root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", path);
  EXPECT_EQ(load(/*keep=*/false).num_mapped, 0);
}

TEST_F(PackedCacheTest, AWriterThatDiedIsReplaced) {
  fs::create_directories(folder_);
  write_bytes(temporary(), std::string(5'000'000, 'x'));
  EXPECT_EQ(load(/*keep=*/false).num_mapped, 0);
  keep_one();
  EXPECT_EQ(load().num_mapped, static_cast<int>(kShapes.size()));
}

TEST_F(PackedCacheTest, ASecondWriterLeavesItToTheFirst) {
  fs::create_directories(folder_);
  const fs::path path = temporary();
  write_bytes(path, "begun");
  const int first = open(path.c_str(), O_RDWR);
  ASSERT_EQ(flock(first, LOCK_EX), 0);
  const Load second = load();
  ASSERT_TRUE(second.kept.has_value() && !second.kept->ok());
  EXPECT_EQ(second.kept->error().code, ErrorCode::kUnavailable) << second.kept->error().message;
  EXPECT_EQ(bytes_of(path), "begun");
  EXPECT_FALSE(fs::exists(second.path));
  close(first);
}

TEST_F(PackedCacheTest, WhereNothingCanBeWrittenLoadingWorksAllTheSame) {
  folder_ = root_ / "model.gguf" / "packed";
  const Load failed = load();
  EXPECT_EQ(failed.num_mapped, 0);
  ASSERT_TRUE(failed.kept.has_value() && !failed.kept->ok());
  EXPECT_EQ(failed.kept->error().code, ErrorCode::kIo);
}

TEST_F(PackedCacheTest, AFullDiskLeavesNothingBehind) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 3 << 20;
  on_packed = [&] { setrlimit(RLIMIT_FSIZE, &small); };
  const Load full = load();
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(full.kept.has_value() && !full.kept->ok());
  EXPECT_EQ(full.kept->error().code, ErrorCode::kIo) << full.kept->error().message;
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PackedCacheTest, AModelThatChangesMeanwhileIsNotKept) {
  on_packed = [&] { write_model(3); };
  const Load changed = load();
  ASSERT_TRUE(changed.kept.has_value() && !changed.kept->ok());
  EXPECT_EQ(changed.kept->error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PackedCacheTest, GivingUpLeavesNothingBehind) {
  const Checkpoint checkpoint = Checkpoint::open(model_).value();
  PackedCache cache(folder_, checkpoint, pool_);
  for (int copy = 0; copy < 40; ++copy) {
    cache.add("t" + std::to_string(copy),
              pack(checkpoint.tensor(kShapes[3].name).value(), Numerics::kDefault, pool_).value());
  }
  auto writer = cache.keep().value();
  writer->cancel();
  const Result<void> result = writer->result();
  if (!result.ok()) {  // otherwise it was faster
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(fs::is_empty(folder_));
  }
}

TEST_F(PackedCacheTest, FilesOfModelsThatAreGoneAreSweptAway) {
  const fs::path path = keep_one();
  write_bytes(folder_ / "other.packed.new", "left behind");
  write_bytes(folder_ / "unfinished-0123456789abcdef.packed", std::string(100, '\0'));
  write_bytes(folder_ / "notes.txt", "not ours");
  EXPECT_EQ(sweep_packed_files(folder_), 2);
  EXPECT_TRUE(fs::exists(path));
  fs::remove(model_);
  EXPECT_EQ(sweep_packed_files(folder_), 1);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

}  // namespace
}  // namespace brio::weights
