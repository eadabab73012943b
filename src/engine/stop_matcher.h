// StopMatcher: finds the first stop string in text that arrives in pieces, and says how much of the end might still
// become one. One Knuth-Morris-Pratt automaton per stop string, so that time is linear in the text whatever the strings
// are. Copyable: a forked choice goes on from its parent's state.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brio::engine {

class StopMatcher {
 public:
  struct Match {
    int stop = 0;    // index of the string
    size_t end = 0;  // bytes of the fed piece up to its last byte
  };

  explicit StopMatcher(const std::vector<std::string>& stops);  // none of them empty

  // The match that ends first; the longest among those that end together. After one, feed() must not be called again.
  std::optional<Match> feed(std::string_view piece);
  // Length of the longest end of the text that begins a stop string.
  size_t undecided() const;
  const std::string& stop(int index) const { return (*patterns_)[static_cast<size_t>(index)].text; }

 private:
  struct Pattern {
    std::string text;
    std::vector<size_t> fallback;  // [i]: longest proper border of the first i + 1 bytes
  };
  std::shared_ptr<const std::vector<Pattern>> patterns_;
  std::vector<size_t> matched_;  // per pattern: bytes of it that the text ends with
};

}  // namespace brio::engine
