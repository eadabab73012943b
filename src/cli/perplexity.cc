// perplexity: how well a model predicts a text, and how far it is from reference logits of the same text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/npy.h"
#include "cli/terminal.h"
#include "engine/scorer.h"

namespace brio::cli {
namespace {

struct Flags {
  std::string model, file, against, numerics = "default", kv_type = "default";
  int context = 512;
  bool has_context = false;
  int threads = 0;
};

// log of the sum of exp(logits), in double.
double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

// KL(reference || ours) of two rows of logits, in nats.
double kl_divergence(std::span<const float> reference, std::span<const float> ours) {
  const double reference_total = log_sum_exp(reference);
  const double our_total = log_sum_exp(ours);
  double kl = 0.0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double log_p = static_cast<double>(reference[i]) - reference_total;
    kl += std::exp(log_p) * (log_p - (static_cast<double>(ours[i]) - our_total));
  }
  return kl;
}

size_t argmax(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// Collects the numbers of one run over all windows of the text.
class Tally {
 public:
  void add_prediction(std::span<const float> logits, int32_t next) {
    const double loss = log_sum_exp(logits) - static_cast<double>(logits[static_cast<size_t>(next)]);
    loss_ += loss;
    loss_squared_ += loss * loss;
    ++predictions_;
  }
  // The first position of a window is kept apart: every engine's first key is an attention sink of its own kind.
  // False: not a finite number.
  bool add_comparison(int position, std::span<const float> reference, std::span<const float> ours) {
    const double kl = kl_divergence(reference, ours);
    if (!std::isfinite(kl)) return false;
    if (position == 0) {
      first_kl_.push_back(kl);
      return true;
    }
    kl_.push_back(kl);
    agreements_ += argmax(reference) == argmax(ours) ? 1 : 0;
    return true;
  }
  void print(const Flags& flags, int context) {
    const auto n = static_cast<double>(predictions_);
    const double mean = loss_ / n;
    const double error = std::sqrt(std::max(0.0, loss_squared_ / n - mean * mean) / n);
    fmt::print("perplexity          {:.4f} +- {:.4f} ({} predictions, windows of {})\n", std::exp(mean),
               std::exp(mean) * error, predictions_, context);
    if (flags.against.empty() || kl_.empty()) return;
    std::sort(kl_.begin(), kl_.end());
    double sum = 0.0;
    for (const double kl : kl_) sum += kl;
    const double count = static_cast<double>(kl_.size());
    const size_t p99 = std::min(kl_.size() - 1, static_cast<size_t>(std::ceil(0.99 * count)) - 1);
    fmt::print(
        "KL to {}\n  mean              {:.6f} nats (first position of a window apart)\n  99th percentile   {:.6f}\n",
        flags.against, sum / count, kl_[p99]);
    if (!first_kl_.empty())
      fmt::print("  first position    {:.6f}\n", *std::max_element(first_kl_.begin(), first_kl_.end()));
    fmt::print("  same top token    {:.3f} %\n", 100.0 * static_cast<double>(agreements_) / count);
  }

 private:
  double loss_ = 0.0;
  double loss_squared_ = 0.0;
  int64_t predictions_ = 0;
  std::vector<double> kl_, first_kl_;
  int64_t agreements_ = 0;
};

Result<void> perplexity(const Flags& flags) {
  BRIO_TRY(const std::string text, read_text(flags.file));
  server::LoadOptions options;
  BRIO_TRY(options.numerics, parse_numerics(flags.numerics));
  BRIO_TRY(options.kv_type, parse_kv_type(flags.kv_type));
  options.num_threads = flags.threads;
  options.limits = {64, 64};
  BRIO_TRY(const server::LoadedModel loaded, server::load_model(flags.model, options));
  BRIO_TRY(const std::vector<int32_t> tokens,
           loaded.tokenizer->encode(text, tokenizer::Trust::kUntrusted, tokenizer::AddSpecial::kYes));
  if (tokens.size() < 2)
    return error(ErrorCode::kInvalidArgument, "{}: {} tokens, at least 2 are needed", flags.file, tokens.size());
  std::optional<NpyReader> reference;
  std::vector<float> expected(static_cast<size_t>(loaded.model->config().vocab));
  if (!flags.against.empty()) {
    BRIO_TRY(reference, NpyReader::open(flags.against));
    if (reference->columns() != static_cast<int64_t>(expected.size()) ||
        reference->rows() != static_cast<int64_t>(tokens.size())) {
      return error(ErrorCode::kInvalidFile, "{}: [{}, {}], expected [{}, {}] for this text and model", flags.against,
                   reference->rows(), reference->columns(), tokens.size(), expected.size());
    }
  }
  const int whole = static_cast<int>(tokens.size());  // what reference logits were made with, unless told otherwise
  const int context = flags.against.empty() || flags.has_context ? std::min(flags.context, whole) : whole;
  BRIO_TRY_OK(check_context(loaded, context));
  BRIO_TRY(engine::Scorer scorer, engine::Scorer::create(*loaded.model, context, 64));
  Tally tally;
  ProgressLine progress("perplexity");
  for (size_t begin = 0; begin < tokens.size(); begin += static_cast<size_t>(context)) {
    const std::span<const int32_t> window =
        std::span(tokens).subspan(begin, std::min(static_cast<size_t>(context), tokens.size() - begin));
    BRIO_TRY_OK(scorer.score(window, [&](int position, std::span<const float> row) -> Result<void> {
      const size_t at = begin + static_cast<size_t>(position);
      progress.fraction(static_cast<double>(at) / static_cast<double>(tokens.size()));
      if (static_cast<size_t>(position) + 1 < window.size())
        tally.add_prediction(row, window[static_cast<size_t>(position) + 1]);
      if (reference) {
        BRIO_TRY_OK(reference->read_row(expected));
        if (!tally.add_comparison(position, expected, row)) {
          return error(ErrorCode::kInvalidFile, "{}: row {} holds values that are no logits", flags.against, at);
        }
      }
      return {};
    }));
  }
  progress.finish();
  tally.print(flags, context);
  return {};
}

}  // namespace

void add_perplexity_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  command->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  command->add_option("-f,--file", flags->file, "The text; - is standard input")->required();
  CLI::Option* context = command->add_option(
      "--ctx", flags->context, "Tokens per window; windows do not see each other (with --against: the whole text)");
  context->check(CLI::Range(2, 1 << 24))->capture_default_str();
  command->add_option("--against", flags->against,
                      "Reference logits of the same text and windows (brio logits --npy): adds mean and "
                      "99th-percentile KL and top-1 agreement");
  command->add_option("--numerics", flags->numerics, "default, or fp32: exact weights and fp32 everywhere")
      ->capture_default_str();
  add_kv_type_flag(*command, flags->kv_type);
  add_threads_flag(*command, flags->threads);
  command->callback([flags, context, &exit_code] {
    flags->has_context = context->count() > 0;
    exit_code = run_command([&] { return perplexity(*flags); });
  });
}

}  // namespace brio::cli
