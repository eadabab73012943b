#include "weights/checkpoint.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <deque>
#include <unordered_map>
#include <utility>

#include "tensor/dequantize.h"
#include "weights/gguf.h"
#include "weights/hf_config.h"
#include "weights/hf_names.h"
#include "weights/json_file.h"
#include "weights/rope_rows.h"
#include "weights/safetensors.h"

namespace brio::weights {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr uint64_t kMaxFolderFileBytes = 64 << 20;

// What has to happen to a tensor's bytes before model/ sees them.
enum class Conversion : uint8_t { kNone, kSplitQueryPairs, kSplitKeyPairs, kAddOne };

Conversion gguf_conversion(std::string_view architecture, std::string_view name) {
  if (architecture != "llama") return Conversion::kNone;
  if (name.ends_with(".attn_q.weight") || name.ends_with(".attn_q.bias")) return Conversion::kSplitQueryPairs;
  if (name.ends_with(".attn_k.weight") || name.ends_with(".attn_k.bias")) return Conversion::kSplitKeyPairs;
  return Conversion::kNone;
}

// Errors about keys name the file, too.
template <typename T>
Result<T> named(Result<T> value, const std::filesystem::path& path) {
  return value.ok() ? std::move(value) : Result<T>(in_file(path, std::move(value).error()));
}

}  // namespace

struct Checkpoint::Impl {
  struct Entry {
    const std::byte* data;
    Conversion conversion;
    size_t source;  // index in gguf->tensors() or folder->tensors()
  };

  std::filesystem::path path;
  std::string architecture;
  std::optional<Gguf> gguf;
  std::optional<Safetensors> folder;
  std::string translated;  // the metadata section made of config.json; `translated_keys` views it
  Metadata translated_keys;
  std::deque<std::string> names;  // of a folder's tensors; addresses stay
  std::vector<TensorSummary> tensors;
  std::vector<Entry> entries;  // one per summary
  std::unordered_map<std::string_view, size_t> index;

  const Metadata& metadata() const { return gguf ? gguf->metadata() : translated_keys; }
  Result<void> open_gguf();
  Result<void> open_folder();
  Result<void> add(TensorSummary summary, Entry entry);
  Result<TensorView> split_pairs(TensorView view, std::string_view head_count_key) const;
  Result<TensorView> add_one(TensorView view) const;
  Error in_path(Error cause) const {
    cause.message = fmt::format("{}: {}", path.string(), cause.message);
    return cause;
  }
};

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    BRIO_TRY_OK(impl->open_folder());
  } else if (path.extension() == ".safetensors") {
    Error failure = error(ErrorCode::kInvalidArgument, "{}: a safetensors file alone is no model", path.string());
    failure.hint = "Give the folder that also holds config.json and tokenizer.json.";
    return failure;
  } else {
    BRIO_TRY_OK(impl->open_gguf());
  }
  return Checkpoint(std::move(impl));
}

Result<void> Checkpoint::Impl::add(TensorSummary summary, Entry entry) {
  if (!index.emplace(summary.name, tensors.size()).second) {
    return in_path(error(ErrorCode::kInvalidFile, "two tensors are called '{}'", summary.name));
  }
  tensors.push_back(std::move(summary));
  entries.push_back(entry);
  return {};
}

Result<void> Checkpoint::Impl::open_gguf() {
  BRIO_TRY(gguf, Gguf::open(path));
  auto name = gguf->metadata().string("general.architecture");
  if (!name.ok()) return in_path(std::move(name).error());
  architecture = std::string(*name);
  for (size_t i = 0; i < gguf->tensors().size(); ++i) {
    const TensorInfo& info = gguf->tensors()[i];
    std::vector<int64_t> dims(info.dims.begin(), info.dims.begin() + info.num_dims);
    BRIO_TRY_OK(add({info.name, info.dtype, std::move(dims), info.size_bytes},
                    {info.data, gguf_conversion(architecture, info.name), i}));
  }
  return {};
}

Result<void> Checkpoint::Impl::open_folder() {
  const std::filesystem::path config_path = path / "config.json";
  auto text = read_text_file(config_path, kMaxConfigBytes);
  if (!text.ok()) {
    Error failure = std::move(text).error();
    failure.hint = "A model folder holds config.json, tokenizer.json and model.safetensors (or its shards and index).";
    return failure;
  }
  BRIO_TRY(boost::json::object config, parse_json_object(*text, config_path));
  boost::json::object generation;
  const std::filesystem::path generation_path = path / "generation_config.json";
  if (auto extra = read_text_file(generation_path, kMaxConfigBytes); extra.ok()) {
    BRIO_TRY(generation, parse_json_object(*extra, generation_path));
  } else if (extra.error().code != ErrorCode::kNotFound) {
    return std::move(extra).error();
  }
  auto translation = translate_config(config, generation);
  if (!translation.ok()) {
    Error failure = std::move(translation).error();
    failure.message = fmt::format("{}: {}", config_path.string(), failure.message);
    return failure;
  }
  architecture = translation->architecture;
  translated = translation->keys.key_bytes();
  ByteReader in(std::as_bytes(std::span(translated)));
  BRIO_TRY(translated_keys, Metadata::parse(in, translation->keys.num_keys()));
  BRIO_TRY(folder, Safetensors::open(path));
  for (size_t i = 0; i < folder->tensors().size(); ++i) {
    const SafetensorsTensor& tensor = folder->tensors()[i];
    std::optional<std::string> name = gguf_tensor_name(architecture, tensor.name);
    if (!name || (translation->tied && *name == "output.weight")) continue;
    const bool is_norm = name->ends_with("norm.weight");
    const Conversion conversion = translation->norms_add_one && is_norm ? Conversion::kAddOne : Conversion::kNone;
    names.push_back(*std::move(name));
    BRIO_TRY_OK(add({names.back(), tensor.dtype, {tensor.shape.rbegin(), tensor.shape.rend()}, tensor.size_bytes},
                    {tensor.data, conversion, i}));
  }
  if (translation->known && !translation->tied && !index.contains("output.weight")) {
    return in_path(
        error(ErrorCode::kInvalidFile, "tensor 'lm_head.weight' is missing and 'tie_word_embeddings' not set"));
  }
  return {};
}

