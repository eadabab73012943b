// LoadedModel: everything a path to a model file or folder turns into: packed weights, tokenizer, chat template. Made by
// the commands and the server's lifecycle; this is where checkpoint, tokenizer, chat and model meet.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/backend.h"
#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "chat/output_parser.h"
#include "chat/template.h"
#include "chat/template_traits.h"
#include "model/model.h"
#include "tensor/device.h"
#include "tokenizer/tokenizer.h"
#include "weights/checkpoint.h"
#include "weights/packed_cache.h"

namespace brio::server {

// The folder of packed files (weights/packed_cache.h), and for which models it is worth one.
struct PackedFolder {
  std::filesystem::path path;  // empty: weights are always packed anew
  int64_t least_bytes = 0;     // smaller models are packed faster than one notices
};

struct LoadOptions {
  tensor::Numerics numerics = tensor::Numerics::kDefault;
  std::optional<tensor::KvType> kv_type;  // none: as model::BuildOptions says
  PackedFolder packed;
  // A line about the packed file when there is something to say: why it is not used, that it was kept or why not. Called by
  // load_model, and by another thread until the LoadedModel has gone. May be empty.
  std::function<void(const std::string& line)> note;
  int num_threads = 0;  // 0: effective_cpus()
  model::Limits limits;
  std::string tool_parser = "auto";  // of chat/tool_format.h, or auto (by the template), none
  std::string reasoning_parser = "auto";
  std::function<void(double fraction)> progress;  // may be empty
};

struct LoadedModel {
  std::string name;  // the catalogue name or the file's stem
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<model::Model> model;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::optional<chat::Template> chat_template;  // none: a base model, or template_error
  std::optional<Error> template_error;          // why the file's template cannot be used
  chat::TemplateTraits traits;                  // of the template
  chat::OutputFormat output;                    // how answers to chats are read
  api::ModelDetails details;                    // for clients; digest is the backend's
  std::string bos_text, eos_text;               // what templates see as bos_token and eos_token
  Isa isa = Isa::kScalar;
  int64_t mapped_bytes = 0;  // of weights, from a packed file; the others were packed
  double load_ms = 0.0;
  std::unique_ptr<weights::PackedWriter> keeping;  // what was packed is being written for the next start; may be null
};

// What commands take by default: home()/packed, for models that take longer to pack than to map.
PackedFolder default_packed_folder();

// name_or_path: a .gguf file, a safetensors folder, or a catalogue name in the store.
Result<LoadedModel> load_model(const std::string& name_or_path, const LoadOptions& options);

// The parts, for commands that need no weights. A vocabulary-only GGUF is enough for the tokenizer.
Result<weights::Checkpoint> open_checkpoint(const std::string& name_or_path);
Result<std::unique_ptr<tokenizer::Tokenizer>> load_tokenizer(const weights::Checkpoint& checkpoint);
api::ModelDetails read_details(const weights::Checkpoint& checkpoint, const model::Config& config);
Result<std::optional<chat::Template>> load_chat_template(const weights::Checkpoint& checkpoint);

}  // namespace brio::server
