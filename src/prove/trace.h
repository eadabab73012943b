// Trace: what every operation of a forward pass computed for one sequence, so that two runs of it can be compared: the
// first position, and in it the first operation, whose bits differ. Filled by ProbeDevice (operations) and TracedModel
// (layers), one step at a time; the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/row.h"

namespace brio::prove {

inline constexpr int kNoLayer = -1;  // before the first and after the last

// One operation of the forward pass; every pass of a model has the same ones in the same order.
struct Operation {
  int layer = kNoLayer;
  std::string name;
};

struct Place {
  int position = 0;
  int operation = 0;
  auto operator<=>(const Place&) const = default;
};

class Trace {
 public:
  // Keeps positions below `end`, and the values at `watched`.
  explicit Trace(int end, std::optional<Place> watched = std::nullopt) : end_(end), watched_(watched) {}

  void begin_step(std::span<const ops::Row> rows);
  void set_layer(int layer) { layer_ = layer; }
  // Whether add() would keep anything of the step's row.
  bool wants(int row) const { return rows_[static_cast<size_t>(row)].position < end_; }
  // The next operation, and its result for row row_of(i) of the step, i < count.
  template <typename RowOf, typename Values>
  void add(const std::string& name, int count, RowOf&& row_of, Values&& values) {
    const int operation = next_operation(name);
    for (int i = 0; i < count; ++i) {
      if (const int row = row_of(i); wants(row)) keep(operation, row, values(i));
    }
  }
  // The step is over: what was added belongs to this sequence of it, the others are forgotten. -1: all are.
  void end_step(int sequence);

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<float>& watched_values() const { return watched_values_; }

  // Where two traces of one sequence part: the smallest position, then the first operation, that both have.
  static std::optional<Place> first_difference(const Trace& a, const Trace& b);

 private:
  struct Kept {
    int row;
    int operation;
    uint64_t hash;
  };
  int next_operation(const std::string& name);
  void keep(int operation, int row, std::span<const float> values);

  int end_;
  std::optional<Place> watched_;
  int layer_ = kNoLayer;
  int operation_ = 0;
  std::vector<Operation> operations_;
  std::vector<ops::Row> rows_;  // of the step
  std::vector<Kept> step_;
  std::vector<std::pair<int, std::vector<float>>> step_values_;  // rows that are at the watched place
  std::map<Place, uint64_t> hashes_;
  std::vector<float> watched_values_;
};

}  // namespace brio::prove
