// RopeTable: cos and sin of rotary position embedding for every position seen so far.
//
// An entry is a function of (spec, position) alone, computed in double with brio's own pow, sin and cos (DESIGN R9), never
// of how long the table happens to be. Su et al. 2021 (RoFormer); scalings: linear (Chen et al. 2023), llama3 (Llama 3.1
// model card), yarn (Peng et al. 2023).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace brio::ops {

struct RopeSpec {
  enum class Scaling : uint8_t { kNone, kLinear, kLlama3, kYarn };
  int rotary_dim = 0;        // even, <= head_dim; channels past it are not rotated
  bool interleaved = false;  // pairs (2i, 2i+1) if true, else (i, i + rotary_dim/2)
  double base = 10000.0;
  Scaling scaling = Scaling::kNone;
  double factor = 1.0;                   // linear, llama3, yarn
  double low_freq_factor = 1.0;          // llama3
  double high_freq_factor = 4.0;         // llama3
  double original_context = 0.0;         // llama3, yarn
  double beta_fast = 32.0;               // yarn
  double beta_slow = 1.0;                // yarn
  double attention_factor = 0.0;         // yarn: magnitude of cos and sin; 0: 0.1 ln(factor) + 1
  double attention_multiplier = 1.0;     // yarn: multiplies that default (GGUF's attn_factor)
  std::vector<float> frequency_factors;  // GGUF rope_freqs.weight: divides inv_freq per pair; empty: none
};

// Angular frequency of each pair after scaling, [rotary_dim / 2].
std::vector<double> rope_frequencies(const RopeSpec& spec);

class RopeTable {
 public:
  explicit RopeTable(RopeSpec spec);
  const RopeSpec& spec() const { return spec_; }
  // Makes entries for positions [0, end) available. Not while another thread reads.
  void extend(int32_t end);
  // cos then sin of one position: [rotary_dim/2] each. The position must have been covered by extend().
  const float* cos(int32_t position) const { return &values_[static_cast<size_t>(position) * spec_.rotary_dim]; }
  const float* sin(int32_t position) const { return cos(position) + spec_.rotary_dim / 2; }

 private:
  RopeSpec spec_;
  std::vector<double> frequencies_;
  double magnitude_ = 1.0;
  std::vector<float> values_;  // [positions][cos rotary_dim/2 | sin rotary_dim/2]
};

}  // namespace brio::ops
