#include "chat/template.h"

#include "chat/context.h"
#include "chat/interpreter.h"
#include "chat/lexer.h"
#include "chat/parser.h"

namespace brio::chat {
namespace {

constexpr size_t kMaxSourceBytes = size_t{1} << 20;  // the longest real templates have about 20 kB

}  // namespace

struct Template::Parsed {
  std::string name;
  std::string source;
  Block block;
};

Result<Template> Template::parse(std::string_view source, std::string name) {
  if (source.size() > kMaxSourceBytes) {
    return error(ErrorCode::kInvalidFile, "{}: {} bytes, the most is {}", name, source.size(), kMaxSourceBytes);
  }
  auto parsed = std::make_shared<Parsed>();
  BRIO_TRY(parsed->block, parse_template(normalise_newlines(source), name));
  parsed->name = std::move(name);
  parsed->source = source;
  return Template(std::move(parsed));
}

std::string_view Template::source() const {
  return parsed_->source;
}

Result<std::vector<tokenizer::TextPiece>> Template::render(const boost::json::object& context,
                                                           std::chrono::system_clock::time_point now,
                                                           const RenderLimits& limits) const {
  Interpreter interpreter(parsed_->name, now, limits);
  BRIO_TRY(Dict values, context_values(interpreter.budget(), context));
  BRIO_TRY(const Text text, interpreter.render(parsed_->block, std::move(values)));
  std::vector<tokenizer::TextPiece> pieces;
  size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    pieces.push_back({text.bytes().substr(begin, run.end - begin), run.trusted});
    begin = run.end;
  }
  return pieces;
}

std::string join(std::span<const tokenizer::TextPiece> pieces) {
  std::string text;
  for (const tokenizer::TextPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace brio::chat