const std::filesystem::path& Checkpoint::path() const {
  return impl_->path;
}
const std::string& Checkpoint::architecture() const {
  return impl_->architecture;
}
bool Checkpoint::is_folder() const {
  return impl_->folder.has_value();
}
const Metadata& Checkpoint::metadata() const {
  return impl_->metadata();
}
const Gguf* Checkpoint::gguf() const {
  return impl_->gguf ? &*impl_->gguf : nullptr;
}
const std::vector<Checkpoint::TensorSummary>& Checkpoint::tensors() const {
  return impl_->tensors;
}
bool Checkpoint::has_tensor(std::string_view name) const {
  return impl_->index.contains(name);
}

std::string Checkpoint::full_key(std::string_view key) const {
  return fmt::format("{}.{}", impl_->architecture, key);
}
bool Checkpoint::has(std::string_view key) const {
  return metadata().has(full_key(key));
}
Result<uint64_t> Checkpoint::u64(std::string_view key) const {
  return named(metadata().u64(full_key(key)), path());
}
Result<double> Checkpoint::f64(std::string_view key) const {
  return named(metadata().f64(full_key(key)), path());
}
Result<uint64_t> Checkpoint::u64_or(std::string_view key, uint64_t fallback) const {
  return named(metadata().u64_or(full_key(key), fallback), path());
}
Result<double> Checkpoint::f64_or(std::string_view key, double fallback) const {
  return named(metadata().f64_or(full_key(key), fallback), path());
}
Result<std::string_view> Checkpoint::string_or(std::string_view key, std::string_view fallback) const {
  return named(metadata().string_or(full_key(key), fallback), path());
}

int64_t Checkpoint::file_bytes() const {
  return impl_->gguf ? impl_->gguf->size_bytes() : impl_->folder->size_bytes();
}

Result<TensorView> Checkpoint::tensor(std::string_view name) const {
  const auto found = impl_->index.find(name);
  if (found == impl_->index.end()) {
    return impl_->in_path(error(ErrorCode::kInvalidFile, "tensor '{}' is missing", name));
  }
  const TensorSummary& summary = impl_->tensors[found->second];
  const Impl::Entry& entry = impl_->entries[found->second];
  TensorView view;
  view.name = summary.name;
  view.dtype = summary.dtype;
  view.cols = summary.dims[0];
  view.rows = 1;
  for (size_t d = 1; d < summary.dims.size(); ++d) view.rows *= summary.dims[d];
  view.data = entry.data;
  view.size_bytes = summary.size_bytes;
  switch (entry.conversion) {
    case Conversion::kNone:
      return view;
    case Conversion::kSplitQueryPairs:
      return impl_->split_pairs(std::move(view), "attention.head_count");
    case Conversion::kSplitKeyPairs:
      return impl_->split_pairs(std::move(view), "attention.head_count_kv");
    case Conversion::kAddOne:
      return impl_->add_one(std::move(view));
  }
  return view;
}

