// parse_output: reads what models wrote, as the server reads it. One JSON object a line on standard input,
//   {"text": ..., "tools": FORMAT or "", "reasoning": FORMAT or "", "open": bool, "offered": [names], "every_cut": bool}
// one a line on standard output: {"content", "reasoning", "calls": [{"name", "arguments"}]}, or {"error"} where a byte is
// lost or the answer depends on how the text was cut. The text is cut into bytes, and with every_cut also in two at every
// place.
#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "chat/output_parser.h"

namespace {

using namespace brio;
namespace json = boost::json;

struct Setting {
  chat::OutputFormat format;
  chat::ToolNames offered;
  bool open = false;
};

chat::Pieces pieces_of(const Setting& setting, const std::vector<std::string_view>& texts) {
  chat::OutputParser parser(setting.format, setting.offered, setting.open);
  chat::Pieces out;  // joined as they come
  for (const std::string_view text : texts) parser.append(text, out);
  parser.finish(out);
  return out;
}

std::string complaint(const Setting& setting, std::string_view text, bool every_cut, const chat::Pieces& whole) {
  std::string joined;
  for (const chat::Piece& piece : whole) joined += piece.text;
  if (joined != text) return "bytes are lost";
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  if (pieces_of(setting, bytes) != whole) return "byte by byte the answer is another one";
  for (size_t i = 1; every_cut && i < text.size(); ++i) {
    if (pieces_of(setting, {text.substr(0, i), text.substr(i)}) != whole) return "cut at byte " + std::to_string(i);
  }
  return {};
}

json::object answer_of(const chat::Pieces& pieces) {
  std::string content, reasoning;
  std::vector<std::pair<std::string, std::string>> calls;
  for (const chat::Piece& piece : pieces) {
    if (piece.kind == chat::PieceKind::kContent) content += piece.text;
    if (piece.kind == chat::PieceKind::kReasoning) reasoning += piece.text;
    if (piece.kind == chat::PieceKind::kCallName) calls.emplace_back(piece.text, "");
    if (piece.kind == chat::PieceKind::kArguments) calls.back().second += piece.text;
  }
  json::array list;
  for (const auto& [name, arguments] : calls) list.push_back({{"name", name}, {"arguments", arguments}});
  return {{"content", content}, {"reasoning", reasoning}, {"calls", std::move(list)}};
}

json::object answer(const json::object& line) {
  const auto text_of = [&](const char* key) { return std::string(line.at(key).as_string()); };
  Setting setting;
  if (const std::string name = text_of("tools"); !name.empty()) {
    setting.format.tools = chat::find_tool_format(name).value();
  }
  if (const std::string name = text_of("reasoning"); !name.empty()) {
    setting.format.reasoning = chat::find_reasoning_format(name).value();
  }
  setting.open = line.at("open").as_bool();
  auto offered = std::make_shared<std::vector<std::string>>();
  for (const json::value& name : line.at("offered").as_array()) offered->emplace_back(name.as_string());
  setting.offered = offered;
  const std::string text = text_of("text");
  const chat::Pieces whole = pieces_of(setting, {text});
  const std::string wrong = complaint(setting, text, line.at("every_cut").as_bool(), whole);
  return wrong.empty() ? answer_of(whole) : json::object{{"error", wrong}};
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) std::puts(json::serialize(answer(json::parse(line).as_object())).c_str());
  return 0;
}
