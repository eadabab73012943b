#include "chat/tool_format.h"

#include <fmt/format.h>

namespace brio::chat {
namespace {

#define BRIO_READ(read) \
  if (const Match match = (read); match != Match::kYes) return match

// ---- {"name": "...", "arguments": {...}} ----

bool is_name(std::string_view text) {
  constexpr size_t kLongest = 256;
  if (text.empty() || text.size() > kLongest) return false;
  for (const char c : text) {
    if (static_cast<uint8_t>(c) <= 0x20 || c == 0x7F || c == '"' || c == '\\') return false;
  }
  return true;
}

Match read_key(PartialReader& in, std::string_view& key) {
  in.skip_space();
  BRIO_READ(in.string(key));
  in.skip_space();
  BRIO_READ(in.literal(":"));
  in.skip_space();
  return in.at_end() ? Match::kShort : Match::kYes;
}

// Members up to the arguments. The name has to come before them, or they could not be passed on as they come.
Match read_object(PartialReader& in, CallHead& out) {
  BRIO_READ(in.literal("{"));
  while (true) {
    std::string_view key;
    BRIO_READ(read_key(in, key));
    if (key == "name") {
      BRIO_READ(in.string(out.name));
      if (!is_name(out.name)) return Match::kNo;
    } else if ((key == "arguments" || key == "parameters") && !in.next_is('n')) {
      if (out.name.empty() || !in.next_is('{')) return Match::kNo;
      out.size = in.at();
      out.in_object = true;
      return Match::kYes;
    } else {
      BRIO_READ(in.value());
    }
    in.skip_space();
    if (in.next_is('}')) break;
    BRIO_READ(in.literal(","));
  }
  if (out.name.empty()) return Match::kNo;
  out.size = in.at() + 1;
  out.has_arguments = false;
  return Match::kYes;
}

// Of a list too: each further object follows a separator.
Match read_json_head(std::string_view /*marker*/, std::string_view text, CallHead& out) {
  PartialReader in(text);
  in.skip_space();
  if (in.next_is('[')) in.skip(1);
  in.skip_space();
  return read_object(in, out);
}

// ---- Mistral ----

// name[ARGS]{...}, name[CALL_ID]id[ARGS]{...}, name{...}
Match read_mistral_head(std::string_view marker, std::string_view text, CallHead& out) {
  PartialReader in(text);
  in.skip_space();
  if (marker.empty() || in.next_is('[') || in.next_is('{')) return read_json_head(marker, text, out);
  BRIO_READ(in.word("[{", out.name));
  if (!is_name(out.name)) return Match::kNo;
  if (in.next_is('[')) {
    PartialReader id = in;
    const Match has_id = id.literal("[CALL_ID]");
    if (has_id == Match::kShort) return has_id;
    if (has_id == Match::kYes) {
      std::string_view ignored;
      BRIO_READ(id.word("[", ignored));
      in = id;
    }
    BRIO_READ(in.literal("[ARGS]"));
  }
  in.skip_space();
  out.size = in.at();
  return in.at_end() ? Match::kShort : in.next_is('{') ? Match::kYes : Match::kNo;
}

// ---- DeepSeek ----

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>";
constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>";
constexpr std::string_view kDeepseekInner[] = {"<｜tool▁sep｜>"};

Match read_deepseek_head(std::string_view marker, std::string_view text, CallHead& out) {
  if (marker.empty()) return read_json_head(marker, text, out);
  PartialReader in(text);
  in.skip_space();
  if (marker == kCallsBegin) BRIO_READ(in.literal(kCallBegin));
  BRIO_READ(in.word("<", out.name));
  BRIO_READ(in.literal(kDeepseekInner[0]));
  in.skip_space();
  if (in.at_end()) return Match::kShort;
  if (!in.next_is('{')) {  // that was the type; now the name and a fence
    BRIO_READ(in.word("\n", out.name));
    in.skip_space();
    if (in.next_is('`')) BRIO_READ(in.literal("```json"));
    in.skip_space();
  }
  if (!is_name(out.name)) return Match::kNo;
  out.size = in.at();
  return in.at_end() ? Match::kShort : in.next_is('{') ? Match::kYes : Match::kNo;
}

#undef BRIO_READ

// ---- the families ----

constexpr CallMarker kHermesMarkers[] = {{"<tool_call>"}, {"```json", true}};
constexpr std::string_view kHermesClosers[] = {"</tool_call>", "```", "]"};
constexpr CallMarker kLlamaMarkers[] = {{"<|python_tag|>"}};
constexpr std::string_view kLlamaClosers[] = {"]"};
constexpr CallMarker kMistralMarkers[] = {{"[TOOL_CALLS]"}};
constexpr std::string_view kMistralClosers[] = {"]"};
constexpr std::string_view kMistralInner[] = {"[CALL_ID]", "[ARGS]"};
constexpr CallMarker kDeepseekMarkers[] = {{kCallsBegin}, {kCallBegin}};
constexpr std::string_view kDeepseekClosers[] = {"```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "]"};
constexpr CallMarker kJsonMarkers[] = {{"```tool_code"}, {"```tool_call"}, {"```json", true}};
constexpr std::string_view kJsonClosers[] = {"```", "]"};

// A brace among the separators: small models close an object once too often.
constexpr ToolFormat kFormats[] = {
    {"hermes", kHermesMarkers, kHermesClosers, {}, "},", read_json_head, true},
    {"llama3", kLlamaMarkers, kLlamaClosers, {}, "};,", read_json_head, false},
    {"mistral", kMistralMarkers, kMistralClosers, kMistralInner, "},", read_mistral_head, false},
    {"deepseek", kDeepseekMarkers, kDeepseekClosers, kDeepseekInner, "},", read_deepseek_head, false},
    {"json", kJsonMarkers, kJsonClosers, {}, "};,", read_json_head, true},
};

// Spellings of other servers.
struct Alias {
  std::string_view alias, name;
};
constexpr Alias kAliases[] = {
    {"qwen", "hermes"}, {"llama3_json", "llama3"},   {"llama4_json", "llama3"},
    {"gemma", "json"},  {"deepseek_v3", "deepseek"}, {"deepseek_v31", "deepseek"},
};

}  // namespace

std::span<const ToolFormat> tool_formats() {
  return kFormats;
}

Match read_object_end(std::string_view text, size_t& size) {
  PartialReader in(text.substr(0, kMaxCallHead));
  while (true) {
    in.skip_space();
    if (in.at_end()) return Match::kShort;
    if (in.next_is('}')) {
      size = in.at() + 1;
      return Match::kYes;
    }
    if (!in.next_is(',')) return Match::kNo;
    in.skip(1);
    std::string_view key;
    if (const Match match = read_key(in, key); match != Match::kYes) return match;
    if (const Match match = in.value(); match != Match::kYes) return match;
  }
}

const ToolFormat* detect_tool_format(std::string_view chat_template) {
  struct Sign {
    std::string_view text, format;
  };
  // The first that is found decides: a template may mention another family's marker in an example.
  constexpr Sign kSigns[] = {
      {"tool▁call▁begin", "deepseek"},
      {"[TOOL_CALLS]", "mistral"},
      {"<function=", ""},
      {"<tool_call>", "hermes"},
      {"<|python_tag|>", "llama3"},
      {"Environment: ipython", "llama3"},
      {"<|start_header_id|>ipython", "llama3"},
  };
  for (const Sign& sign : kSigns) {
    if (chat_template.find(sign.text) == std::string_view::npos) continue;
    return sign.format.empty() ? nullptr : *find_tool_format(sign.format);
  }
  return nullptr;
}

Result<const ToolFormat*> find_tool_format(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.alias == name) name = alias.name;
  }
  std::string known;
  for (const ToolFormat& format : kFormats) {
    if (format.name == name) return &format;
    known += fmt::format(", {}", format.name);
  }
  return error(ErrorCode::kInvalidArgument, "there is no tool parser '{}'; there are auto, none{}", name, known);
}

}  // namespace brio::chat
