// History: the random life of an engine as data: its options and what happens to it, event by event. Small numbers that
// fit each other whatever they are, so that rapidcheck can shrink one that fails. For tests.
#pragma once

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/testing/property.h"
#include "engine/engine.h"
#include "engine/testing/byte_tokenizer.h"

namespace brio::engine::testing {

using brio::testing::gen_below;

// What a submitted request asks for beside its lengths; one in four requests has each.
enum class Feature : uint8_t {
  kSampled,  // temperature, and top-k for every second prompt length
  kSeeded,
  kPenalties,
  kBias,  // towards the token that ends or stops
  kStopIds,
  kIgnoreEos,
  kMinTokens,
  kStopString,  // with a tokenizer
  kPromptLogprobs,
  kLogprobs,
  kAborts,    // from inside its own events: by its length itself, another or nobody
  kFollowUp,  // submits another from inside its last event
};
inline constexpr int kNumFeatures = 12;
inline constexpr std::string_view kFeatureNames[kNumFeatures] = {
    "sampled",    "seeded",      "penalties",       "bias",     "stop_ids", "ignore_eos",
    "min_tokens", "stop_string", "prompt_logprobs", "logprobs", "aborts",   "follow_up"};

struct Event {
  enum class Kind : uint8_t { kSubmit, kCrowd, kStep, kAbort, kWait, kDrain };
  Kind kind = Kind::kStep;
  int length = 0;         // prompt tokens - 1; kCrowd: likewise, of each; kAbort: which; else how many steps or ms
  int max_tokens = 0;     // kAbsent: not given
  int choices = 0;        // n - 1; kCrowd: requests - 1
  uint32_t features = 0;  // two bits each, both must be set

