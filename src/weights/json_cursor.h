// JsonCursor: steps through the JSON of a safetensors header without building a tree, so that memory is that of the
// tensors found and every error has a byte offset. The header's grammar is fixed; general JSON goes to Boost.JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brio::weights {

class JsonCursor {
 public:
  // `base` is added to the offsets in errors: where the text starts in its file.
  JsonCursor(std::string_view text, uint64_t base) : text_(text), base_(base) {}

  uint64_t offset() const { return base_ + position_; }
  bool at(char c);               // skips white space; is `c` next?
  bool accept(char c);           // the same, and steps over it
  Result<void> expect(char c);   // the same, or an error
  Result<std::string> string();  // escapes decoded to UTF-8
  Result<uint64_t> natural();    // digits only, at most 2^63 - 1
  Result<void> expect_end();     // nothing but white space is left

 private:
  void skip_space();
  Error unexpected(std::string_view wanted) const;
  Result<uint32_t> hex4();
  Result<void> escape(std::string& out);

  std::string_view text_;
  uint64_t base_;
  size_t position_ = 0;
};

}  // namespace brio::weights
