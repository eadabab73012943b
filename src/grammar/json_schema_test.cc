// JSON schemas: their languages, and what is refused by name. The same against other implementations: tests/grammar.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/compile.h"
#include "grammar/matcher.h"

namespace brio::grammar {
namespace {

std::shared_ptr<const TokenTrie> bytes() {
  static const auto trie = [] {
    std::vector<std::string> tokens{""};
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    return std::make_shared<const TokenTrie>(std::move(tokens), std::vector<int32_t>{0});
  }();
  return trie;
}

std::string error_of(const std::string& schema) {
  const auto grammar = compile({GrammarKind::kJsonSchema, schema}, bytes());
  return grammar.ok() ? "" : grammar.error().message;
}

void check(const std::string& schema, const std::vector<std::string>& in, const std::vector<std::string>& out) {
  const auto grammar = compile({GrammarKind::kJsonSchema, schema}, bytes());
  ASSERT_TRUE(grammar.ok()) << schema << ": " << grammar.error().message;
  for (const bool expected : {true, false}) {
    for (const std::string& text : expected ? in : out) {
      Matcher matcher(*grammar);
      EXPECT_EQ(matcher.accept_bytes(text) && matcher.is_complete(), expected) << schema << " and " << text;
    }
  }
}

TEST(JsonSchema, Types) {
  check(R"({"type": "integer"})", {"0", "-12"}, {"1.5", "01", "-0", "true"});
  check(R"({"type": ["null", "boolean"]})", {"null", "true", "false"}, {"0", "\"\""});
  check(R"({"type": "number"})", {"0", "-1.5", "2e10", "1E-307"}, {"1.", ".5", "1e999", "+1"});
  check("true", {"[]", "{}", "1", "\"x\""}, {"", " 1"});
  check(R"({"minLength": 2})", {"\"ab\"", "1", "[]"}, {"\"a\""});  // says nothing about what is not a string
}

TEST(JsonSchema, ObjectsInTheSchemasOrder) {
  const std::string schema = R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"},
    "c": {"const": null}}, "required": ["b"], "additionalProperties": false})";
  check(schema, {R"({"b":""})", R"({"a": 1, "b": "x", "c": null})", R"({"b":"","c":null})", "{\n  \"b\": \"\"\n}"},
        {"{}", R"({"a":1})", R"({"b":"","a":1})", R"({"b":"","d":1})", R"({"b":"","b":""})", R"({"b":"",})"});
  const std::string open = R"({"properties": {"a": {"type": "integer"}}, "required": ["x"], "type": "object",
    "additionalProperties": {"type": "boolean"}})";
  check(open, {R"({"x":true})", R"({"a":1,"x":true,"y":false})"},
        {R"({"y":true})", R"({"x":1})", R"({"x":true,"a":true})", R"({"x":true,"\u0061":true})"});
  check(R"({"type": "object", "minProperties": 1, "maxProperties": 2, "properties": {"a": {}, "b": {}, "c": {}},
    "additionalProperties": false})",
        {R"({"a":1})", R"({"a":1,"c":2})"}, {"{}", R"({"a":1,"b":1,"c":1})"});
  check(R"({"type": "object", "maxProperties": 2, "properties": {"a": {}}})",
        {"{}", R"({"a":1,"z":1})", R"({"y":1,"z":1})"}, {R"({"a":1,"y":1,"z":1})"});
}

TEST(JsonSchema, Arrays) {
  check(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
        {"[1]", "[1, 2,3]", "[\n  1\n]"}, {"[]", "[1,2,3,4]", "[\"a\"]", "[1,]"});
  check(R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false})", {"[]", "[1]", "[1,2]"},
        {"[2]", "[1,2,3]"});
  check(R"({"type": "array", "items": {"const": 0}})", {"[]", "[0]", "[0,0,0,0]"}, {"[0 0]", "[1]"});
  check(R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"});
}

