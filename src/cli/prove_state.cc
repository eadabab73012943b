#include "cli/prove_state.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace brio::cli {
namespace {

using prove::RowResult;

std::string temporary_of(const std::string& path) {
  return path + ".new";
}

// "name<TAB>runs<TAB>combinations<TAB>positions<TAB>equal<TAB>occurred"
std::optional<RowResult> parse_row(const std::string& line) {
  std::istringstream fields(line);
  RowResult row;
  int equal = -1;
  if (!std::getline(fields, row.name, '\t') || !(fields >> row.runs >> row.combinations >> row.positions >> equal)) {
    return std::nullopt;
  }
  const bool in_range = row.runs >= 0 && row.combinations >= 0 && row.positions >= 0 && (equal == 0 || equal == 1);
  if (!in_range || fields.get() != '\t') return std::nullopt;
  std::getline(fields, row.occurred);
  row.status = equal == 1 ? RowResult::Status::kEqual : RowResult::Status::kVacuous;
  return row;
}

}  // namespace

Result<void> ProveState::check_writable(const std::string& path) {
  if (path.empty()) return {};
  if (std::filesystem::is_directory(path)) return error(ErrorCode::kIo, "--state {}: a folder", path);
  std::error_code ignored;
  const bool written = std::ofstream(temporary_of(path)).is_open();
  const int reason = errno;
  std::filesystem::remove(temporary_of(path), ignored);
  if (!written) return error(ErrorCode::kIo, "--state {}: cannot be written: {}", path, std::strerror(reason));
  return {};
}

Result<void> ProveState::read() {
  if (path_.empty() || !std::filesystem::exists(path_)) return {};
  std::ifstream in(path_);
  if (!in) return error(ErrorCode::kIo, "{}: cannot be read: {}", path_, std::strerror(errno));
  std::string line;
  if (!std::getline(in, line)) return {};
  if (line != key_) {
    return error(ErrorCode::kInvalidFile,
                 "{}: line 1: the state of another model, depth, seed, number of threads or build of brio", path_);
  }
  for (int number = 2; std::getline(in, line); ++number) {
    const std::optional<RowResult> row = parse_row(line);
    if (!row) return error(ErrorCode::kInvalidFile, "{}: line {}: not a row's state", path_, number);
    rows_[row->name] = *row;
  }
  return {};
}

RowResult ProveState::of(const std::string& row) const {
  const auto found = rows_.find(row);
  return found == rows_.end() ? RowResult{} : found->second;
}

Result<void> ProveState::keep(const RowResult& row) {
  if (path_.empty() || row.status == RowResult::Status::kDiffers) return {};
  rows_[row.name] = row;
  const std::string temporary = temporary_of(path_);
  std::ofstream out(temporary);
  out << key_ << '\n';
  for (const auto& [name, kept] : rows_) {
    out << name << '\t' << kept.runs << '\t' << kept.combinations << '\t' << kept.positions << '\t'
        << (kept.status == RowResult::Status::kEqual ? 1 : 0) << '\t' << kept.occurred << '\n';
  }
  out.close();
  std::error_code failure;
  if (out) std::filesystem::rename(temporary, path_, failure);
  if (!out || failure) return error(ErrorCode::kIo, "{} cannot be written", path_);
  return {};
}

}  // namespace brio::cli
