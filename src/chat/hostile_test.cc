// Templates that want to exhaust the machine must end in an error, or at least in a result, within their limits.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "chat/template.h"

namespace brio::chat {
namespace {

const auto kNow = std::chrono::system_clock::from_time_t(0);

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// No limit of time, since a slow machine must not change which limit is met first; of the others a part, since sanitized
// builds take a minute to reach the usual ones.
RenderLimits untimed() {
  RenderLimits limits;
  limits.max_steps /= 10;
  limits.max_memory_bytes /= 4;
  limits.max_time = std::chrono::hours(1);
  return limits;
}

// The message of the error, empty if there is none.
std::string error_of(const std::string& source, const RenderLimits& limits = untimed(),
                     const boost::json::object& context = {}) {
  Result<Template> parsed = Template::parse(source);
  if (!parsed.ok()) return parsed.error().message;
  Result<std::vector<tokenizer::TextPiece>> pieces = parsed->render(context, kNow, limits);
  return pieces.ok() ? "" : pieces.error().message;
}

void expect_error(const std::string& source, const std::string& about) {
  const std::string message = error_of(source);
  EXPECT_NE(message.find(about), std::string::npos) << source.substr(0, 200) << "\ngives: " << message;
}

TEST(Hostile, RecursionEnds) {
  expect_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeper");
  expect_error("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", "deeper");
  expect_error("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deeper");
  expect_error(
      "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ "
      "n() }}",
      "deeper");
  expect_error("{% macro m(a=m()) %}{% endmacro %}{{ m() }}", "");
  expect_error(
      "{% set ns = namespace() %}{% macro m() %}{{ [1]|map('default', ns.m())|list }}{% endmacro %}{% set ns.m = m "
      "%}{{ m() }}",
      "deeper");
}

TEST(Hostile, NestedSourceIsRefused) {
  constexpr size_t kMany = 20'000;
  const std::pair<const char*, const char*> pairs[] = {
      {"(", ")"}, {"[", "]"}, {"{'a':", "}"},       {"a(", ")"},     {"a[", "]"},     {"not ", ""},
      {"-", ""},  {"+", ""},  {"a if a else ", ""}, {"[a|f(", ")]"}, {"a is b(", ")"}};
  for (const auto& [open, close] : pairs) {
    expect_error("{{ " + repeat(open, kMany) + "a" + repeat(close, kMany) + " }}", "nested too deeply");
  }
  expect_error("{{ a" + repeat(".b", kMany) + " }}", "nested too deeply");
  expect_error("{{ a" + repeat("|f", kMany) + " }}", "nested too deeply");
  expect_error("{{ a" + repeat("+a", kMany) + " }}", "nested too deeply");
  expect_error("{{ a" + repeat(" is b", 2) + " }}", "chained");
  expect_error("{{ a" + repeat(" or a", kMany) + " }}", "nested too deeply");
  expect_error("{{ a" + repeat("[0]", kMany) + " }}", "nested too deeply");
  expect_error("{{ a" + repeat("()", kMany) + " }}", "nested too deeply");
  expect_error(repeat("{% if a %}", 10'000), "nested too deeply");
  expect_error(repeat("{% for a in b %}", 10'000), "nested too deeply");
  expect_error("{% for " + repeat("(", kMany) + "a" + repeat(")", kMany) + " in b %}", "nested too deeply");
  expect_error(repeat("x", (size_t{1} << 20) + 1), "the most is");
}

TEST(Hostile, LongFlatSourceWorks) {
  EXPECT_EQ(error_of("{{ [" + repeat("1,", 100'000) + "]|length }}"), "");
  EXPECT_EQ(error_of("{{ a" + repeat("~a", 100'000) + " }}"), "");
  EXPECT_EQ(error_of(repeat("{% if a %}{% endif %}", 20'000)), "");
  EXPECT_EQ(error_of("{% if a %}" + repeat("{% elif a %}", 20'000) + "{% endif %}"), "");
}

TEST(Hostile, StepsAreCounted) {
  expect_error("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "steps");
  expect_error("{% for a in range(1000) %}{{ range(100000)|sum }}{% endfor %}", "steps");
  expect_error("{% for a in range(100000) %}{{ range(100000)|list|sort|unique|list|length }}{% endfor %}", "steps");
  expect_error("{% set s = 'a' * 10000000 %}{% for a in range(100000) %}{{ 'b' in s }}{{ s[5000] }}{% endfor %}",
               "steps");
  expect_error("{% set s = 'a' * 10000000 %}{% for a in range(100000) %}{% set b = s ~ '' %}{% endfor %}", "steps");
  expect_error(
      "{% set s = 'a' * 1000000 %}{% for a in range(100000) %}{% set b = s|replace(s[:500000] ~ 'b', '') %}{% endfor "
      "%}",
      "steps");
}

TEST(Hostile, TimeIsLimited) {
  RenderLimits limits;
  limits.max_steps = int64_t{1} << 60;
  limits.max_time = std::chrono::milliseconds(1);
  const std::string loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  EXPECT_NE(error_of(loop, limits).find("longer than 1 ms"), std::string::npos);
}

// By the limit of memory, or by that of steps, which also count bytes.
TEST(Hostile, MemoryIsLimited) {
  expect_error("{{ 'a' * 1000000000000 }}", "more than");
  expect_error("{{ 1000000000000 * 'ab' }}", "more than");
  expect_error("{{ [1, 2] * 1000000000000 }}", "more than");
  expect_error("{{ 'a' * 9223372036854775807 }}", "more than");
  expect_error("{% set ns = namespace(s='aa') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
               "more than");
  expect_error("{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
               "more than");
  expect_error("{% set s = 'a' * 1000000 %}{{ s|replace('a', s) }}", "more than");
  expect_error("{% set s = 'a' * 1000000 %}{{ s|join(s) }}", "more than");
  expect_error("{% set s = 'a' * 1000000 %}{{ (s ~ '%s' * 1000)|format(*([s] * 1000)) }}", "more than");
  expect_error("{{ 'a'.center(10000000000) }}", "more than");
  expect_error("{{ [1]|batch(10000000000, 'x')|list }}", "more than");
  expect_error("{{ 'a'.zfill(10000000000) }}", "more than");
  expect_error("{{ ('\\n' * 100000)|indent(10000, true, true) }}", "more than");
  expect_error("{{ ('\\n' * 100000000)|indent }}", "more than");
  expect_error("{{ ('\\n' * 50000000).splitlines()|length }}", "more than");
  expect_error("{{ '%1000000s' * 1000 % ((1,) * 1000) }}", "more than");
  expect_error("{% for i in range(100000) %}{% set ns = namespace(a=range(1000)|list) %}{% endfor %}", "");
  expect_error("{{ '%9999999999s' % 1 }}", "more than");
  expect_error("{{ '{:9999999999}'.format(1) }}", "more than");
  expect_error("{{ range(1000000000) }}", "range has");
  expect_error("{{ range(-9223372036854775807, 9223372036854775807) }}", "range has");
  expect_error("{{ 10 ** 1000000000000 }}", "64 bits");
}

TEST(Hostile, OutputIsLimited) {
  RenderLimits limits = untimed();
  limits.max_output_bytes = 1000;
  EXPECT_NE(error_of("{% for i in range(2000) %}a{% endfor %}", limits).find("more than 1000 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("{{ 'a' * 1001 }}", limits).find("more than 1000 bytes"), std::string::npos);
  EXPECT_EQ(error_of("{{ 'a' * 1000 }}", limits), "");
}

TEST(Hostile, NestedValuesAreLimited) {
  const std::string nest =
      "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}";
  expect_error(nest, "deeper");
  expect_error("{% set ns = namespace(l={}) %}{% for i in range(100000) %}{% set ns.l = {'a': ns.l} %}{% endfor %}",
               "deeper");
  expect_error(
      "{% set ns = namespace(l='x') %}{% for i in range(100000) %}{% set ns.l = cycler(ns.l).next %}{% endfor %}",
      "deeper");
  expect_error("{% set ns = namespace(l='x') %}{% for i in range(100000) %}{% set ns.l = joiner(ns.l) %}{% endfor %}",
               "deeper");
  // A chain of namespaces is as deep as memory allows, but must not overflow the stack when it goes.
  RenderLimits roomy = untimed();
  roomy.max_memory_bytes = RenderLimits().max_memory_bytes;
  EXPECT_EQ(error_of("{% set ns = namespace() %}{% for i in range(100000) %}{% set ns.next = namespace(before=ns.next) "
                     "%}{% endfor %}",
                     roomy),
            "");
}

// Few objects that print, compare or hash as 2^60.
TEST(Hostile, SharedStructureIsNotWalkedForever) {
  const std::string dag =
      "{% set ns = namespace(a=[], b=[]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}"
      "{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
  expect_error(dag + "{{ ns.a }}", "");
  EXPECT_NE(error_of(dag + "{{ ns.a }}"), "");
  EXPECT_NE(error_of(dag + "{{ ns.a|tojson }}"), "");
  EXPECT_NE(error_of(dag + "{{ ns.a == ns.b }}"), "");
  EXPECT_NE(error_of(dag + "{{ [ns.a, ns.b]|sort }}"), "");
  EXPECT_NE(error_of(dag + "{{ ns.b in [ns.a] }}"), "");
  EXPECT_NE(error_of(dag + "{{ ns.a|string|length }}"), "");
}

// Objects that refer to themselves: the sanitizers' leak check is the test.
TEST(Hostile, CyclesAreFreed) {
  EXPECT_EQ(error_of("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self.self is defined }}"), "");
  EXPECT_EQ(error_of("{% set ns = namespace() %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}{{ ns.m() }}"),
            "");
  EXPECT_EQ(
      error_of("{% set ns = namespace() %}{% for i in range(3) %}{% macro m() %}{{ i }}{% endmacro %}{% set ns.m = m %}"
               "{% set keep = ns.m %}{% endfor %}{{ ns.m() }}"),
      "");
  EXPECT_EQ(
      error_of(
          "{% set ns = namespace() %}{% for i in [ns] %}{% set ns.l = loop %}{{ loop.changed(loop, ns) }}{% endfor %}"
          "{{ ns.l.index }}{{ ns.l.changed(ns.l) }}"),
      "");
  EXPECT_EQ(error_of("{% for i in [1] recursive %}{% set a = loop %}{% set ns = namespace(l=loop) %}{% endfor %}"), "");
  EXPECT_EQ(error_of("{% set ns = namespace() %}{% set ns.c = cycler(ns, 1) %}{% set j = joiner(ns) %}{% set ns.j = j "
                     "%}{{ j() }}"),
            "");
  EXPECT_EQ(
      error_of(
          "{% set ns = namespace() %}{% with a = 1 %}{% macro m() %}{% endmacro %}{% set ns.m = m %}{% set b = m %}"
          "{% with c = 2 %}{% macro n() %}{% endmacro %}{% set d = n %}{% endwith %}{% endwith %}"),
      "");
}

TEST(Hostile, DeepContextIsRefused) {
  boost::json::value nested = 1;
  for (int i = 0; i < 5000; ++i) nested = boost::json::array{std::move(nested)};
  EXPECT_NE(error_of("{{ x }}", untimed(), {{"x", nested}}).find("deeper"), std::string::npos);
}

TEST(Hostile, ErrorsNameTheirPlace) {
  Result<Template> parsed = Template::parse("a\n{% if %}", "my.jinja");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "my.jinja, line 2, column 7: expected an expression, found '%}'");
  parsed = Template::parse("a\n\n{% for x in [1] %}\n{{ x.y.z }}{% endfor %}", "my.jinja");
  ASSERT_TRUE(parsed.ok());
  const auto rendered = parsed->render({}, kNow);
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().message, "my.jinja, line 4: a int has no attribute 'y'");
  parsed = Template::parse("\n{{ raise_exception('no') }}", "my.jinja");
  const auto raised = parsed->render({}, kNow);
  EXPECT_EQ(raised.error().message, "no");
  EXPECT_EQ(raised.error().hint, "raised by the my.jinja, line 2");
}

}  // namespace
}  // namespace brio::chat
