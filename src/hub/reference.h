// What a user may write behind `brio pull`, as a catalogue entry to fetch.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/catalogue.h"

namespace brio::hub {

struct Reference {
  CatalogueEntry entry;
  std::string bearer_token;  // HF_TOKEN, for hf: references
  bool from_hub = false;     // hf:OWNER/REPO/FILE.gguf
};

// A catalogue name, hf:OWNER/REPO/FILE.gguf or https://HOST/PATH/FILE.gguf[#sha256=HEX]. Reads HF_ENDPOINT and
// HF_TOKEN.
Result<Reference> parse_reference(const std::string& text);

}  // namespace brio::hub
