// TextBuilder: a Text under construction whose memory is charged while it grows.
//
// Once there is too much text appending does nothing and full() is true; finish() then returns the error. Loops that
// may append without end ask full() to stop early.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "chat/budget.h"
#include "chat/value.h"

namespace brio::chat {

class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget, size_t max_bytes = std::numeric_limits<size_t>::max())
      : budget_(budget), max_bytes_(max_bytes) {}

  void append(std::string_view bytes, bool trusted) {
    if (reserve(bytes.size(), 1)) text_.append(bytes, trusted);
  }
  void append(const Text& from) { append(from, 0, from.size()); }
  void append(const Text& from, size_t begin, size_t end) {
    if (reserve(end - begin, from.runs().size())) text_.append(from, begin, end);
  }

  bool full() const { return full_; }
  size_t size() const { return text_.size(); }
  Result<Text> finish();
  Result<Value> finish_value();

 private:
  bool reserve(size_t bytes, size_t runs);

  Budget& budget_;
  size_t max_bytes_;
  Text text_;
  MemoryCharge charge_;
  size_t charged_bytes_ = 0;
  bool full_ = false;
  bool too_long_ = false;  // max_bytes_, not memory
};

}  // namespace brio::chat