TEST(JsonSchema, Strings) {
  check(R"({"type": "string", "minLength": 2, "maxLength": 3})",
        {"\"ab\"", "\"\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\"", R"("\n\u00e9\ud83d\ude00")"}, {"\"a\"", "\"abcd\""});
  check(R"({"type": "string", "pattern": "^[a-c]+$"})", {"\"abc\""}, {"\"\"", "\"abd\""});
  check(R"({"type": "string", "pattern": "b"})", {"\"abc\"", "\"b\"", R"("\"b\n")"}, {"\"ac\""});
  check(R"({"type": "string", "pattern": "^a|\"$", "maxLength": 2})", {"\"ab\"", R"("\"")", R"("b\"")"},
        {"\"ba\"", "\"abc\""});
  check(R"({"type": "string", "pattern": "^[a-z]{3,60}$"})", {"\"abc\"", "\"" + std::string(60, 'z') + "\""},
        {"\"ab\"", "\"" + std::string(61, 'z') + "\""});
  check(R"({"enum": ["a\"b", "\u0001", "é"]})", {R"("a\"b")", R"("\u0001")", "\"\xC3\xA9\""}, {"\"a\""});
}

TEST(JsonSchema, Formats) {
  const auto format = [](const std::string& name, const std::vector<std::string>& in,
                         const std::vector<std::string>& out) {
    const auto quote = [](std::vector<std::string> texts) {
      for (std::string& text : texts) text = "\"" + text + "\"";
      return texts;
    };
    check(R"({"type": "string", "format": ")" + name + "\"}", quote(in), quote(out));
  };
  format("date", {"2024-02-29", "2000-02-29", "1999-12-31"},
         {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-1-1"});
  format("time", {"23:59:59Z", "00:00:00.5+02:30"}, {"24:00:00Z", "12:00:00", "12:60:00Z"});
  format("date-time", {"2024-01-01T00:00:00Z"}, {"2024-01-01 00:00:00Z", "2024-01-01"});
  format("uuid", {"123e4567-e89b-12d3-a456-42661417400F"},
         {"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"});
  format("email", {"a.b+c@example.org", "x@y"}, {"a@", "@b", "a..b@c", "a b@c", "a@-b"});
  format("ipv4", {"0.0.0.0", "255.1.20.199"}, {"256.0.0.0", "01.0.0.0", "1.2.3"});
  format("ipv6", {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4", "1::8", "a:b::1.2.3.4"},
         {"1:2:3:4:5:6:7", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "1:2:3:4:5:6:7:8::"});
}

TEST(JsonSchema, IntegerRangesByEnumeration) {
  for (const auto& [low, high] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 9}, {-3, 12}, {95, 1005}, {-120, -7}, {10, 10}, {-1, 0}, {99, 100}}) {
    const auto grammar = compile(
        {GrammarKind::kJsonSchema, fmt::format(R"({{"type": "integer", "minimum": {}, "maximum": {}}})", low, high)},
        bytes());
    const auto above = compile(
        {GrammarKind::kJsonSchema, fmt::format(R"({{"type": "integer", "exclusiveMinimum": {}}})", low)}, bytes());
    ASSERT_TRUE(grammar.ok() && above.ok());
    for (int value = -1300; value <= 1300; ++value) {
      Matcher one(*grammar), two(*above);
      EXPECT_EQ(one.accept_bytes(std::to_string(value)) && one.is_complete(), low <= value && value <= high) << value;
      EXPECT_EQ(two.accept_bytes(std::to_string(value)) && two.is_complete(), value > low) << value << " above " << low;
    }
  }
  check(R"({"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807})",
        {"9223372036854775807", "-9223372036854775808"}, {"9223372036854775808", "-9223372036854775809"});
}

