// Text: a Jinja string. UTF-8 bytes, and for every byte whether the template wrote it (trusted) or somebody else did.
//
// Every operation on strings goes through the two append functions, so trust follows each character through filters,
// slices and concatenation: it is never a property of a whole string.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace brio::chat {

class Text {
 public:
  struct Run {
    size_t end;  // first byte after the run
    bool trusted;
  };

  Text() = default;
  Text(std::string_view bytes, bool trusted) { append(bytes, trusted); }

  const std::string& bytes() const { return bytes_; }
  std::span<const Run> runs() const { return runs_; }  // ascending, neighbours differ in trust
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  bool ascii() const { return ascii_; }

  size_t length() const;              // characters; linear unless ascii
  size_t offset(size_t index) const;  // byte offset of a character, size() if there are fewer; linear unless ascii
  bool trusted(size_t offset) const;  // of the byte at offset

  void append(std::string_view bytes, bool trusted);
  void append(const Text& from) { append(from, 0, from.size()); }
  void append(const Text& from, size_t begin, size_t end);  // byte offsets
  Text slice(size_t begin, size_t end) const;

 private:
  std::string bytes_;
  std::vector<Run> runs_;
  bool ascii_ = true;
};

}  // namespace brio::chat
