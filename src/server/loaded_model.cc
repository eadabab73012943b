#include "server/loaded_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/clock.h"
#include "hub/store.h"
#include "ops/cpu_ops.h"
#include "server/vocabulary.h"
#include "weights/gguf.h"

namespace brio::server {
namespace {

std::string token_text(const tokenizer::Tokenizer& tokenizer, int32_t id) {
  return id < 0 ? std::string() : tokenizer.piece(id, tokenizer::RenderSpecial::kYes);
}

// By the template; reasoning, where the template does not mention it, by the vocabulary.
Result<chat::OutputFormat> choose_output(const LoadedModel& model, const LoadOptions& options) {
  chat::OutputFormat out;
  const std::string_view source = model.chat_template ? model.chat_template->source() : std::string_view();
  if (options.tool_parser != "auto" && options.tool_parser != "none") {
    BRIO_TRY(out.tools, chat::find_tool_format(options.tool_parser));
  } else if (options.tool_parser == "auto" && model.chat_template) {
    out.tools = chat::detect_tool_format(source);
    if (!out.tools) {
      BRIO_TRY(out.tools, chat::find_tool_format("json"));
    }
  }
  if (options.reasoning_parser != "auto" && options.reasoning_parser != "none") {
    BRIO_TRY(out.reasoning, chat::find_reasoning_format(options.reasoning_parser));
  } else if (options.reasoning_parser == "auto" && model.chat_template) {
    out.reasoning = chat::detect_reasoning_format(source);
    for (const chat::ReasoningFormat& format : chat::reasoning_formats()) {
      if (!out.reasoning && model.tokenizer->find(format.open)) out.reasoning = &format;
    }
  }
  return out;
}

constexpr int64_t kWorthAFile = int64_t{32} << 20;  // packs in a twentieth of a second

// What has become of the packed weights of a first start.
std::string kept_line(const Result<void>& kept, const std::string& path, int64_t size_bytes) {
  if (kept.ok()) return fmt::format("{}: packed weights ({} MB) for a faster next start", path, size_bytes / 1'000'000);
  return fmt::format("packed weights are not kept: {}", kept.error().message);
}

}  // namespace

PackedFolder default_packed_folder() {
  return {hub::home() / "packed", kWorthAFile};
}

Result<weights::Checkpoint> open_checkpoint(const std::string& name_or_path) {
  BRIO_TRY(const std::filesystem::path path, hub::resolve(name_or_path));
  return weights::Checkpoint::open(path);
}

Result<std::unique_ptr<tokenizer::Tokenizer>> load_tokenizer(const weights::Checkpoint& checkpoint) {
  BRIO_TRY(tokenizer::TokenizerSpec spec, read_vocabulary(checkpoint));
  return tokenizer::Tokenizer::create(std::move(spec));
}

Result<std::optional<chat::Template>> load_chat_template(const weights::Checkpoint& checkpoint) {
  BRIO_TRY(std::optional<std::string> source, checkpoint.chat_template());
  if (!source) return std::optional<chat::Template>();
  auto parsed = chat::Template::parse(*source);
  if (parsed.ok()) return std::optional<chat::Template>(std::move(parsed).value());
  return weights::in_file(checkpoint.path(), std::move(parsed).error());
}

api::ModelDetails read_details(const weights::Checkpoint& checkpoint, const model::Config& config) {
  api::ModelDetails out;
  out.architecture = config.architecture;
  out.format = checkpoint.is_folder() ? "safetensors" : "gguf";
  std::map<tensor::DType, int64_t> bytes;
  for (const auto& tensor : checkpoint.tensors()) {
    out.parameters += std::accumulate(tensor.dims.begin(), tensor.dims.end(), int64_t{1}, std::multiplies<>());
    bytes[tensor.dtype] += tensor.size_bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != bytes.end()) out.quantization = tensor::name(most->first);
  const auto source = checkpoint.chat_template();
  if (source.ok()) out.chat_template = source->value_or("");
  out.hidden = config.hidden;
  out.layers = config.num_layers;
  out.heads = config.num_heads;
  out.kv_heads = config.num_kv_heads;
  out.vocab = config.vocab;
  return out;
}

Result<LoadedModel> load_model(const std::string& name_or_path, const LoadOptions& options) {
  const TimePoint start = Clock::steady().now();
  LoadedModel loaded;
  BRIO_TRY(loaded.isa, choose_isa());
  BRIO_TRY(const weights::Checkpoint checkpoint, open_checkpoint(name_or_path));
  loaded.name = std::filesystem::exists(name_or_path) ? checkpoint.path().stem().string() : name_or_path;
  BRIO_TRY(loaded.tokenizer, load_tokenizer(checkpoint));
  // A broken template is in the way of chats alone.
  auto chat_template = load_chat_template(checkpoint);
  if (chat_template.ok()) {
    loaded.chat_template = std::move(chat_template).value();
  } else {
    loaded.template_error = std::move(chat_template).error();
  }
  loaded.bos_text = token_text(*loaded.tokenizer, loaded.tokenizer->spec().bos);
  loaded.eos_text = token_text(*loaded.tokenizer, loaded.tokenizer->spec().eos);
  if (loaded.chat_template) {
    loaded.traits = chat::probe_template(*loaded.chat_template, loaded.bos_text, loaded.eos_text);
  }
  BRIO_TRY(loaded.output, choose_output(loaded, options));

  loaded.pool = std::make_unique<ThreadPool>(options.num_threads > 0 ? options.num_threads : effective_cpus());
  BRIO_TRY(std::shared_ptr<ops::OpSet> ops, ops::CpuOps::create(*loaded.pool, loaded.isa, options.numerics));
  model::BuildOptions build;
  build.limits = options.limits;
  build.kv_type = options.kv_type;
  if (options.progress) {
    build.progress_context = const_cast<void*>(static_cast<const void*>(&options.progress));
    build.progress = [](void* context, double fraction) {
      (*static_cast<const std::function<void(double)>*>(context))(fraction);
    };
  }
  std::optional<weights::PackedCache> cache;
  if (!options.packed.path.empty() && checkpoint.file_bytes() >= options.packed.least_bytes &&
      options.numerics == tensor::Numerics::kDefault) {
    build.packed = &cache.emplace(options.packed.path, checkpoint, *loaded.pool);
    if (cache->refused() && options.note) {
      options.note(fmt::format("{}: {}; packing again", cache->path().string(), cache->refused()->message));
    }
  }
  BRIO_TRY(loaded.model, model::build_model(checkpoint, std::move(ops), *loaded.pool, build));
  if (loaded.tokenizer->vocab_size() > loaded.model->config().vocab) {
    return error(ErrorCode::kInvalidFile, "{}: the vocabulary has {} tokens, tensor 'token_embd.weight' only {} rows",
                 checkpoint.path().string(), loaded.tokenizer->vocab_size(), loaded.model->config().vocab);
  }
  loaded.details = read_details(checkpoint, loaded.model->config());
  loaded.details.bytes = loaded.model->weight_bytes();
  loaded.load_ms = to_ms(Clock::steady().now() - start);
  if (cache) {
    loaded.mapped_bytes = cache->mapped_bytes();
    const auto say = [note = options.note, path = cache->path().string(),
                      size = loaded.model->weight_bytes()](const Result<void>& kept) {
      const bool given_up = !kept.ok() && kept.error().code == ErrorCode::kCancelled;
      if (note && !given_up) note(kept_line(kept, path, size));
    };
    auto writer = cache->keep(say);
    if (writer.ok()) {
      loaded.keeping = std::move(writer).value();
    } else {
      say(writer.error());
    }
  }
  return loaded;
}

}  // namespace brio::server
