// Matrix: the proof of a model. Every text runs alone first; then each row's runs are compared with that. A run is drawn
// from (seed, row, number), so a failure can be repeated.
//
//   Matrix matrix(model, material, seed);
//   BRIO_TRY_OK(matrix.run_alone(progress));
//   for (const Row& row : rows()) RowResult result = matrix.prove(row, runs, {}, progress);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "prove/rows.h"
#include "prove/run.h"
#include "prove/traced_model.h"

namespace brio::prove {

struct RowResult {
  enum class Status : uint8_t { kEqual, kVacuous, kDiffers };
  std::string name;
  int runs = 0;
  int64_t combinations = 0;  // choices of answers compared with their run alone
  int64_t positions = 0;     // logits compared
  Status status = Status::kVacuous;
  std::string occurred;  // what the steps showed
  std::string detail;    // what did not happen, or where the bits part
};

// Called often; false stops the row, which then keeps what it has.
using OnRun = std::function<bool(const RowResult& row)>;

class Matrix {
 public:
  Matrix(TracedModel& model, Material material, uint64_t seed);

  // An error when the engine refuses a text, or NaN comes out of it.
  Result<void> run_alone(const std::function<bool(int done, int of)>& on_text);

  // Runs `earlier.runs` up to `runs` of the row (its own least number at least), or until bits differ; while what it names
  // has not occurred, more. earlier: the row's result so far, or {}.
  RowResult prove(const Row& row, int runs, const RowResult& earlier, const OnRun& on_run);

  // Digest of each text's logits and tokens alone, in hexadecimal: to be compared between processes and builds.
  std::vector<std::string> fingerprints() const;
  int64_t num_positions() const;  // of all texts alone

 private:
  std::string describe(const Setup& setup, const Difference& difference);
  std::string locate(const Setup& setup, const Difference& difference);
  void trace(const Setup& setup, int visit, int choice, Trace& trace);

  TracedModel& model_;
  Material material_;
  uint64_t seed_;
  std::vector<Answers> answers_;  // by text
};

}  // namespace brio::prove
