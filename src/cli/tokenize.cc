// tokenize, detokenize: text to ids and back with a model's own vocabulary.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/terminal.h"
#include "server/loaded_model.h"
#include "tokenizer/utf8.h"

namespace brio::cli {
namespace {

struct Flags {
  std::string model;
  std::string file = "-";
  std::string text;
  bool has_text = false;
  bool ids_only = false;
  bool special = false;
};

// A token's bytes in quotes: controls, quotes and what is not whole UTF-8 are escaped.
std::string escaped(const std::string& bytes) {
  std::string out = "\"";
  for (size_t i = 0; i < bytes.size();) {
    const tokenizer::CodePoint c = tokenizer::decode_utf8(bytes, i);
    const std::string_view part = std::string_view(bytes).substr(i, c.size);
    i += c.size;
    if (part == "\"" || part == "\\") {
      out += '\\';
      out += part;
    } else if (part == "\n") {
      out += "\\n";
    } else if (c.valid) {
      out += printable(part);
    } else {
      for (const char byte : part) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return out + '"';
}

Result<void> tokenize(const Flags& flags) {
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(flags.model));
  BRIO_TRY(const auto tokenizer, server::load_tokenizer(checkpoint));
  std::string text = flags.text;
  if (!flags.has_text) {
    BRIO_TRY(text, read_text(flags.file));
  }
  const auto trust = flags.special ? tokenizer::Trust::kTrusted : tokenizer::Trust::kUntrusted;
  const auto add = flags.special ? tokenizer::AddSpecial::kYes : tokenizer::AddSpecial::kNo;
  BRIO_TRY(const std::vector<int32_t> ids, tokenizer->encode(text, trust, add));
  if (flags.ids_only) {
    fmt::print("{}\n", fmt::join(ids, " "));
    return {};
  }
  for (const int32_t id : ids)
    fmt::print("{:>7}  {}\n", id, escaped(tokenizer->piece(id, tokenizer::RenderSpecial::kYes)));
  return {};
}

Result<void> detokenize(const Flags& flags) {
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(flags.model));
  BRIO_TRY(const auto tokenizer, server::load_tokenizer(checkpoint));
  std::string text = flags.text;
  if (!flags.has_text) {
    BRIO_TRY(text, read_text(flags.file));
  }
  BRIO_TRY(const std::vector<int32_t> ids, parse_token_ids(text, tokenizer->vocab_size()));
  const auto render = flags.special ? tokenizer::RenderSpecial::kYes : tokenizer::RenderSpecial::kNo;
  const std::string out = tokenizer->decode(ids, render);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return {};
}

}  // namespace

void add_tokenize_commands(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* encode = app.add_subcommand("tokenize", "Show the tokens of a text");
  encode->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  encode->add_option("-f,--file", flags->file, "The text; - is standard input (default)");
  CLI::Option* text = encode->add_option("-p,--text", flags->text, "The text itself, instead of a file");
  text->excludes(encode->get_option("--file"));
  encode->add_flag("--ids", flags->ids_only, "Print ids only, on one line");
  encode->add_flag("--special", flags->special, "Recognise control tokens in the text and add the model's begin token");
  encode->callback([flags, text, &exit_code] {
    flags->has_text = text->count() > 0;
    exit_code = run_command([&] { return tokenize(*flags); });
  });

  auto back = std::make_shared<Flags>();
  CLI::App* decode = app.add_subcommand("detokenize", "Turn token ids back into text");
  decode->add_option("MODEL", back->model, "A model's name, a .gguf file or a safetensors folder")->required();
  decode->add_option("-f,--file", back->file, "The ids, separated by blanks or commas; - is standard input (default)");
  CLI::Option* ids = decode->add_option("-p,--ids", back->text, "The ids themselves, instead of a file");
  ids->excludes(decode->get_option("--file"));
  decode->add_flag("--special", back->special, "Write control tokens as text instead of leaving them out");
  decode->callback([back, ids, &exit_code] {
    back->has_text = ids->count() > 0;
    exit_code = run_command([&] { return detokenize(*back); });
  });
}

}  // namespace brio::cli
