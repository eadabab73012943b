#include "grammar/string_formats.h"

#include <fmt/format.h>

namespace brio::grammar {
namespace {

std::string date() {
  const std::string_view common =
      "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])";
  const std::string_view years = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";  // 0001 on
  // Divisible by 4 but not by 100, or by 400.
  const std::string_view leap_years = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
  return fmt::format("({}-({})|{}-02-29)", years, common, leap_years);
}

std::string time() {
  const std::string_view hours = "([01][0-9]|2[0-3])";
  return fmt::format("{0}:[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([Zz]|[+\\-]{0}:[0-5][0-9])", hours);
}

std::string ipv4() {
  const std::string_view byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return fmt::format("({0}\\.{0}\\.{0}\\.{0})", byte);
}

// n groups in front of "::", at most 7 - n behind it; the last two of eight may be an IPv4 address.
std::string ipv6() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  const std::string last = fmt::format("({0}:{0}|{1})", group, ipv4());
  std::string out = fmt::format("({0}:){{6}}{1}", group, last);
  for (int before = 0; before <= 7; ++before) {
    const std::string front = before == 0 ? "" : fmt::format("{0}(:{0}){{{1}}}", group, before - 1);
    const int most = 7 - before;  // groups that "::" leaves room for
    std::string back;
    if (most >= 2) back = fmt::format("(({0}:){{0,{1}}}{2})?|{0}", group, most - 2, last);
    if (most == 1) back = fmt::format("({0})?", group);
    out += fmt::format("|{}::({})", front, back);
  }
  return out;
}

std::string email() {
  const std::string_view atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+";
  const std::string_view label = "[A-Za-z0-9]([A-Za-z0-9\\-]*[A-Za-z0-9])?";
  return fmt::format("{0}(\\.{0})*@{1}(\\.{1})*", atom, label);
}

}  // namespace

std::optional<std::string> format_regex(std::string_view format) {
  if (format == "date") return date();
  if (format == "time") return time();
  if (format == "date-time") return date() + "[Tt]" + time();
  if (format == "uuid") return "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
  if (format == "email") return email();
  if (format == "ipv4") return ipv4();
  if (format == "ipv6") return ipv6();
  return std::nullopt;
}

}  // namespace brio::grammar
