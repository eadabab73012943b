// libFuzzer: a byte, the size expected of the member "m", then a wheel as a stranger's server sends it. Whatever is
// delivered without an error has that size, and the checksum that a directory entry of this name gives.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "hub/wheel.h"

namespace {

using namespace brio;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

// Whether the bytes hold a directory entry for "m" with this size and checksum, wherever it may be.
bool vouched_for(std::string_view wheel, uint32_t size_bytes, uint32_t crc) {
  constexpr size_t kEntryBytes = 46;
  for (size_t at = wheel.find("PK\1\2"); at != std::string_view::npos; at = wheel.find("PK\1\2", at + 1)) {
    const std::string_view entry = wheel.substr(at);
    if (entry.size() <= kEntryBytes || entry[kEntryBytes] != 'm') continue;
    uint32_t numbers[3];  // crc, packed and plain size; little-endian as this machine
    std::memcpy(numbers, &entry[16], sizeof numbers);
    if (numbers[0] == crc && numbers[2] == size_bytes) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int memory = memfd_create("wheel", 0);
  static const std::string path = fmt::format("/proc/self/fd/{}", memory);
  if (size == 0) return 0;
  const std::string_view wheel(reinterpret_cast<const char*>(data + 1), size - 1);
  require(ftruncate(memory, static_cast<off_t>(wheel.size())) == 0);
  require(pwrite(memory, wheel.data(), wheel.size(), 0) == static_cast<ssize_t>(wheel.size()));

  std::string delivered;
  const auto read = hub::read_wheel_member(path, "m", data[0], [&](std::string_view bytes) -> Result<void> {
    delivered += bytes;
    return {};
  });
  require(delivered.size() <= data[0]);  // also when it ends in an error
  if (!read.ok()) return 0;
  require(delivered.size() == data[0]);
  const auto crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(delivered.data()), delivered.size()));
  require(vouched_for(wheel, data[0], crc));
  return 0;
}