  static constexpr int kAbsent = 50;
  bool has(Feature feature) const { return ((features >> (2 * static_cast<int>(feature))) & 3U) == 3U; }
};

// options_of() fits these to each other.
struct Setup {
  int max_sequences = 0;  // + 1
  int more_rows = 0;      // than sequences
  int more_logits = 0;
  int blocks = 0;  // + 1
  int context = 0;
  BatchingMode mode = BatchingMode::kContinuous;
  int batch = 0;  // + 1
  int max_wait_ms = 0;
  Chunking::Kind chunking = Chunking::Kind::kBudget;
  int chunk = 0;  // + 1
  int max_waiting = 0;
  int preempt_one_in = 0;
  bool drains = false;  // or the end waits until everybody has finished
};

struct History {
  Setup setup;
  std::vector<Event> events;
};

inline constexpr int kMaxSequences = 8;
inline constexpr int kMaxRows = 48;
inline constexpr int kMaxLogits = 24;
inline constexpr int kContext = 192;
inline constexpr char kStopCharacter = 'a';  // the only stop string; one token

inline int logits_of(const Setup& setup) {
  return std::min(setup.max_sequences + 1 + setup.more_logits, kMaxLogits);
}

inline EngineOptions options_of(const Setup& setup) {
  EngineOptions options;
  options.max_sequences = setup.max_sequences + 1;
  options.max_rows = std::min(options.max_sequences + setup.more_rows, kMaxRows);
  options.kv_blocks = setup.blocks + 1;
  if (setup.context > 0) options.max_context = 30 + setup.context;
  options.batching.mode = setup.mode;
  options.batching.size = std::min(setup.batch + 1, options.max_sequences);
  options.batching.max_wait = std::chrono::milliseconds(setup.max_wait_ms);
  options.chunking = {setup.chunking, setup.chunk + 1, 1};
  options.max_waiting = setup.max_waiting == 0 ? 1024 : setup.max_waiting;
  options.random_preemption = {setup.preempt_one_in, 1};
  options.entropy = 1;
  return options;
}

// What an event submits. The salt makes prompts differ.
inline GenerateRequest request_of(const Event& event, int vocab, size_t salt) {
  const bool has_text = vocab > kEndToken;
  GenerateRequest request;
  for (size_t i = 0; i <= static_cast<size_t>(event.length); ++i) {
    request.prompt.push_back(static_cast<int32_t>((salt * 5 + i * i) % static_cast<size_t>(vocab)));
  }
  if (event.max_tokens != Event::kAbsent) request.max_tokens = event.max_tokens;
  if (event.kind == Event::Kind::kSubmit) request.n = event.choices + 1;
  SamplingParams& sampling = request.sampling;
  sampling.temperature = event.has(Feature::kSampled) ? 0.8F : 0.0F;
  if (event.length % 2 == 0) sampling.top_k = 5;
  if (event.has(Feature::kSeeded)) sampling.seed = event.features;
  if (event.has(Feature::kPenalties)) {
    sampling.repetition_penalty = 1.2F;
    sampling.frequency_penalty = 0.5F;
  }
  if (event.has(Feature::kLogprobs)) sampling.logprobs = 2;
  if (event.has(Feature::kPromptLogprobs)) request.prompt_logprobs = 1;
  if (event.has(Feature::kStopIds)) request.stop_token_ids = {5, 9, 11};
  if (event.has(Feature::kStopString) && has_text) request.stop = {std::string(1, kStopCharacter)};
  request.ignore_eos = event.has(Feature::kIgnoreEos);
  if (event.has(Feature::kMinTokens)) request.min_tokens = std::min(3, request.max_tokens.value_or(1));
  const int32_t stop = !has_text ? 5 : request.stop.empty() ? kEndToken : kStopCharacter;
  if (event.has(Feature::kBias)) sampling.logit_bias = {{stop, 5.0F}};
  return request;
}

inline rc::Gen<Event> gen_event() {
  const auto make = [](const std::tuple<int, int, int, int, int>& raw) {
    const auto& [what, length, max_tokens, choices, features] = raw;
    Event event;
    event.features = static_cast<uint32_t>(features);
    event.length = length;
    if (what < 35) {
      event.kind = Event::Kind::kStep;
      event.length = length / 8;
    } else if (what < 70) {
      event.kind = Event::Kind::kSubmit;
      event.length = length % 2 == 0 ? length : length * length / 110;  // short ones are frequent
      event.max_tokens = max_tokens;
      event.choices = std::max(0, choices - 16) / 2;
    } else if (what < 74) {
      event.kind = Event::Kind::kCrowd;
      event.length = length / 12;
      event.max_tokens = 1 + max_tokens / 6;
      event.choices = choices;
    } else if (what < 92) {
      event.kind = Event::Kind::kAbort;
    } else if (what < 99) {
      event.kind = Event::Kind::kWait;
      event.length = length / 10;
    } else {
      event.kind = Event::Kind::kDrain;
    }
    return event;
  };
  return rc::gen::map(rc::gen::tuple(gen_below(100), gen_below(100), gen_below(Event::kAbsent + 1), gen_below(24),
                                     gen_below(1 << (2 * kNumFeatures))),
                      make);
}

inline rc::Gen<Setup> gen_setup() {
  const auto make = [](const std::array<int, 14>& raw) {
    Setup setup;
    setup.max_sequences = raw[0] % kMaxSequences;
    setup.more_rows = raw[1] % 4 == 0 ? raw[2] % 4 : raw[2] % 40;
    setup.more_logits = raw[3] % 3 == 0 ? 0 : raw[3] % 17;
    setup.blocks = 1 + (raw[4] % 3 == 0 ? raw[5] % 3 : raw[5] % 8);
    setup.context = raw[6] % 2 == 0 ? 0 : raw[6] % 100;
    setup.mode = raw[7] % 2 == 0   ? BatchingMode::kContinuous
                 : raw[7] % 4 == 1 ? BatchingMode::kStatic
                                   : BatchingMode::kDynamic;
    setup.batch = raw[8] % kMaxSequences;
    setup.max_wait_ms = raw[9] % 12;
    setup.chunking = raw[10] % 2 == 0   ? Chunking::Kind::kBudget
                     : raw[10] % 4 == 1 ? Chunking::Kind::kFixed
                                        : Chunking::Kind::kRandom;
    setup.chunk = raw[11] % (raw[10] < 60 ? 8 : 40);
    setup.max_waiting = raw[12] % 2 == 0 ? 0 : 1 + raw[12] / 4;
    setup.preempt_one_in = raw[13] % 4 == 3 ? 1 + raw[13] / 8 : 0;
    setup.drains = raw[13] % 2 == 1;
    return setup;
  };
  return rc::gen::map(rc::gen::container<std::array<int, 14>>(gen_below(120)), make);
}

inline rc::Gen<History> gen_history() {
  return rc::gen::map(rc::gen::pair(gen_setup(), rc::gen::container<std::vector<Event>>(gen_event())),
                      [](std::pair<Setup, std::vector<Event>>&& raw) {
                        return History{raw.first, std::move(raw.second)};
                      });
}

inline void print_submission(const Event& event, std::ostream& out) {
  const auto max_tokens =
      event.max_tokens == Event::kAbsent ? std::string("absent") : fmt::format("{}", event.max_tokens);
  fmt::print(out, "prompt {}, max_tokens {}", event.length + 1, max_tokens);
  if (event.kind == Event::Kind::kSubmit && event.choices > 0) fmt::print(out, ", n {}", event.choices + 1);
  for (int i = 0; i < kNumFeatures; ++i) {
    if (event.has(static_cast<Feature>(i))) fmt::print(out, ", {}", kFeatureNames[i]);
  }
}

inline std::ostream& operator<<(std::ostream& out, const Event& event) {
  switch (event.kind) {
    case Event::Kind::kSubmit:
      print_submission(event, out << "  submit: ");
      break;
    case Event::Kind::kCrowd:
      print_submission(event, out << "  submit " << event.choices + 1 << " times: ");
      break;
    case Event::Kind::kStep:
      out << "  step, " << event.length + 1 << " times";
      break;
    case Event::Kind::kAbort:
      out << "  abort request " << event.length << " (counted from 0, modulo those accepted and one unknown)";
      break;
    case Event::Kind::kWait:
      out << "  " << event.length << " ms pass";
      break;
    case Event::Kind::kDrain:
      out << "  drain";
      break;
  }
  return out;
}

inline std::ostream& operator<<(std::ostream& out, const History& history) {
  const EngineOptions options = options_of(history.setup);
  constexpr const char* kChunkings[] = {"budget", "fixed", "random", "random budget"};
  fmt::print(out, "max_sequences {}, max_rows {}, max_logits {}, {} blocks, context {}, max_waiting {}, {}",
             options.max_sequences, options.max_rows, logits_of(history.setup), *options.kv_blocks, options.max_context,
             options.max_waiting, name(options.batching.mode));
  if (options.batching.mode != BatchingMode::kContinuous) {
    fmt::print(out, " of {} within {} ms", options.batching.size, history.setup.max_wait_ms);
  }
  fmt::print(out, ", chunks {} {}, preempts one in {}, {}\n", kChunkings[static_cast<int>(options.chunking.kind)],
             options.chunking.size, options.random_preemption.one_in, history.setup.drains ? "drains" : "waits");
  for (const Event& event : history.events) out << event << "\n";
  return out;
}

}  // namespace brio::engine::testing
