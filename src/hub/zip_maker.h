// ZipMaker: zip archives for tests, sound or not: every field of a member's headers can be made to lie.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brio::hub {

struct ZipMember {
  std::string name;
  std::string data;
  bool deflate = true;
  int64_t lie_bytes = 0;  // added to the size that the directory gives
  int64_t lie_packed_bytes = 0;
  int64_t lie_offset = 0;
  uint32_t lie_crc = 0;
  uint16_t method = 0xFFFF;  // 0xFFFF: as `deflate` says
  uint16_t flags = 0;
};

inline std::string deflated(const std::string& data) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string make_zip(const std::vector<ZipMember>& members) {
  std::string out;
  std::string directory;
  const auto put = [](std::string& to, uint64_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) to += static_cast<char>(value >> (8 * i) & 255);
  };
  for (const ZipMember& member : members) {
    const std::string packed = member.deflate ? deflated(member.data) : member.data;
    const uint16_t method = member.method != 0xFFFF ? member.method : (member.deflate ? 8 : 0);
    const auto crc =
        crc32_z(0, reinterpret_cast<const Bytef*>(member.data.data()), member.data.size()) + member.lie_crc;
    std::string fields;  // what the two headers share, from flags to sizes
    put(fields, member.flags, 2);
    put(fields, method, 2);
    put(fields, 0, 4);
    put(fields, crc, 4);
    put(fields, packed.size() + static_cast<uint64_t>(member.lie_packed_bytes), 4);
    put(fields, member.data.size() + static_cast<uint64_t>(member.lie_bytes), 4);
    put(fields, member.name.size(), 2);
    put(fields, 0, 2);
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put(directory, 20, 2);
    directory += fields;
    directory.append(10, '\0');  // comment length, disk, attributes
    put(directory, out.size() + static_cast<uint64_t>(member.lie_offset), 4);
    directory += member.name;
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    out += fields + member.name + packed;
  }
  const size_t directory_offset = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, directory_offset, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace brio::hub
