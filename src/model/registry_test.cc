// What build_model refuses, and how it says so. That the functions themselves are right is shown by tests/golden
// against the numpy reference.
#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "model/model.h"
#include "ops/cpu_ops.h"
#include "weights/gguf_writer.h"

namespace brio::model {
namespace {

constexpr int kHidden = 32;
constexpr int kHeadDim = 16;
constexpr int kVocab = 40;

// A model of one layer: `leave_out` is not written, `widened` has longer rows, `extra` comes on top.
struct File {
  std::string architecture = "llama";
  std::string leave_out = {};
  std::string widened = {};
  std::vector<std::pair<std::string, int64_t>> extra = {};  // vectors
  std::vector<std::pair<std::string, float>> numbers = {};
  uint32_t head_dim = kHeadDim;
};

Result<std::unique_ptr<Model>> build(const File& file) {
  weights::GgufWriter out;
  const auto key = [&](const char* name) { return file.architecture + "." + name; };
  out.string("general.architecture", file.architecture);
  out.u32(key("block_count"), 1);
  out.u32(key("context_length"), 128);
  out.u32(key("embedding_length"), kHidden);
  out.u32(key("feed_forward_length"), kHidden);
  out.u32(key("attention.head_count"), 2);
  out.u32(key("attention.head_count_kv"), 2);
  out.u32(key("vocab_size"), kVocab);
  out.u32(key("attention.key_length"), file.head_dim);
  out.u32(key("attention.value_length"), file.head_dim);
  for (const auto& [name, value] : file.numbers) out.f32(key(name.c_str()), value);
  out.f32(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  const auto put = [&](const std::string& name, int64_t cols, int64_t rows) {
    if (name == file.leave_out) return;
    if (name == file.widened) cols += 32;
    out.tensor(name, {cols, rows}, std::vector<float>(static_cast<size_t>(cols * rows), 0.5F));
  };
  const auto put_vector = [&](const std::string& name, int64_t size) {
    out.tensor(name, {size}, std::vector<float>(static_cast<size_t>(size), 0.5F));
  };
  put("token_embd.weight", kHidden, kVocab);
  put_vector("output_norm.weight", kHidden);
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    put(std::string("blk.0.") + name + ".weight", kHidden, kHidden);
  }
  put_vector("blk.0.attn_norm.weight", kHidden);
  put_vector("blk.0.ffn_norm.weight", kHidden);
  for (const auto& [name, size] : file.extra) put_vector(name, size);

  const TemporaryFolder folder;
  BRIO_TRY_OK(out.write(folder / "model.gguf"));
  BRIO_TRY(const weights::Checkpoint checkpoint, weights::Checkpoint::open(folder / "model.gguf"));
  ThreadPool pool(1);
  BRIO_TRY(std::shared_ptr<ops::OpSet> ops, ops::CpuOps::create(pool, Isa::kScalar, tensor::Numerics::kDefault));
  return build_model(checkpoint, std::move(ops), pool, {});
}

void expect_refused(const File& file, ErrorCode code, const std::vector<std::string>& words) {
  const auto built = build(file);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, code) << built.error().message;
  for (const std::string& word : words) {
    EXPECT_NE(built.error().message.find(word), std::string::npos) << built.error().message << " lacks " << word;
  }
}

TEST(BuildModel, BuildsWhatIsWhole) {
  const auto built = build({});
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ((*built)->config().head_dim, kHeadDim);
  const auto biased = build({.extra = {{"blk.0.attn_q.bias", kHidden}, {"blk.0.attn_output.bias", kHidden}}});
  EXPECT_TRUE(biased.ok()) << biased.error().message;
}

TEST(BuildModel, NamesTheArchitecturesItKnows) {
  expect_refused({.architecture = "mamba"}, ErrorCode::kUnsupported, {"mamba", "llama", "qwen2", "qwen3", "gemma3"});
}

TEST(BuildModel, NamesATensorThatIsMissingOrMisshapen) {
  expect_refused({.leave_out = "blk.0.ffn_up.weight"}, ErrorCode::kInvalidFile, {"blk.0.ffn_up.weight"});
  expect_refused({.widened = "blk.0.attn_v.weight"}, ErrorCode::kInvalidFile, {"blk.0.attn_v.weight", "32", "64"});
  expect_refused({.extra = {{"blk.0.attn_k.bias", kHidden + 1}}}, ErrorCode::kInvalidFile, {"blk.0.attn_k.bias"});
  expect_refused({.architecture = "qwen2"}, ErrorCode::kInvalidFile, {"blk.0.attn_q.bias"});
}

// A tensor without a place would be left out of the sum in silence.
TEST(BuildModel, NamesATensorThatNobodyReads) {
  expect_refused({.extra = {{"blk.0.ffn_up.bias", kHidden}}}, ErrorCode::kUnsupported, {"blk.0.ffn_up.bias", "llama"});
  expect_refused({.extra = {{"blk.1.attn_norm.weight", kHidden}}}, ErrorCode::kUnsupported, {"blk.1.attn_norm.weight"});
}

TEST(BuildModel, NamesAKeyThatItCannotHonour) {
  expect_refused({.numbers = {{"final_logit_softcapping", 30.0F}}}, ErrorCode::kUnsupported,
                 {"llama.final_logit_softcapping", "30"});
  expect_refused({.head_dim = 1024}, ErrorCode::kInvalidFile, {"llama.attention.key_length", "1024", "512"});
}

// Files from before rope scaling had a type.
TEST(BuildModel, AFactorWithoutATypeIsLinear) {
  for (const char* name : {"rope.scaling.factor", "rope.scale_linear"}) {
    const auto built = build({.numbers = {{name, 4.0F}}});
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_EQ((*built)->config().rope.scaling, ops::RopeSpec::Scaling::kLinear);
    EXPECT_EQ((*built)->config().rope.factor, 4.0);
  }
}

}  // namespace
}  // namespace brio::model
