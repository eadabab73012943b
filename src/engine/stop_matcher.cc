#include "engine/stop_matcher.h"

#include <algorithm>

namespace brio::engine {

StopMatcher::StopMatcher(const std::vector<std::string>& stops) : matched_(stops.size(), 0) {
  auto patterns = std::make_shared<std::vector<Pattern>>();
  for (const std::string& text : stops) {
    Pattern pattern{text, std::vector<size_t>(text.size(), 0)};
    for (size_t i = 1, border = 0; i < text.size(); ++i) {
      while (border > 0 && text[i] != text[border]) border = pattern.fallback[border - 1];
      if (text[i] == text[border]) ++border;
      pattern.fallback[i] = border;
    }
    patterns->push_back(std::move(pattern));
  }
  patterns_ = std::move(patterns);
}

std::optional<StopMatcher::Match> StopMatcher::feed(std::string_view piece) {
  if (matched_.empty()) return std::nullopt;
  for (size_t i = 0; i < piece.size(); ++i) {
    std::optional<Match> found;
    for (size_t p = 0; p < matched_.size(); ++p) {
      const Pattern& pattern = (*patterns_)[p];
      size_t& matched = matched_[p];
      while (matched > 0 && piece[i] != pattern.text[matched]) matched = pattern.fallback[matched - 1];
      if (piece[i] == pattern.text[matched]) ++matched;
      if (matched < pattern.text.size()) continue;
      if (!found || pattern.text.size() > stop(found->stop).size()) found = Match{static_cast<int>(p), i + 1};
    }
    if (found) return found;
  }
  return std::nullopt;
}

size_t StopMatcher::undecided() const {
  return matched_.empty() ? 0 : *std::max_element(matched_.begin(), matched_.end());
}

}  // namespace brio::engine
