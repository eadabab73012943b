#include "chat/filters.h"

#include <algorithm>

#include "chat/json_text.h"

namespace brio::chat {
namespace {

constexpr NativeEntry kFilters[] = {
    {"abs", filters::abs},
    {"attr", filters::attr},
    {"batch", filters::batch},
    {"capitalize", filters::capitalize},
    {"center", filters::center},
    {"count", filters::length},
    {"d", filters::otherwise},
    {"default", filters::otherwise},
    {"dictsort", filters::dictsort},
    {"e", filters::escape},
    {"escape", filters::escape},
    {"first", filters::first},
    {"float", filters::to_float},
    {"forceescape", filters::escape},
    {"format", filters::format},
    {"groupby", filters::groupby},
    {"indent", filters::indent},
    {"int", filters::to_int},
    {"items", filters::items},
    {"join", filters::join},
    {"last", filters::last},
    {"length", filters::length},
    {"list", filters::list},
    {"lower", filters::lower},
    {"map", filters::map},
    {"max", filters::max},
    {"min", filters::min},
    {"reject", filters::reject},
    {"rejectattr", filters::rejectattr},
    {"replace", filters::replace},
    {"reverse", filters::reverse},
    {"round", filters::round},
    {"safe", filters::safe},
    {"select", filters::select},
    {"selectattr", filters::selectattr},
    {"slice", filters::slice},
    {"sort", filters::sort},
    {"string", filters::string},
    {"striptags", filters::striptags},
    {"sum", filters::sum},
    {"title", filters::title},
    {"tojson", to_json},
    {"trim", filters::trim},
    {"truncate", filters::truncate},
    {"unique", filters::unique},
    {"upper", filters::upper},
    {"urlencode", filters::urlencode},
    {"wordcount", filters::wordcount},
};

}  // namespace

const NativeEntry* find_filter(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kFilters, name, {}, &NativeEntry::name);
  return found != std::end(kFilters) && found->name == name ? found : nullptr;
}

}  // namespace brio::chat
