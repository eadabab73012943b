// Admission: what Engine::submit refuses at once, because it contradicts itself or could never run. Errors name the
// field and the numbers. Pure functions; any thread.
#pragma once

#include "base/result.h"
#include "engine/request.h"

namespace brio::engine {

struct AdmissionLimits {
  int context = 0;    // tokens the model allows in a sequence
  int kv_tokens = 0;  // tokens the KV cache holds for a sequence that is alone
  int vocab = 0;
  int max_sequences = 0;  // n at most
  bool has_text = true;   // a tokenizer: stop strings can be matched
};

inline constexpr int kMaxLogprobs = 100;
inline constexpr int kMaxStops = 64;
inline constexpr int kMaxStopBytes = 4096;  // one stop string; so much text may be held back

// The max_tokens that applies to each choice.
Result<int> admit(const GenerateRequest& request, const AdmissionLimits& limits);

}  // namespace brio::engine
