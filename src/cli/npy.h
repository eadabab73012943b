// NumPy's .npy files of fp32 matrices, written row by row and read row by row (format version 1.0, little-endian, C order).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace brio::cli {

class NpyWriter {
 public:
  // The number of rows is fixed up front: the header states it.
  static Result<NpyWriter> create(const std::string& path, int64_t rows, int64_t columns);
  Result<void> append(std::span<const float> row);
  Result<void> close();  // errors that the system reports late (disk full) come here

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;
};

class NpyReader {
 public:
  // fp32, C order, two dimensions; errors name the file and what is wrong with it.
  static Result<NpyReader> open(const std::string& path);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Result<void> read_row(std::span<float> row);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

}  // namespace brio::cli
