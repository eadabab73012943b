// What is written by hand here are the edges: text that looks like a call, calls cut off, small models' slips. That calls
// of every family come back as its template wrote them is tests/output/test_output.py's.
#include "chat/output_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace brio::chat {
namespace {

struct Call {
  std::string name, arguments;
  bool operator==(const Call&) const = default;
};

struct Answer {
  std::string content, reasoning;
  std::vector<Call> calls;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  out << "content '" << answer.content << "', reasoning '" << answer.reasoning << "'";
  for (const Call& call : answer.calls) out << ", " << call.name << "(" << call.arguments << ")";
  return out;
}

struct Setting {
  std::string tools = {};
  std::string reasoning = {};
  bool open = false;
};

OutputParser parser_for(const Setting& setting) {
  OutputFormat format;
  if (!setting.tools.empty()) format.tools = find_tool_format(setting.tools).value();
  if (!setting.reasoning.empty()) format.reasoning = find_reasoning_format(setting.reasoning).value();
  return OutputParser(format, std::make_shared<std::vector<std::string>>(std::vector<std::string>{"add", "now"}),
                      setting.open);
}

// Pieces cut anywhere, equal neighbours joined.
Pieces pieces_of(const Setting& setting, const std::vector<std::string>& texts) {
  OutputParser parser = parser_for(setting);
  Pieces cut;
  for (const std::string& text : texts) {
    Pieces more;  // as a server does it: nothing is joined over calls
    parser.append(text, more);
    cut.insert(cut.end(), more.begin(), more.end());
  }
  parser.finish(cut);
  Pieces out;
  for (const Piece& piece : cut) add_piece(out, piece.kind, piece.text);
  return out;
}

Answer answer_of(const Pieces& pieces) {
  Answer out;
  for (const Piece& piece : pieces) {
    if (piece.kind == PieceKind::kContent) out.content += piece.text;
    if (piece.kind == PieceKind::kReasoning) out.reasoning += piece.text;
    if (piece.kind == PieceKind::kCallName) out.calls.push_back({piece.text, ""});
    if (piece.kind == PieceKind::kArguments) out.calls.back().arguments += piece.text;
    if (piece.kind == PieceKind::kControl) out.calls.back().arguments += "<control>";
  }
  return out;
}

// The answer, after checks that hold for every text: no byte is lost, and the cut does not matter.
Answer read(const Setting& setting, const std::string& text) {
  const Pieces whole = pieces_of(setting, {text});
  std::string joined;
  for (const Piece& piece : whole) joined += piece.text;
  EXPECT_EQ(joined, text);
  std::vector<std::string> bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    bytes.push_back(text.substr(i, 1));
    EXPECT_EQ(pieces_of(setting, {text.substr(0, i), text.substr(i)}), whole) << "cut at " << i << " of " << text;
  }
  EXPECT_EQ(pieces_of(setting, bytes), whole) << text;
  return answer_of(whole);
}

const std::string kAdd = R"({"name": "add", "arguments": {"a": 1}})";
const std::string kOther = R"({"name": "other", "arguments": {"a": 1}})";

