// Logits with weights mapped from a packed file equal those with weights packed in memory, for every tiny model; and a
// packed file of other numbers, forged so that it is believed, gives other logits: the comparison can fail.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "invariance/tiny_run.h"
#include "ops/cpu_ops.h"
#include "weights/packed_cache.h"

namespace brio::invariance {
namespace {

namespace fs = std::filesystem;

constexpr int kTokens = 70;  // three blocks

class Packed : public testing::TestWithParam<tiny::TinySpec> {
 protected:
  struct Loaded {
    Logits logits;
    int num_mapped = 0;
    int num_packed = 0;
  };
  // Through the packed file; what had to be packed is kept.
  Loaded load_cached() {
    const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(model_));
    weights::PackedCache cache(folder_, checkpoint, pool_);
    path_ = cache.path();
    model::BuildOptions options;
    options.limits = {128, 128};
    options.packed = &cache;
    std::shared_ptr<ops::OpSet> ops = take(ops::CpuOps::create(pool_, take(choose_isa()), tensor::Numerics::kDefault));
    const auto model = take(model::build_model(checkpoint, std::move(ops), pool_, options));
    if (const auto writer = take(cache.keep())) {
      const Result<void> kept = writer->result();
      EXPECT_TRUE(kept.ok()) << kept.error().message;
    }
    vocab_ = model->config().vocab;
    return {logits_of(*model, random_tokens(kTokens, vocab_, 1)), cache.num_mapped(), cache.num_packed()};
  }

  const fs::path model_ = gguf_of(GetParam());
  const fs::path folder_ = scratch_folder("packed-" + GetParam().name);
  fs::path path_;
  int vocab_ = 0;
  ThreadPool pool_{2};
};

TEST_P(Packed, MappedWeightsGiveTheSameBits) {
  const TinyModel in_memory = load(model_, 1, take(choose_isa()));
  const Logits expected = logits_of(*in_memory.model, random_tokens(kTokens, in_memory.model->config().vocab, 1));
  fs::remove_all(folder_);
  const Loaded first = load_cached();
  EXPECT_EQ(first.num_mapped, 0);
  EXPECT_TRUE(same_bits(expected, first.logits, vocab_));
  const Loaded mapped = load_cached();
  EXPECT_GT(mapped.num_mapped, 0);
  EXPECT_EQ(mapped.num_packed, 0);
  EXPECT_TRUE(same_bits(expected, mapped.logits, vocab_));
}

TEST_P(Packed, OtherWeightsGiveOtherBits) {
  load_cached();
  const Loaded good = load_cached();
  std::string file;
  {
    std::ifstream in(path_, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  weights::PackedHeader header = take(weights::PackedHeader::parse(std::as_bytes(std::span(file))));
  char* data = file.data() + header.data_offset;
  for (const weights::PackedTensor& tensor :
       header.tensors) {  // the sign of a scale or of a float, in each panel's start
    if (tensor.name.find("ffn_down") != std::string::npos) data[tensor.offset + 1] ^= '\x80';
  }
  for (size_t i = 0; i < header.checksums.size(); ++i) {
    const size_t from = i * weights::kChunkBytes;
    header.checksums[i] = weights::checksum(
        std::as_bytes(std::span(data + from, std::min<size_t>(weights::kChunkBytes, header.data_bytes - from))));
  }
  const std::string forged = header.to_bytes();
  file.replace(0, forged.size(), forged);
  std::ofstream(path_, std::ios::binary) << file;
  const Loaded other = load_cached();
  ASSERT_EQ(other.num_mapped, good.num_mapped);
  EXPECT_FALSE(same_bits(good.logits, other.logits, vocab_));
}

INSTANTIATE_TEST_SUITE_P(Tiny, Packed, testing::ValuesIn(all_specs()), test_name);

}  // namespace
}  // namespace brio::invariance
