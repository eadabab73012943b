// Tiny models on the CPU's operations alone, without an engine: loaded on given threads and ISA, and the logits of a text
// computed in one step.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"
#include "tiny/tiny_model.h"

namespace brio::invariance {

using Tokens = std::vector<int32_t>;
using Logits = std::vector<float>;  // [tokens, vocab]

// The value; an error ends the test program.
template <typename T>
T take(Result<T> result) {
  BRIO_CHECK(result.ok(), "{}", result.error().message);
  return std::move(result).value();
}

// A model built from a checkpoint on disk, with the pool it computes on.
struct TinyModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<model::Model> model;
};
TinyModel load(const std::filesystem::path& path, int threads, Isa isa,
               tensor::Numerics numerics = tensor::Numerics::kDefault,
               std::optional<tensor::KvType> kv_type = std::nullopt);

// A folder of this process, which goes with it.
std::filesystem::path scratch_folder(const std::string& name);
// The spec's GGUF file, written on first use.
std::filesystem::path gguf_of(const tiny::TinySpec& spec);
// Shape and type specs.
std::vector<tiny::TinySpec> all_specs();
// The first shape spec of each architecture.
std::vector<tiny::TinySpec> one_of_each_architecture();
// A spec's name as a test's.
std::string test_name(const testing::TestParamInfo<tiny::TinySpec>& info);

Tokens random_tokens(int count, int vocab, uint64_t seed);

// Logits of every position of the text, up to 128 tokens.
Logits logits_of(model::Model& model, const Tokens& text);

// Equal bits, or the first position and logit that differ.
testing::AssertionResult same_bits(const Logits& expected, const Logits& got, int vocab);

std::string sha256(std::span<const float> values);

}  // namespace brio::invariance
