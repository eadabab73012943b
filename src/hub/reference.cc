#include "hub/reference.h"

#include <cstdlib>
#include <string_view>

#include "base/sha256.h"
#include "hub/store.h"
#include "net/url.h"

namespace brio::hub {
namespace {

std::string environment(const char* name, std::string_view fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : std::string(fallback);
}

// "path/to/Model.Q4_K_M.gguf?download=true" -> "Model.Q4_K_M"
Result<std::string> name_of_file(std::string_view path) {
  path = path.substr(0, path.find('?'));
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kExtension = ".gguf";
  if (!file.ends_with(kExtension)) {
    return error(ErrorCode::kInvalidArgument, "'{}' is no .gguf file", file);
  }
  const std::string name(file.substr(0, file.size() - kExtension.size()));
  BRIO_TRY_OK(check_name(name));
  return name;
}

Result<Reference> hub_reference(std::string_view path) {
  Reference reference;
  reference.from_hub = true;
  reference.bearer_token = environment("HF_TOKEN", "");
  const size_t owner_end = path.find('/');
  const size_t repo_end = owner_end == std::string_view::npos ? owner_end : path.find('/', owner_end + 1);
  if (owner_end == 0 || repo_end == std::string_view::npos || repo_end == owner_end + 1) {
    return error(ErrorCode::kInvalidArgument, "'hf:{}' is not of the form hf:OWNER/REPO/FILE.gguf", path);
  }
  BRIO_TRY(reference.entry.name, name_of_file(path));
  std::string endpoint = environment("HF_ENDPOINT", "https://huggingface.co");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const std::string url =
      fmt::format("{}/{}/resolve/main/{}", endpoint, path.substr(0, repo_end), path.substr(repo_end + 1));
  BRIO_TRY_OK(net::parse_url(url));
  reference.entry.sources = {{{}, url}};
  return reference;
}

Result<Reference> url_reference(const std::string& text) {
  Reference reference;
  BRIO_TRY(net::Url url, net::parse_url(text));
  BRIO_TRY(reference.entry.name, name_of_file(url.target));
  constexpr std::string_view kDigest = "sha256=";
  if (url.fragment.starts_with(kDigest)) {
    reference.entry.sha256 = url.fragment.substr(kDigest.size());
    if (!is_sha256(reference.entry.sha256)) {
      return error(ErrorCode::kInvalidArgument, "'#{}' is no SHA-256: 64 lower-case hexadecimal digits", url.fragment);
    }
  }
  reference.entry.sources = {{{}, url.text()}};
  return reference;
}

}  // namespace

Result<Reference> parse_reference(const std::string& text) {
  if (const CatalogueEntry* known = find_entry(text)) return Reference{*known, "", false};
  if (text.starts_with("hf:")) return hub_reference(std::string_view(text).substr(3));
  if (text.find("://") != std::string::npos) return url_reference(text);
  Error unknown = error(ErrorCode::kNotFound, "brio knows no model called '{}'", text);
  std::string names;
  for (const CatalogueEntry& entry : catalogue()) names += (names.empty() ? "" : ", ") + entry.name;
  unknown.hint = fmt::format("Known: {}. Others: hf:OWNER/REPO/FILE.gguf or https://...", names);
  return unknown;
}

}  // namespace brio::hub
