#include "weights/safetensors.h"

#include <boost/json/value.hpp>
#include <set>

#include "weights/json_file.h"

namespace brio::weights {
namespace {

constexpr uint64_t kMaxIndexBytes = 16 << 20;  // 90,000 tensors take 9 MB

// Shards lie beside their index: a name with a folder in it could reach any file.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::filesystem::path& path) {
  Safetensors all;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    BRIO_TRY_OK(all.add_file(path));
    return all;
  }
  const std::filesystem::path index = path / "model.safetensors.index.json";
  if (std::filesystem::exists(index, ignored)) {
    BRIO_TRY_OK(all.add_shards(index));
  } else {
    BRIO_TRY_OK(all.add_file(path / "model.safetensors"));
  }
  return all;
}

Result<void> Safetensors::add_file(const std::filesystem::path& path) {
  BRIO_TRY(MappedFile file, MappedFile::open(path));
  auto parsed = parse_safetensors(file.bytes());
  if (!parsed.ok()) {
    Error failure = std::move(parsed).error();
    failure.message = fmt::format("{}: {}", path.string(), failure.message);
    return failure;
  }
  for (SafetensorsTensor& tensor : *parsed) {
    tensor.file = static_cast<int>(files_.size());
    const auto [place, inserted] = index_.emplace(tensor.name, tensors_.size());
    if (!inserted) {
      return error(ErrorCode::kInvalidFile, "{}: tensor '{}' is already in {}", path.string(), tensor.name,
                   paths_[static_cast<size_t>(tensors_[place->second].file)].string());
    }
    tensors_.push_back(std::move(tensor));
  }
  paths_.push_back(path);
  files_.push_back(std::move(file));
  return {};
}

Result<void> Safetensors::add_shards(const std::filesystem::path& index_path) {
  BRIO_TRY(std::string text, read_text_file(index_path, kMaxIndexBytes));
  BRIO_TRY(boost::json::object index, parse_json_object(text, index_path));
  const boost::json::value* map = index.if_contains("weight_map");
  if (map == nullptr || !map->is_object()) {
    return error(ErrorCode::kInvalidFile, "{}: field 'weight_map' is missing or no object", index_path.string());
  }
  std::set<std::string> shards;
  for (const auto& [name, shard] : map->get_object()) {
    if (!shard.is_string() || !is_plain_name(std::string_view(shard.get_string()))) {
      return error(ErrorCode::kInvalidFile, "{}: tensor '{}' in 'weight_map' names no file beside the index",
                   index_path.string(), std::string_view(name));
    }
    shards.emplace(std::string_view(shard.get_string()));
  }
  for (const std::string& shard : shards) BRIO_TRY_OK(add_file(index_path.parent_path() / shard));
  for (const auto& [name, shard] : map->get_object()) {
    const SafetensorsTensor* found = find(std::string_view(name));
    if (found != nullptr &&
        paths_[static_cast<size_t>(found->file)].filename() == std::string_view(shard.get_string())) {
      continue;
    }
    return error(ErrorCode::kInvalidFile, "{}: tensor '{}' is not in '{}'", index_path.string(), std::string_view(name),
                 std::string_view(shard.get_string()));
  }
  return {};
}

const SafetensorsTensor* Safetensors::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

int64_t Safetensors::size_bytes() const {
  size_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return static_cast<int64_t>(total);
}

void Safetensors::drop(const SafetensorsTensor& tensor, int64_t num_bytes) const {
  files_[static_cast<size_t>(tensor.file)].drop({tensor.data, static_cast<size_t>(num_bytes)});
}

}  // namespace brio::weights
