// Timeline: when what happened to one request, for the response extension, metrics and the dashboard. Written by the
// engine thread, handed to the sink with the last event.
#pragma once

#include <vector>

#include "base/clock.h"

namespace brio::telemetry {

struct Timeline {
  struct Chunk {  // one step's share of the prompt (or of a recomputation after a preemption)
    TimePoint begin;
    TimePoint end;
    int tokens = 0;
  };
  struct Token {
    int choice = 0;
    TimePoint time;
  };

  TimePoint arrival{};    // the client's request arrived
  TimePoint queued{};     // submitted to the engine
  TimePoint scheduled{};  // first admitted; zero: never
  TimePoint finished{};
  std::vector<Chunk> chunks;
  std::vector<Token> tokens;  // in the order they were sampled, all choices
  int preemptions = 0;

  Duration queue() const { return (scheduled == TimePoint{} ? finished : scheduled) - arrival; }
  Duration end_to_end() const { return finished - arrival; }
  // First token - arrival; zero without tokens.
  Duration time_to_first_token() const { return tokens.empty() ? Duration{} : tokens.front().time - arrival; }
  // (last - first) / (n - 1), averaged over the choices that have at least two tokens; zero without one.
  Duration time_per_output_token() const;
};

}  // namespace brio::telemetry
