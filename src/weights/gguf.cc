#include "weights/gguf.h"

#include <cctype>
#include <optional>
#include <string>

namespace brio::weights {
namespace {

struct SplitName {
  std::string prefix;  // everything before "-00001-of-00003.gguf"
  int num_parts = 0;

  std::filesystem::path part(int index) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, num_parts);
  }
};

std::optional<SplitName> parse_split_name(const std::filesystem::path& path) {
  const std::string text = path.string();
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";  // 0 stands for any digit
  if (text.size() <= kPattern.size()) return std::nullopt;
  const std::string_view tail = std::string_view(text).substr(text.size() - kPattern.size());
  for (size_t i = 0; i < tail.size(); ++i) {
    const bool fits =
        kPattern[i] == '0' ? std::isdigit(static_cast<unsigned char>(tail[i])) != 0 : tail[i] == kPattern[i];
    if (!fits) return std::nullopt;
  }
  const int num_parts = std::stoi(std::string(tail.substr(10, 5)));
  const int part = std::stoi(std::string(tail.substr(1, 5)));
  if (part < 1 || part > num_parts) return std::nullopt;
  return SplitName{text.substr(0, text.size() - kPattern.size()), num_parts};
}

}  // namespace

Error in_file(const std::filesystem::path& path, Error cause) {
  cause.message = fmt::format("{}: {}", path.string(), cause.message);
  return cause;
}

Result<Gguf> Gguf::open(const std::filesystem::path& path) {
  Gguf gguf;
  const std::optional<SplitName> split = parse_split_name(path);
  const int num_parts = split ? split->num_parts : 1;
  for (int i = 0; i < num_parts; ++i) BRIO_TRY_OK(gguf.add_part(split ? split->part(i) : path, i, num_parts));
  if (auto checked = gguf.check_parts(num_parts); !checked.ok()) {
    return in_file(gguf.paths_[0], std::move(checked).error());
  }
  return gguf;
}

Result<void> Gguf::add_part(const std::filesystem::path& path, int index, int num_parts) {
  auto file = MappedFile::open(path);
  if (!file.ok()) {
    Error failure = std::move(file).error();
    if (num_parts > 1)
      failure.hint = fmt::format("The model is split into {} files; all must lie together.", num_parts);
    return failure;
  }
  auto parsed = GgufPart::parse(file->bytes());
  if (!parsed.ok()) return in_file(path, std::move(parsed).error());
  GgufPart part = std::move(parsed).value();
  auto number = part.metadata.u64_or("split.no", 0);
  auto count = part.metadata.u64_or("split.count", 0);
  if (!number.ok()) return in_file(path, std::move(number).error());
  if (!count.ok()) return in_file(path, std::move(count).error());
  const uint64_t parts_by_key = *count == 0 ? 1 : *count;
  if (parts_by_key != static_cast<uint64_t>(num_parts) || *number != static_cast<uint64_t>(index)) {
    return error(ErrorCode::kInvalidFile,
                 "{}: keys 'split.no' and 'split.count' say part {} of {}, the name part {} of {}", path.string(),
                 *number + 1, parts_by_key, index + 1, num_parts);
  }
  if (index > 0 && part.metadata.has("general.architecture")) {
    const auto own = part.metadata.string("general.architecture");
    const auto first = metadata_.string("general.architecture");
    if (!own.ok() || !first.ok() || *own != *first) {
      return error(ErrorCode::kInvalidFile, "{}: key 'general.architecture' differs from the first part's",
                   path.string());
    }
  }
  for (TensorInfo& tensor : part.tensors) {
    tensor.file = index;
    if (!index_.emplace(tensor.name, tensors_.size()).second) {
      return error(ErrorCode::kInvalidFile, "{}: tensor '{}' is already in {}", path.string(), tensor.name,
                   paths_[static_cast<size_t>(tensors_[index_.at(tensor.name)].file)].string());
    }
    tensors_.push_back(tensor);
  }
  if (index == 0) {
    version_ = part.version;
    metadata_ = std::move(part.metadata);
  }
  paths_.push_back(path);
  files_.push_back(std::move(file).value());
  return {};
}

Result<void> Gguf::check_parts(int num_parts) const {
  if (num_parts == 1 && !metadata_.has("split.tensors.count")) return {};
  BRIO_TRY(uint64_t expected, metadata_.u64("split.tensors.count"));
  if (expected == tensors_.size()) return {};
  return error(ErrorCode::kInvalidFile, "key 'split.tensors.count' is {} (byte {}), the parts hold {} tensors",
               expected, metadata_.find("split.tensors.count")->offset, tensors_.size());
}

const TensorInfo* Gguf::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

int64_t Gguf::size_bytes() const {
  size_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return static_cast<int64_t>(total);
}

void Gguf::drop(const TensorInfo& tensor, int64_t num_bytes) const {
  files_[static_cast<size_t>(tensor.file)].drop({tensor.data, static_cast<size_t>(num_bytes)});
}

}  // namespace brio::weights
