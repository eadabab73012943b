// ProveState: the file of `brio prove --state`, which keeps how far each row is, so that a proof that was stopped goes on.
// Written whole and renamed, after every row and now and then within one.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "prove/matrix.h"

namespace brio::cli {

class ProveState {
 public:
  // path: empty keeps nothing. key: one line that says what is proved and by which program; a file of another is refused.
  ProveState(std::string path, std::string key) : path_(std::move(path)), key_(std::move(key)) {}

  // An error when the file cannot be written: to be found before hours of work, and not after them.
  static Result<void> check_writable(const std::string& path);

  // A file that does not exist or is empty holds no rows. Anything but a proof's state under this key is an error.
  Result<void> read();
  prove::RowResult of(const std::string& row) const;  // so far; {} when it has not begun
  Result<void> keep(const prove::RowResult& row);     // a row that differs is not kept: it has to be seen again

 private:
  std::string path_, key_;
  std::map<std::string, prove::RowResult> rows_;
};

}  // namespace brio::cli
