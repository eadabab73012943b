// inspect: what a model file holds, without loading it.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/terminal.h"
#include "model/config.h"
#include "server/loaded_model.h"

namespace brio::cli {
namespace {

struct Flags {
  std::string model;
  bool metadata = false;
  bool tensors = false;
};

struct TypeTotal {
  int count = 0;
  int64_t bytes = 0;
};

std::string shape_text(const std::vector<int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

int64_t kv_bytes(model::Config config, tensor::KvType type) {
  config.kv_type = type;
  return model::kv_bytes_per_token(config);
}

void print_config(const model::Config& config) {
  const char* kind = config.num_kv_heads == config.num_heads ? "MHA" : config.num_kv_heads == 1 ? "MQA" : "GQA";
  fmt::print("layers             {}\n", config.num_layers);
  fmt::print("hidden             {}   feed-forward {}   vocabulary {}\n", config.hidden, config.feed_forward,
             config.vocab);
  fmt::print("heads              {} query, {} KV of {} ({})\n", config.num_heads, config.num_kv_heads, config.head_dim,
             kind);
  int windows = 0;
  int window = 0;
  for (const int size : config.windows) {
    windows += size > 0 ? 1 : 0;
    window = std::max(window, size);
  }
  if (windows > 0) fmt::print("sliding window     {} tokens in {} of {} layers\n", window, windows, config.num_layers);
  fmt::print("context            {} tokens\n", config.context);
  for (const tensor::KvType type : {tensor::KvType::kBF16, tensor::KvType::kInt8}) {
    const int64_t per_token = kv_bytes(config, type);
    fmt::print("KV bytes per token {} as {} ({} at full context)\n", per_token, tensor::name(type),
               format_bytes(per_token * config.context));
  }
}

Result<void> inspect(const Flags& flags) {
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(flags.model));
  fmt::print("{}\n", bold(checkpoint.path().string(), STDOUT_FILENO));
  fmt::print("architecture       {}\n", printable(checkpoint.architecture()));
  fmt::print("bytes              {} ({})\n", checkpoint.file_bytes(), format_bytes(checkpoint.file_bytes()));
  if (const auto config = model::read_config(checkpoint, tensor::KvType::kBF16); config.ok()) {
    print_config(*config);
  } else {
    fmt::print("not runnable       {}\n", printable(config.error().message));
  }
  std::map<std::string_view, TypeTotal> types;
  for (const auto& tensor : checkpoint.tensors()) {
    TypeTotal& total = types[tensor::name(tensor.dtype)];
    ++total.count;
    total.bytes += tensor.size_bytes;
  }
  fmt::print("tensors            {}\n", checkpoint.tensors().size());
  for (const auto& [type, total] : types) {
    fmt::print("  {:<8} {:>5} tensors  {:>10}\n", type, total.count, format_bytes(total.bytes));
  }
  if (flags.metadata) {
    for (const auto& entry : checkpoint.metadata().entries()) {
      fmt::print("{} = {}\n", printable(entry.key), printable(weights::Metadata::describe(entry)));
    }
  }
  if (flags.tensors) {
    for (const auto& tensor : checkpoint.tensors()) {
      fmt::print("{:<40} {:<7} {}\n", printable(tensor.name), tensor::name(tensor.dtype), shape_text(tensor.dims));
    }
  }
  return {};
}

}  // namespace

void add_inspect_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show what a model file holds: architecture, tensors, KV bytes, context");
  command->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  command->add_flag("--metadata", flags->metadata, "Every metadata key");
  command->add_flag("--tensors", flags->tensors, "Every tensor with its type and shape");
  command->callback([flags, &exit_code] { exit_code = run_command([&] { return inspect(*flags); }); });
}

}  // namespace brio::cli
