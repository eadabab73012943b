// pull: gets a model into the store. What has arrived stays for the next try; a file takes its final name only after
// its size and SHA-256 are right.
//
//   BRIO_TRY(hub::Pulled pulled, hub::pull("smollm2-135m", hub::Store(), {.progress = draw_bar}));
//
// Sources: a catalogue name; hf:OWNER/REPO/FILE.gguf ($HF_ENDPOINT, $HF_TOKEN); https://HOST/FILE.gguf, optionally with
// #sha256=HEX. A file that is not in the catalogue is stored as FILE; its SHA-256 is checked where the hub or the
// fragment gives one.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/progress.h"
#include "hub/store.h"

namespace brio::hub {

struct PullOptions {
  ProgressCallback progress = {};
};

struct Pulled {
  std::string name;
  std::filesystem::path path;
  int64_t size_bytes = 0;
  bool was_here = false;  // nothing had to be downloaded
  bool verified = false;  // compared with a SHA-256 known beforehand
};

Result<Pulled> pull(const std::string& what, const Store& store, const PullOptions& options = {});

// The same for an entry that need not be in the catalogue.
Result<Pulled> pull_entry(const CatalogueEntry& entry, const Store& store, const PullOptions& options = {});

}  // namespace brio::hub
