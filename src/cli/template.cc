// template: what a chat template makes of a conversation.
#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "chat/template.h"
#include "cli/command.h"
#include "server/loaded_model.h"

namespace brio::cli {
namespace {

struct Flags {
  std::string source;
  std::string conversation;
  bool pieces = false;
};

// How errors call the file of the conversation.
std::string shown_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<boost::json::object> parse_conversation(const std::string& path) {
  BRIO_TRY(const std::string text, read_text(path));
  boost::system::error_code failure;
  boost::json::parse_options options;
  options.max_depth = 128;  // as deep as the server takes
  boost::json::stream_parser parser({}, options);
  const size_t used = parser.write(text, failure);
  if (!failure) parser.finish(failure);
  if (failure) {
    return error(ErrorCode::kInvalidArgument, "{}: byte {}: {}", shown_name(path), used, failure.message());
  }
  boost::json::value value = parser.release();
  if (value.is_array()) {
    boost::json::object wrapped;
    wrapped["messages"] = std::move(value);
    value = std::move(wrapped);
  }
  if (!value.is_object())
    return error(ErrorCode::kInvalidArgument, "{}: expected an object with \"messages\"", shown_name(path));
  return std::move(value.as_object());
}

// The template, and what the model's bos and eos tokens are called.
struct Loaded {
  chat::Template chat_template;
  std::string bos, eos;
};

Result<Loaded> load(const std::string& source) {
  if (std::filesystem::path(source).extension() == ".jinja") {
    BRIO_TRY(std::string text, read_text(source));
    BRIO_TRY(chat::Template parsed, chat::Template::parse(text, source));
    return Loaded{std::move(parsed), {}, {}};
  }
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(source));
  BRIO_TRY(auto parsed, server::load_chat_template(checkpoint));
  if (!parsed) {
    return Error{ErrorCode::kUnsupported, fmt::format("{} has no chat template: it is a base model", source), {}};
  }
  Loaded loaded{std::move(*parsed), {}, {}};
  BRIO_TRY(const auto tokenizer, server::load_tokenizer(checkpoint));
  const auto text_of = [&](int32_t id) {
    return id < 0 ? std::string() : tokenizer->piece(id, tokenizer::RenderSpecial::kYes);
  };
  loaded.bos = text_of(tokenizer->spec().bos);
  loaded.eos = text_of(tokenizer->spec().eos);
  return loaded;
}

Result<void> render(const Flags& flags) {
  BRIO_TRY(const Loaded loaded, load(flags.source));
  BRIO_TRY(boost::json::object context, parse_conversation(flags.conversation));
  if (!context.contains("bos_token")) context["bos_token"] = loaded.bos;
  if (!context.contains("eos_token")) context["eos_token"] = loaded.eos;
  if (!context.contains("tools")) context["tools"] = nullptr;
  auto now = std::chrono::system_clock::now();
  if (const auto* messages = context.if_contains("messages"); messages == nullptr || !messages->is_array()) {
    return error(ErrorCode::kInvalidArgument, "{}: 'messages' has to be a list", shown_name(flags.conversation));
  }
  if (const auto* at = context.if_contains("now")) {
    constexpr int64_t kMostSeconds = 9'000'000'000;  // the clock counts nanoseconds in 64 bits
    boost::system::error_code failure;
    const auto seconds = at->is_number() ? at->to_number<int64_t>(failure) : INT64_MAX;
    if (failure || seconds < -kMostSeconds || seconds > kMostSeconds) {
      return error(ErrorCode::kInvalidArgument, "{}: 'now' has to be whole seconds since 1970, within {} of it",
                   shown_name(flags.conversation), kMostSeconds);
    }
    now = std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
    context.erase("now");
  }
  BRIO_TRY(const std::vector<tokenizer::TextPiece> pieces, loaded.chat_template.render(context, now));
  if (flags.pieces) {
    for (const auto& piece : pieces) {
      fmt::print("{}{}\n", piece.allow_special ? "template  " : "context   ",
                 boost::json::serialize(boost::json::value(piece.text)));
    }
    return {};
  }
  const std::string text = chat::join(pieces);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

}  // namespace

void add_template_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("template", "Show the prompt that a chat template makes of a conversation");
  command->add_option("SOURCE", flags->source, "A model, or a FILE.jinja")->required();
  command
      ->add_option("-f,--file", flags->conversation,
                   "JSON: {messages, tools, add_generation_prompt, bos_token, eos_token, now (Unix seconds), ...}; "
                   "- is standard input")
      ->required();
  command->add_flag("--pieces", flags->pieces,
                    "Show which text comes from the template and which from the conversation");
  command->callback([flags, &exit_code] { exit_code = run_command([&] { return render(*flags); }); });
}

}  // namespace brio::cli