TEST(ToolCalls, TextAroundCallsStays) {
  const Answer expected{"Let me add.", "", {{"add", R"({"a": 1})"}, {"now", "{}"}}};
  EXPECT_EQ(read({"hermes"}, "Let me add.\n<tool_call>\n" + kAdd +
                                 "\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"),
            expected);
  EXPECT_EQ(read({"hermes"},
                 "One.\n\n<tool_call>" + kAdd + "</tool_call>\nTwo.\n<tool_call>" + kAdd + "</tool_call> Three.\n"),
            (Answer{"One.\n\nTwo. Three.\n", "", {{"add", R"({"a": 1})"}, {"add", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"mistral"}, "Well. [TOOL_CALLS] [" + kAdd + ", " + kOther + "] Done."),
            (Answer{"Well.  Done.", "", {{"add", R"({"a": 1})"}, {"other", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"mistral"}, R"(A[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]now[CALL_ID]x1[ARGS]{}B)"),
            (Answer{"AB", "", {{"add", R"({"a": 1})"}, {"now", "{}"}}}));
}

TEST(ToolCalls, WithoutCallsNothingChanges) {
  for (const ToolFormat& format : tool_formats()) {
    const std::string name(format.name);
    for (const std::string text :
         {"", " ", "\n\n", "Hello.", " Hello \n\n world \n", "a < b, {\"a\": 1}, [1]", "{", "{\"name\"", "{}", "[",
          "[]", "```json\n{\"a\": 1}\n```\n", "<tool_call", "<|python_tag|>print(1)", "[TOOL_CALLS]",
          "{\"name\": \"Bob\", \"arguments\": {\"a\": 1}}"}) {
      EXPECT_EQ(read({name}, text), (Answer{text, "", {}})) << name;
    }
  }
}

TEST(ToolCalls, WithoutItsMarkerACallCountsWhereItsFunctionIsOffered) {
  EXPECT_EQ(read({"llama3"}, " " + kAdd), (Answer{"", "", {{"add", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"llama3"}, kOther), (Answer{kOther, "", {}}));
  EXPECT_EQ(read({"llama3"}, kAdd + "; " + kAdd + "\n" + kOther),
            (Answer{"\n" + kOther, "", {{"add", R"({"a": 1})"}, {"add", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"llama3"}, "<|python_tag|>" + kOther), (Answer{"", "", {{"other", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"llama3"}, "So: " + kAdd), (Answer{"So: " + kAdd, "", {}})) << "only where the answer begins with it";
  for (const ToolFormat& format : tool_formats()) {
    EXPECT_EQ(read({std::string(format.name)}, kAdd + "\n" + kAdd),
              (Answer{"", "", {{"add", R"({"a": 1})"}, {"add", R"({"a": 1})"}}}));
    EXPECT_EQ(read({std::string(format.name)}, "[" + kAdd + ", " + kOther + "]\n"),
              (Answer{"", "", {{"add", R"({"a": 1})"}, {"other", R"({"a": 1})"}}}));
  }
  EXPECT_EQ(read({"json"}, "Here:\n```json\n" + kAdd + "\n```\n"), (Answer{"Here:", "", {{"add", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"json"}, "Here:\n```json\n" + kOther + "\n```\n"),
            (Answer{"Here:\n```json\n" + kOther + "\n```\n", "", {}}));
  EXPECT_EQ(read({"json"}, "```tool_code\n" + kOther + "\n" + kAdd + "\n```"),
            (Answer{"", "", {{"other", R"({"a": 1})"}, {"add", R"({"a": 1})"}}}));
}

TEST(ToolCalls, StringsMayHoldMarkers) {
  const std::string tricky = R"({"a": "</tool_call>\n<tool_call>{\"name\"", "b": ["}", "]", "```", "[TOOL_CALLS]"]})";
  for (const auto& [format, before, after] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": ", "}\n</tool_call>"},
           {"llama3", "{\"name\": \"add\", \"parameters\": ", "}"},
           {"mistral", "[TOOL_CALLS]add[ARGS]", ""},
           {"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
           {"json", "```json\n{\"name\": \"add\", \"parameters\": ", "}\n```"}}) {
    EXPECT_EQ(read({format}, before + tricky + after), (Answer{"", "", {{"add", tricky}}})) << format;
  }
}

TEST(ToolCalls, OtherMembersAreLeftOut) {
  const std::string call =
      R"({"type": "function", "id": 7, "name": "add", "arguments": {"a": 1}, "more": [{"x": "}"}], "id": "y"})";
  EXPECT_EQ(read({"hermes"}, "<tool_call>" + call + "</tool_call>"), (Answer{"", "", {{"add", R"({"a": 1})"}}}));
  EXPECT_EQ(read({"mistral"}, "[TOOL_CALLS] [" + call + ", " + call + "]"),
            (Answer{"", "", {{"add", R"({"a": 1})"}, {"add", R"({"a": 1})"}}}));
}

TEST(ToolCalls, ACallMayHaveNoArguments) {
  for (const std::string call : {R"({"name": "now"})", R"({"name": "now", "arguments": null})"}) {
    EXPECT_EQ(read({"hermes"}, "<tool_call>" + call + "</tool_call>"), (Answer{"", "", {{"now", ""}}}));
  }
}

TEST(ToolCalls, SlipsOfSmallModelsAreForgiven) {
  const Answer expected{"", "", {{"add", R"({"a": 1})"}}};
  EXPECT_EQ(read({"hermes"}, R"(<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>)"), expected)
      << "a brace short";
  EXPECT_EQ(read({"hermes"}, "<tool_call>" + kAdd + "}\n</tool_call>\n"), expected) << "a brace too many";
  EXPECT_EQ(read({"hermes"}, "<tool_call>" + kAdd), expected) << "no closing marker";
  EXPECT_EQ(read({"hermes"}, "<tool_call>" + kAdd + "\n</tool_c"), expected) << "half of it";
  EXPECT_EQ(read({"hermes"}, "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": \"x\ny\"}}</tool_call>"),
            (Answer{"", "", {{"add", R"({"a": "x<control>y"})"}}}))
      << "a raw newline in a string";
}

TEST(ToolCalls, WhatIsNoCallIsContent) {
  const std::string texts[] = {
      "<tool_call>\nadd(1)\n</tool_call>",
      "<tool_call>{'name': 'add'}</tool_call>",
      "<tool_call>{\"name\": \"add\", \"arguments\": [1]}</tool_call>",
      "<tool_call>{\"name\": \"add\", \"arguments\": \"{}\"}</tool_call>",
      "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"add\"}</tool_call>",
      "<tool_call>{\"name\": \"a dd\", \"arguments\": {}}</tool_call>",
      "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
      "<tool_call>{}</tool_call>",
      "Hm.\n<tool_call>{\"name\": \"ad",
      "Hm. <tool_call>",
  };
  for (const std::string& text : texts) EXPECT_EQ(read({"hermes"}, text), (Answer{text, "", {}}));
  const std::string long_head = "<tool_call>{\"note\": \"" + std::string(kMaxCallHead, 'x') + "\", \"name\": \"add\"}";
  EXPECT_EQ(answer_of(pieces_of({"hermes"}, {long_head})), (Answer{long_head, "", {}})) << "no end in sight";
  EXPECT_EQ(read({"hermes"}, "<tool_call>no<tool_call>" + kAdd + "</tool_call>"),
            (Answer{"<tool_call>no", "", {{"add", R"({"a": 1})"}}}));
}

TEST(ToolCalls, BadArgumentsEndTheCallAndTheRestIsContent) {
  EXPECT_EQ(read({"hermes"}, R"(<tool_call>{"name": "add", "arguments": {"a": True}}</tool_call>)"),
            (Answer{"True}}</tool_call>", "", {{"add", R"({"a": )"}}}));
}

TEST(ToolCalls, ACutLeavesWhatCanBeParsedOn) {
  EXPECT_EQ(read({"hermes"}, R"(<tool_call>{"name": "add", "arguments": {"a": "x)"),
            (Answer{"", "", {{"add", R"({"a": "x)"}}}));
  EXPECT_EQ(read({"deepseek"}, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{\"a\""),
            (Answer{"", "", {{"add", R"({"a")"}}}));
}

TEST(ToolCalls, ArgumentsArePassedOnAsTheyCome) {
  OutputParser parser = parser_for({"hermes"});
  Pieces out;
  parser.append("<tool_call>{\"name\": \"add\", \"arguments\": {", out);
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(out[1], (Piece{PieceKind::kCallName, "add"}));
  EXPECT_EQ(out[3], (Piece{PieceKind::kArguments, "{"}));
  for (const char c : std::string("\"text\": \"abc")) {
    Pieces one;
    parser.append(std::string(1, c), one);
    EXPECT_EQ(one, (Pieces{{PieceKind::kArguments, std::string(1, c)}}));
  }
}

TEST(ToolCalls, DeepNestingIsRefusedWithoutLoss) {
  const std::string deep = "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": " + std::string(200, '[');
  const Answer answer = answer_of(pieces_of({"hermes"}, {deep}));
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments.size() + answer.content.size(), std::string("{\"a\": ").size() + 200);
  EXPECT_FALSE(answer.content.empty());
}

TEST(Reasoning, IsSplitOffTheFront) {
  EXPECT_EQ(read({"", "think"}, "<think>\nHm, so.\n</think>\n\nHello <think>."),
            (Answer{"Hello <think>.", "Hm, so.", {}}));
  EXPECT_EQ(read({"", "think"}, "\n<think>\n\n</think>\n\nHello."), (Answer{"Hello.", "", {}}));
  EXPECT_EQ(read({"", "mistral"}, "[THINK]a[/THINK]b"), (Answer{"b", "a", {}}));
  EXPECT_EQ(read({"", "think"}, "No <think>a</think>"), (Answer{"No <think>a</think>", "", {}}));
  EXPECT_EQ(read({"", "think"}, " \n<thin ice"), (Answer{" \n<thin ice", "", {}}));
  EXPECT_EQ(read({"", "think"}, "<think>a </think"), (Answer{"", "a </think", {}})) << "cut by max_tokens";
  EXPECT_EQ(read({"", "think"}, "<think>a\n\n"), (Answer{"", "a\n\n", {}}));
}

TEST(Reasoning, MayBeOpenedByThePrompt) {
  EXPECT_EQ(read({"", "think", true}, "\nSo a < b.\n</think>\nYes."), (Answer{"Yes.", "So a < b.", {}}));
  EXPECT_EQ(read({"hermes", "think", true}, "I add <tool_call>.\n</think>\n\n<tool_call>\n" + kAdd + "\n</tool_call>"),
            (Answer{"", "I add <tool_call>.", {{"add", R"({"a": 1})"}}}));
}

TEST(Reasoning, OnlyTheTemplateOpensIt) {
  const ReasoningFormat& think = *find_reasoning_format("think").value();
  using Prompt = std::vector<tokenizer::TextPiece>;
  EXPECT_TRUE(opens_reasoning(think, Prompt{{"hi", false}, {"<|end|>assistant\n<think>\n", true}}));
  EXPECT_FALSE(opens_reasoning(think, Prompt{{"assistant\n", true}, {"<think>", false}}));
  EXPECT_FALSE(opens_reasoning(think, Prompt{{"assistant\n<think>\n\n</think>\n\n", true}}));
  EXPECT_FALSE(opens_reasoning(think, Prompt{}));
}

TEST(Formats, AreFoundByTemplateAndByName) {
  EXPECT_EQ(detect_tool_format("... <tool_call>\n{\"name\" ...")->name, "hermes");
  EXPECT_EQ(detect_tool_format("<|start_header_id|>ipython<|end_header_id|>")->name, "llama3");
  EXPECT_EQ(detect_tool_format("{{ '[TOOL_CALLS] [' }}")->name, "mistral");
  EXPECT_EQ(detect_tool_format("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>")->name, "deepseek");
  EXPECT_EQ(detect_tool_format("<tool_call>\n<function=name>"), nullptr) << "arguments are no JSON there";
  EXPECT_EQ(detect_tool_format("<start_of_turn>model"), nullptr);
  EXPECT_EQ(detect_reasoning_format("{{ '<think>\n' }}")->name, "think");
  EXPECT_EQ(detect_reasoning_format("[/THINK]")->name, "mistral");
  EXPECT_EQ(detect_reasoning_format("<|im_start|>"), nullptr);
  EXPECT_EQ(find_tool_format("gemma").value()->name, "json");
  EXPECT_EQ(find_tool_format("x").error().message,
            "there is no tool parser 'x'; there are auto, none, hermes, llama3, mistral, deepseek, json");
  EXPECT_EQ(find_reasoning_format("x").error().message,
            "there is no reasoning parser 'x'; there are auto, none, think, mistral");
}

}  // namespace
}  // namespace brio::chat
