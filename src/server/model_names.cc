#include "server/model_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace brio::server {

bool is_pattern(std::string_view name) {
  return name.find('*') != std::string_view::npos;
}

// On a mismatch the last star takes one character more: the stars before it need never be looked at again.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t taken = 0;  // characters up to here belong to the last star
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

const api::ModelInfo* find_model(const std::vector<api::ModelInfo>& models, std::string_view name) {
  for (const api::ModelInfo& info : models) {
    if (!is_pattern(info.id) && (name.empty() || info.id == name)) return &info;
  }
  for (const api::ModelInfo& info : models) {
    if (is_pattern(info.id) && matches_pattern(info.id, name)) return &info;
  }
  return nullptr;
}

std::vector<api::ModelInfo> listed_models(std::vector<api::ModelInfo> models) {
  std::erase_if(models, [](const api::ModelInfo& info) { return is_pattern(info.id); });
  return models;
}

Error unknown_model(std::string_view name, const std::vector<api::ModelInfo>& models) {
  std::string known;
  for (const api::ModelInfo& info : models) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", info.id);
  return error(ErrorCode::kNotFound, "'model' '{}' not found; this server has {}", name, known);
}

}  // namespace brio::server
