// Row: one token position inside a step. Nothing infers a position from row order, length or block index (DESIGN 2).
#pragma once

#include <cstdint>
#include <span>

namespace brio::ops {

enum class RowOutput : uint8_t { kNone, kLogits };

struct Row {
  int32_t token = 0;
  int32_t position = 0;
  int32_t sequence = 0;  // index into the step's sequences (and KvLayerView::blocks)
  int32_t adapter = 0;   // 0: none
  int32_t visible_begin =
      0;                    // keys [visible_begin, visible_end) are attended; a window layer narrows the begin further
  int32_t visible_end = 0;  //   to position - window + 1
  int32_t write_begin = 0;  // range in StepRows::writes: where this row's K and V go (one slot, or several branches)
  int32_t write_end = 0;
  RowOutput output = RowOutput::kNone;
};

struct WriteSlot {
  int32_t sequence = 0;
  int32_t position = 0;
};

// The rows of a step. Rows of one sequence need not be adjacent, though they usually are.
struct StepRows {
  std::span<const Row> rows;
  std::span<const WriteSlot> writes;
};

}  // namespace brio::ops
