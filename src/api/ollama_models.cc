// What Ollama's clients are told about models (ollama_response.h).
#include <fmt/format.h>

#include <iterator>

#include "api/json_text.h"
#include "api/ollama_response.h"
#include "api/timestamp.h"

namespace brio::api {
namespace {

// Clients look for features by this version; it is the one whose API is spoken here.
constexpr std::string_view kSpokenVersion = "0.12.11";
// The model stays as long as the server does.
constexpr std::string_view kNever = "2999-12-31T23:59:59Z";

// Names always have a tag.
std::string tagged(const std::string& name) {
  return name.find(':') == std::string::npos ? name + ":latest" : name;
}

std::string rounded(int64_t parameters) {
  const auto number = static_cast<double>(parameters);
  if (number >= 1e9) return fmt::format("{:.1f}B", number / 1e9);
  return number >= 1e6 ? fmt::format("{:.1f}M", number / 1e6) : fmt::format("{:.1f}K", number / 1e3);
}

std::string details_json(const ModelDetails& details) {
  return fmt::format(
      R"({{"parent_model":"","format":{},"family":{},"families":[{}],"parameter_size":"{}","quantization_level":{}}})",
      json_string(details.format), json_string(details.architecture), json_string(details.architecture),
      rounded(details.parameters), json_string(details.quantization));
}

// "name":... to "details":...
std::string model_json(const ModelInfo& model) {
  const std::string name = json_string(tagged(model.id));
  return fmt::format(R"("name":{},"model":{},"size":{},"digest":{},"details":{})", name, name, model.details->bytes,
                     json_string(model.details->digest), details_json(*model.details));
}

std::string list(std::span<const ModelInfo> models, std::string (*more)(const ModelInfo& model)) {
  std::string out = R"({"models":[)";
  for (size_t i = 0; i < models.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{{{},{}}}", i > 0 ? "," : "", model_json(models[i]), more(models[i]));
  }
  return out + "]}";
}

}  // namespace

std::string ollama_tags(std::span<const ModelInfo> models) {
  return list(models, [](const ModelInfo& m) { return fmt::format(R"("modified_at":"{}")", rfc3339(m.created)); });
}

std::string ollama_running(std::span<const ModelInfo> models) {
  return list(models, [](const ModelInfo& m) {
    return fmt::format(R"("expires_at":"{}","size_vram":0,"context_length":{})", kNever, m.context);
  });
}

std::string ollama_show(const ModelInfo& model) {
  const ModelDetails& d = *model.details;
  const std::string& a = d.architecture;
  std::string numbers =
      fmt::format(R"("general.architecture":{},"general.parameter_count":{})", json_string(a), d.parameters);
  const auto add = [&](std::string_view key, int64_t value) {
    fmt::format_to(std::back_inserter(numbers), ",{}:{}", json_string(fmt::format("{}.{}", a, key)), value);
  };
  add("context_length", model.context);
  add("embedding_length", d.hidden);
  add("block_count", d.layers);
  add("attention.head_count", d.heads);
  add("attention.head_count_kv", d.kv_heads);
  add("vocab_size", d.vocab);
  return fmt::format(R"({{"license":"","modelfile":"","parameters":"","template":{},"details":{},"model_info":{{{}}},)"
                     R"("capabilities":["completion"{}],"modified_at":"{}"}})",
                     json_string(d.chat_template), details_json(d), numbers, model.chat ? R"(,"tools")" : "",
                     rfc3339(model.created));
}

std::string ollama_version(std::string_view brio_version) {
  return fmt::format(R"({{"version":"{}","brio_version":{}}})", kSpokenVersion, json_string(brio_version));
}

}  // namespace brio::api
