#include "cli/settings.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "cli/command.h"

namespace brio::cli {
namespace {

// "max-queue"; of an argument in lower case.
std::string setting_name(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  std::string name = option.get_name();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string flag_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

std::string variable_name(const CLI::Option& option) {
  std::string name = "BRIO_" + setting_name(option);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

bool takes_several(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, separator);) out.push_back(item);
  return out;
}

// A value as a flag would have it; nothing for what no flag can be.
std::optional<std::string> as_flag(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<int64_t>()) return std::to_string(*number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  return std::nullopt;
}

std::string toml_value(const std::string& text) {
  const bool is_flag = text == "true" || text == "false";
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_flag || (digits && (text.size() == 1 || text[0] != '0'))) return text;
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace

std::vector<CLI::Option*> Settings::options() const {
  static const std::set<std::string> kNoSettings = {"help", "config", "print-config"};
  std::vector<CLI::Option*> out = command_.get_options();
  std::erase_if(out, [](const CLI::Option* option) { return kNoSettings.count(setting_name(*option)) > 0; });
  return out;
}

Result<void> Settings::load(const std::string& path) {
  for (const CLI::Option* option : options()) {
    if (option->count() > 0) where_[setting_name(*option)] = flag_name(*option);
  }
  BRIO_TRY_OK(load_environment());
  return path.empty() ? Result<void>() : load_file(path);
}

Result<void> Settings::load_environment() {
  for (CLI::Option* option : options()) {
    const std::string variable = variable_name(*option);
    const char* value = std::getenv(variable.c_str());
    if (!value || given(setting_name(*option))) continue;
    const auto values = takes_several(*option) ? split(value, ',') : std::vector<std::string>{value};
    BRIO_TRY_OK(set(*option, values, variable));
  }
  return {};
}

Result<void> Settings::load_file(const std::string& path) {
  BRIO_TRY(const std::string text, read_text(path));
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& failure) {
    return error(ErrorCode::kInvalidFile, "{}:{}: {}", path, failure.source().begin.line, failure.description());
  }
  const std::vector<CLI::Option*> all = options();
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = fmt::format("{}:{}: {}", path, key.source().begin.line, name);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CLI::Option* option) { return setting_name(*option) == name; });
    if (found == all.end()) return error(ErrorCode::kInvalidArgument, "{}: there is no such setting", where);
    std::vector<std::string> values;
    const auto add = [&](const toml::node& item) {
      const auto value = as_flag(item);
      if (value) values.push_back(*value);
      return value.has_value();
    };
    bool good = true;
    if (const toml::array* items = node.as_array(); items && takes_several(**found)) {
      for (const toml::node& item : *items) good = good && add(item);
    } else {
      good = add(node);
    }
    if (!good || values.empty()) {
      return error(ErrorCode::kInvalidArgument, "{}: has to be {}", where,
                   takes_several(**found) ? "a text or a list of texts" : "a text, a number, or true or false");
    }
    if (!given(name)) BRIO_TRY_OK(set(**found, values, where));
  }
  return {};
}

Result<void> Settings::set(CLI::Option& option, const std::vector<std::string>& values, const std::string& where) {
  try {
    for (const std::string& value : values) option.add_result(value);
    option.run_callback();
  } catch (const CLI::ParseError& failure) {
    return error(ErrorCode::kInvalidArgument, "{}: {}", where, failure.what());
  }
  where_[setting_name(option)] = where;
  return {};
}

std::string Settings::where(const std::string& name) const {
  const auto found = where_.find(name);
  return found == where_.end() ? "--" + name : found->second;
}

std::string Settings::toml() const {
  std::string out;
  for (const CLI::Option* option : options()) {
    const std::string name = setting_name(*option);
    const bool is_flag = option->get_items_expected_max() == 0;
    std::vector<std::string> values = option->results();
    if (is_flag && !values.empty()) values = {option->as<bool>() ? "true" : "false"};
    if (values.empty() && is_flag) values = {"false"};
    if (values.empty() && !option->get_default_str().empty()) values = {option->get_default_str()};
    std::string text;
    for (const std::string& value : values) text.append(text.empty() ? "" : ", ").append(toml_value(value));
    if (values.size() > 1 || (takes_several(*option) && !values.empty())) text = "[" + text + "]";
    const std::string from = given(name) ? where(name) : "default";
    out += fmt::format("{}{} = {}  # {}\n", given(name) ? "" : "# ", name, text, from);
  }
  return out;
}

}  // namespace brio::cli
