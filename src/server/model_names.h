// The names a model answers to: literal ones, which are listed, and patterns such as "claude-*", which are not. Between
// routes and Backend::models(). Pure functions, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "api/backend.h"

namespace brio::server {

// '*' stands for any text, everything else for itself.
bool matches_pattern(std::string_view pattern, std::string_view text);
bool is_pattern(std::string_view name);

// The model of that name, else the first whose pattern matches, else null. An empty name is the first model's.
const api::ModelInfo* find_model(const std::vector<api::ModelInfo>& models, std::string_view name);

// Without the patterns.
std::vector<api::ModelInfo> listed_models(std::vector<api::ModelInfo> models);

Error unknown_model(std::string_view name, const std::vector<api::ModelInfo>& models);  // kNotFound

}  // namespace brio::server
