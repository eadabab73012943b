// Rows of the matrix: one for each thing that must not change a bit. A row arranges runs in which it happens, everything
// else being drawn at random, and says from the evidence of those runs what failed to happen (then it proved nothing).
// A new lossless technique adds its row to rows.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "prove/setup.h"

namespace brio::prove {

// What a row may draw from.
struct Material {
  std::vector<Text> texts;
  std::vector<Isa> isas;  // ascending; the last is the fastest
  int most_threads = 1;
  int most_rows = 1;       // of a step
  int most_sequences = 1;  // of a step
  int most_visits = 1;     // of a run

  // The index of a random text that satisfies the condition; one exists.
  int draw(Rng& rng, const std::function<bool(const Text&)>& condition) const;
};

struct Row {
  std::string name;
  // Changes a random setup so that the row's case occurs; `number` counts the row's runs.
  std::function<void(Setup& setup, Rng& rng, const Material& material, int number)> arrange;
  // What of it occurred, for the table; and what did not, empty when all did.
  std::function<std::string(const Evidence& seen)> occurred;
  std::function<std::string(const Evidence& seen, const Material& material)> missing;
  int least_runs = 1;
};

std::vector<Row> rows(const Material& material);

// A text alone: every text's first run, which all others are compared with.
Setup alone(int text, const Material& material);
// Anything: random visits, instruction set, threads, budgets and chunks.
Setup random_setup(Rng& rng, const Material& material);

}  // namespace brio::prove
