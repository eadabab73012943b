// logits: the fp32 logits of every position of a text, for comparing brio with anything else.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/sha256.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/npy.h"
#include "cli/terminal.h"
#include "engine/scorer.h"

namespace brio::cli {
namespace {

struct Flags {
  std::string model, text, file, tokens, npy, numerics = "default", kv_type = "default";
  bool has_text = false, has_tokens = false, last = false, special = false;
  int threads = 0;
  int chunk = 64;
};

Result<std::vector<int32_t>> input_tokens(const server::LoadedModel& loaded, const Flags& flags) {
  if (flags.has_tokens) return parse_token_ids(flags.tokens, loaded.model->config().vocab);
  std::string text = flags.text;
  if (!flags.has_text) {
    BRIO_TRY(text, read_text(flags.file));
  }
  const auto trust = flags.special ? tokenizer::Trust::kTrusted : tokenizer::Trust::kUntrusted;
  return loaded.tokenizer->encode(text, trust, tokenizer::AddSpecial::kYes);
}

Result<void> logits(const Flags& flags) {
  if (!flags.has_tokens && !flags.has_text && flags.file.empty()) {
    return error(ErrorCode::kInvalidArgument, "give a text (-p or -f) or --tokens");
  }
  server::LoadOptions options;
  BRIO_TRY(options.numerics, parse_numerics(flags.numerics));
  BRIO_TRY(options.kv_type, parse_kv_type(flags.kv_type));
  options.num_threads = flags.threads;
  options.limits = {flags.chunk, flags.chunk};
  BRIO_TRY(const server::LoadedModel loaded, server::load_model(flags.model, options));
  BRIO_TRY(const std::vector<int32_t> tokens, input_tokens(loaded, flags));
  if (tokens.empty()) return error(ErrorCode::kInvalidArgument, "the text has no tokens");
  const auto count = static_cast<int64_t>(tokens.size());
  BRIO_TRY_OK(check_context(loaded, count));
  const int64_t rows = flags.last ? 1 : count;
  const int vocab = loaded.model->config().vocab;
  std::optional<NpyWriter> writer;
  if (!flags.npy.empty()) {
    BRIO_TRY(writer, NpyWriter::create(flags.npy, rows, vocab));
  }
  BRIO_TRY(engine::Scorer scorer, engine::Scorer::create(*loaded.model, static_cast<int>(count), flags.chunk));
  Sha256 hash;
  ProgressLine progress("scoring");
  BRIO_TRY_OK(scorer.score(tokens, [&](int position, std::span<const float> row) -> Result<void> {
    progress.fraction(static_cast<double>(position) / static_cast<double>(count));
    if (flags.last && position != count - 1) return {};
    hash.update(row);
    return writer ? writer->append(row) : Result<void>();
  }));
  progress.finish();
  if (writer) BRIO_TRY_OK(writer->close());
  fmt::print("tokens  {}\nshape   [{}, {}]\nsha256  {}\n", count, rows, vocab, hash.finish());
  return {};
}

}  // namespace

void add_logits_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("logits", "Write the fp32 logits of a text and print their SHA-256");
  command->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  CLI::Option* text = command->add_option("-p,--prompt", flags->text, "The text");
  CLI::Option* file =
      command->add_option("-f,--file", flags->file, "Read the text from a file; - is standard input")->excludes(text);
  CLI::Option* tokens = command->add_option("--tokens", flags->tokens, "Token ids instead of a text: 1,2,3")
                            ->excludes(text)
                            ->excludes(file);
  command->add_flag("--special", flags->special, "Recognise control tokens in the text");
  command->add_flag("--last", flags->last, "The last position only");
  command->add_option("--npy", flags->npy, "Where to write them: fp32 [num_tokens, vocab], row by row")
      ->check([](const std::string& path) { return std::string(path.empty() ? "has to be a file's path" : ""); });
  command->add_option("--numerics", flags->numerics, "default, or fp32: exact weights and fp32 everywhere")
      ->capture_default_str();
  add_kv_type_flag(*command, flags->kv_type);
  add_threads_flag(*command, flags->threads);
  command->add_option("--chunk", flags->chunk, "Positions per step; never changes a bit")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  command->callback([flags, text, tokens, &exit_code] {
    flags->has_text = text->count() > 0;
    flags->has_tokens = tokens->count() > 0;
    exit_code = run_command([&] { return logits(*flags); });
  });
}

}  // namespace brio::cli
