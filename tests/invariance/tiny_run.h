// Runs tiny models for the invariance tests: a model on given threads and ISA, and the logits of several texts through one
// shared KV cache, in any mixture of rows per step.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "model/model.h"
#include "tiny/tiny_model.h"

namespace brio::invariance {

using Tokens = std::vector<int32_t>;
using Logits = std::vector<float>;  // [tokens, vocab]

// A model built from a checkpoint on disk, with the pool it computes on.
struct TinyModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<model::Model> model;
};
TinyModel load(const std::filesystem::path& path, int threads, Isa isa,
               tensor::Numerics numerics = tensor::Numerics::kDefault);

// A folder of this test's own, emptied.
std::filesystem::path scratch_folder(const std::string& name);
// The spec's GGUF file, written on first use.
std::filesystem::path gguf_of(const tiny::TinySpec& spec);

Tokens random_tokens(int count, int vocab, uint64_t seed);

// Logits of every position of every text. Each step takes 1 .. max_chunk next tokens (exactly max_chunk if not random) of
// every unfinished text; texts start `stagger` steps apart.
struct Mixture {
  int max_chunk = 64;
  bool random_chunks = false;
  int stagger = 0;
  uint64_t seed = 0;
};
std::vector<Logits> run(model::Model& model, const std::vector<Tokens>& texts, const Mixture& mixture);
Logits run_alone(model::Model& model, const Tokens& text, int chunk);

// Equal bits, or the first position and logit that differ.
testing::AssertionResult same_bits(const Logits& expected, const Logits& got, int vocab);

std::string sha256(std::span<const float> values);

}  // namespace brio::invariance