TEST(JsonSchema, CombinationsAndReferences) {
  check(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})", {"12", "\"a\""}, {"\"ab\"", "null"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false,
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}, {"{}"});
  check(R"({"allOf": [{"type": "object", "properties": {"a": {"minimum": 2}}}, {"required": ["a"]},
            {"properties": {"a": {"type": "integer", "maximum": 4}}}]})",
        {R"({"a":3})"}, {R"({"a":1})", R"({"a":5})", "{}", "1"});
  const std::string tree = R"({"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"},
    "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false}},
    "$ref": "#/$defs/node"})";
  check(tree, {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"}, {R"({"v":1,"next":{}})", "null"});
  check(R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
  check(R"({"type": ["string", "null"], "enum": ["a", null, 3]})", {"\"a\"", "null"}, {"3"});
}

TEST(JsonSchema, WhatIsNotSupportedIsNamed) {
  for (const char* keyword : {"not", "if", "patternProperties", "propertyNames", "contains", "dependentRequired",
                              "multipleOf", "unevaluatedProperties", "$anchor", "$dynamicRef", "nullable", "colour"}) {
    const std::string schema = fmt::format(R"({{"type": "object", "properties": {{"p": {{"{}": {{}}}}}}}})", keyword);
    EXPECT_EQ(error_of(schema), fmt::format("schema, at #/properties/p: keyword '{}' is not supported", keyword));
  }
  EXPECT_EQ(error_of(R"({"uniqueItems": true})"), "schema, at #: keyword 'uniqueItems' is not supported");
  EXPECT_EQ(error_of(R"({"type": "string", "format": "uri"})"), "schema, at #: 'format' of 'uri' is not supported");
  EXPECT_EQ(error_of(R"({"type": "number", "minimum": 1})"),
            "schema, at #: 'minimum' where the type is not 'integer' is not supported");
  EXPECT_EQ(error_of("{\"pattern\": \"(?=a)\"}"), "schema, at #/pattern, at byte 0: look-ahead is not supported");
  EXPECT_EQ(error_of(R"({"$ref": "other.json"})"),
            R"(schema, at #: '$ref' can only point into the schema itself, as "#/...")");
  EXPECT_EQ(error_of(R"({"$ref": "#/$defs/x"})"), "schema, at #: '$ref' points to '#/$defs/x', which is not there");
  EXPECT_EQ(error_of(R"({"items": [{}]})"),
            "schema, at #: 'items' has to be a schema (a list is written 'prefixItems')");
  EXPECT_EQ(error_of(R"({"type": "text"})"),
            "schema, at #: 'type' can name null, boolean, number, integer, string, array and object");
  EXPECT_EQ(error_of(R"({"minItems": -1})"), "schema, at #: 'minItems' has to be a whole number from 0");
  for (const char* broken :
       {"", "{", "3", "[]", R"({"properties": 1})", R"({"required": "a"})", R"({"anyOf": []})", R"({"enum": 1})",
        R"({"type": {}})", R"({"pattern": 1})", R"({"$ref": 1})", R"({"allOf": {}})", "false", R"({"enum": []})"}) {
    EXPECT_NE(error_of(broken), "") << broken;
  }
}

TEST(JsonSchema, HostileOnesAreRefused) {
  EXPECT_NE(error_of(R"({"$ref": "#"})"), "");
  EXPECT_NE(error_of(R"({"allOf": [{"$ref": "#"}]})"), "");
  EXPECT_NE(error_of(R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})"), "");
  EXPECT_NE(error_of(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})"), "");  // endless
  EXPECT_NE(error_of(R"({"type": "array", "minItems": 1000000})"), "");
  EXPECT_NE(error_of(R"({"type": "string", "pattern": "^(a|b)*a(a|b){40}$"})"), "");
  EXPECT_NE(error_of(R"({"type": "object", "maxProperties": 100000})"), "");
  std::string deep = "true";
  for (int i = 0; i < 200; ++i) deep = R"({"items": )" + deep + "}";
  EXPECT_NE(error_of(deep), "");
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += fmt::format(R"({{"anyOf": [{{"minItems": {}}}, {{"maxItems": {}}}]}},)", i, i);
  EXPECT_NE(error_of(R"({"allOf": [)" + wide + "{}]}"), "");
  check(R"({"type": "string", "maxLength": 1000000000})", {"\"abc\""}, {"\""});
}

}  // namespace
}  // namespace brio::grammar
