#include "cli/npy.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace brio::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);

Error io_error(const std::string& path) {
  return error(ErrorCode::kIo, "{}: {}", path, errno != 0 ? std::strerror(errno) : "unexpected end of file");
}

// The number after `key` in a header like "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
bool parse_shape(std::string_view header, int64_t& rows, int64_t& columns) {
  const size_t at = header.find("'shape': (");
  if (at == std::string_view::npos) return false;
  const char* cursor = header.data() + at + 10;
  const char* const end = header.data() + header.size();
  const auto first = std::from_chars(cursor, end, rows);
  if (first.ec != std::errc{} || first.ptr + 2 >= end || std::string_view(first.ptr, 2) != ", ") return false;
  const auto second = std::from_chars(first.ptr + 2, end, columns);
  return second.ec == std::errc{} && second.ptr < end && *second.ptr == ')' && rows >= 0 && columns > 0 &&
         columns <= int64_t{1} << 32;
}

}  // namespace

Result<NpyWriter> NpyWriter::create(const std::string& path, int64_t rows, int64_t columns) {
  NpyWriter writer;
  writer.path_ = path;
  writer.file_.reset(std::fopen(path.c_str(), "wb"));
  if (!writer.file_) return io_error(path);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  const size_t unpadded = kMagic.size() + 2 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += static_cast<char>(header.size() & 0xFF);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  if (std::fwrite(start.data(), 1, start.size(), writer.file_.get()) != start.size()) return io_error(path);
  return writer;
}

Result<void> NpyWriter::append(std::span<const float> row) {
  if (std::fwrite(row.data(), sizeof(float), row.size(), file_.get()) != row.size()) return io_error(path_);
  return {};
}

Result<void> NpyWriter::close() {
  if (std::fclose(file_.release()) != 0) return io_error(path_);
  return {};
}

Result<NpyReader> NpyReader::open(const std::string& path) {
  NpyReader reader;
  reader.path_ = path;
  errno = 0;
  reader.file_.reset(std::fopen(path.c_str(), "rb"));
  if (!reader.file_) return error(ErrorCode::kNotFound, "{}: {}", path, std::strerror(errno));
  char start[10];
  if (std::fread(start, 1, sizeof(start), reader.file_.get()) != sizeof(start)) return io_error(path);
  if (std::string_view(start, 8) != kMagic)
    return error(ErrorCode::kInvalidFile, "{}: not a .npy file of version 1.0", path);
  const auto length =
      static_cast<size_t>(static_cast<unsigned char>(start[8]) | static_cast<unsigned char>(start[9]) << 8);
  std::string header(length, '\0');
  if (std::fread(header.data(), 1, length, reader.file_.get()) != length) return io_error(path);
  if (header.find("'descr': '<f4'") == std::string::npos ||
      header.find("'fortran_order': False") == std::string::npos ||
      !parse_shape(header, reader.rows_, reader.columns_)) {
    return error(ErrorCode::kInvalidFile, "{}: expected a 2-dimensional fp32 array in C order, the header says {}",
                 path, header);
  }
  std::error_code failure;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, failure));
  const int64_t data = size - static_cast<int64_t>(sizeof(start) + length);
  const int64_t row_bytes = reader.columns_ * static_cast<int64_t>(sizeof(float));
  if (failure || data / row_bytes < reader.rows_) {
    return error(ErrorCode::kInvalidFile, "{}: {} bytes are too few for {} x {} values", path, size, reader.rows_,
                 reader.columns_);
  }
  return reader;
}

Result<void> NpyReader::read_row(std::span<float> row) {
  errno = 0;
  if (std::fread(row.data(), sizeof(float), row.size(), file_.get()) != row.size()) return io_error(path_);
  return {};
}

}  // namespace brio::cli