Result<TensorView> Checkpoint::Impl::split_pairs(TensorView view, std::string_view head_count_key) const {
  // A bias is one row of scalars: its elements move as the matrix's rows do.
  const bool is_bias = view.rows == 1;
  const int64_t rows = is_bias ? view.cols : view.rows;
  const std::string heads_key = fmt::format("{}.attention.head_count", architecture);
  const std::string key = fmt::format("{}.{}", architecture, head_count_key);
  BRIO_TRY(uint64_t num_heads, metadata().u64(metadata().has(key) ? key : heads_key));
  if (num_heads == 0 || static_cast<uint64_t>(rows) % num_heads != 0) {
    return in_path(error(ErrorCode::kInvalidFile, "tensor '{}' has {} rows, no multiple of the {} heads of key '{}'",
                         view.name, rows, num_heads, key));
  }
  const int64_t head_dim = rows / static_cast<int64_t>(num_heads);
  const std::string rotary_key = fmt::format("{}.rope.dimension_count", architecture);
  BRIO_TRY(uint64_t rotary_dim, metadata().u64_or(rotary_key, static_cast<uint64_t>(head_dim)));
  if (rotary_dim % 2 != 0 || rotary_dim > static_cast<uint64_t>(head_dim)) {
    return in_path(error(ErrorCode::kInvalidFile, "key '{}' is {}, the heads of tensor '{}' have {} channels",
                         rotary_key, rotary_dim, view.name, head_dim));
  }
  if (is_bias && tensor::traits(view.dtype).block_elements != 1) {
    return in_path(
        error(ErrorCode::kUnsupported, "tensor '{}' is a bias of type {}", view.name, tensor::name(view.dtype)));
  }
  BRIO_TRY(AlignedBuffer buffer, AlignedBuffer::create(static_cast<size_t>(view.size_bytes)));
  split_rotary_pairs(view.data, buffer.data(), static_cast<int64_t>(num_heads), head_dim,
                     static_cast<int64_t>(rotary_dim), view.size_bytes / rows);
  view.data = buffer.data();
  view.owned = std::make_shared<const AlignedBuffer>(std::move(buffer));
  return view;
}

Result<TensorView> Checkpoint::Impl::add_one(TensorView view) const {
  const int64_t count = view.rows * view.cols;
  BRIO_TRY(AlignedBuffer buffer, AlignedBuffer::create(static_cast<size_t>(count) * sizeof(float)));
  tensor::dequantize_row(view.dtype, view.data, count, buffer.as<float>());
  for (int64_t i = 0; i < count; ++i) buffer.as<float>()[i] += 1.0F;
  view.dtype = tensor::DType::kF32;
  view.size_bytes = count * static_cast<int64_t>(sizeof(float));
  view.data = buffer.data();
  view.owned = std::make_shared<const AlignedBuffer>(std::move(buffer));
  return view;
}

Result<tensor::DType> Checkpoint::dtype(std::string_view name, int64_t rows, int64_t cols) const {
  const auto found = impl_->index.find(name);
  if (found == impl_->index.end()) {
    return impl_->in_path(error(ErrorCode::kInvalidFile, "tensor '{}' is missing", name));
  }
  const TensorSummary& summary = impl_->tensors[found->second];
  int64_t actual_rows = 1;
  for (size_t d = 1; d < summary.dims.size(); ++d) actual_rows *= summary.dims[d];
  if (summary.dims[0] != cols || actual_rows != rows) {
    return impl_->in_path(error(ErrorCode::kInvalidFile, "tensor '{}' is [{}, {}], expected [{}, {}]", name,
                                actual_rows, summary.dims[0], rows, cols));
  }
  return summary.dtype;
}

Result<TensorView> Checkpoint::tensor(std::string_view name, int64_t rows, int64_t cols) const {
  BRIO_TRY_OK(dtype(name, rows, cols));  // before any conversion, which trusts the shape less than it could
  return tensor(name);
}

Result<std::vector<float>> Checkpoint::vector(std::string_view name, int64_t size) const {
  BRIO_TRY(TensorView view, tensor(name, 1, size));
  std::vector<float> values(static_cast<size_t>(size));
  tensor::dequantize_row(view.dtype, view.data, size, values.data());
  return values;
}

void Checkpoint::drop(const TensorView& view, int64_t num_bytes) const {
  const auto found = impl_->index.find(view.name);
  if (found == impl_->index.end()) return;
  const size_t source = impl_->entries[found->second].source;
  num_bytes = std::min(num_bytes, impl_->tensors[found->second].size_bytes);
  if (impl_->gguf) {
    impl_->gguf->drop(impl_->gguf->tensors()[source], num_bytes);
  } else {
    impl_->folder->drop(impl_->folder->tensors()[source], num_bytes);
  }
}

std::vector<Checkpoint::SourceFile> Checkpoint::source_files() const {
  const std::vector<MappedFile>& files = impl_->gguf ? impl_->gguf->files() : impl_->folder->files();
  const std::vector<std::filesystem::path>& paths = impl_->gguf ? impl_->gguf->paths() : impl_->folder->paths();
  std::vector<SourceFile> out;
  for (size_t i = 0; i < files.size(); ++i) out.push_back({paths[i], files[i].stamp()});
  return out;
}

std::string_view Checkpoint::sample(std::string_view name) const {
  const auto found = impl_->index.find(name);
  if (found == impl_->index.end()) return {};
  constexpr int64_t kMostBytes = 64;
  const int64_t size = impl_->tensors[found->second].size_bytes;
  const int64_t length = std::min(size, kMostBytes);
  const std::byte* middle = impl_->entries[found->second].data + (size - length) / 2;
  return {reinterpret_cast<const char*>(middle), static_cast<size_t>(length)};
}

Result<std::string> Checkpoint::folder_file(std::string_view name) const {
  if (!is_folder() || name.find('/') != std::string_view::npos) {
    return error(ErrorCode::kNotFound, "{}: there is no file '{}' beside the model", impl_->path.string(), name);
  }
  return read_text_file(impl_->path / name, kMaxFolderFileBytes);
}

}  // namespace brio::weights
