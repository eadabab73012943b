// PackedWriter: writes a packed file in a thread of its own while the model already answers. The file appears under its
// name whole and on the disk, or not at all; the last writer of a name wins.
//
//   PackedWriter writer(std::move(job));
//   ... writer.fraction() ... writer.done() ...
//   if (auto kept = writer.result(); !kept.ok()) ...      // waits
//
// Until then the bytes lie in NAME.new, locked by the process that writes: a second one leaves the work to the first, and
// takes over what a process that died left behind. The destructor gives up what is not finished.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "tensor/weight.h"
#include "weights/checkpoint.h"
#include "weights/packed_header.h"

namespace brio::weights {

class PackedWriter {
 public:
  struct Matrix {
    std::string name;
    tensor::Weight weight;  // of Numerics::kDefault
  };
  struct Job {
    std::filesystem::path path;  // its folder is made if need be
    PackedKey key;
    std::string source;  // path of the model
    std::vector<Matrix> matrices;
    std::vector<Checkpoint::SourceFile> files;  // if one of these changes meanwhile the work is given up
  };

  explicit PackedWriter(Job job, std::function<void(const Result<void>&)> on_end = nullptr);
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  int64_t size_bytes() const { return static_cast<int64_t>(header_.data_offset + header_.data_bytes); }
  double fraction() const { return static_cast<double>(written_.load()) / static_cast<double>(header_.data_bytes); }
  bool done() const { return done_.load(); }
  void cancel() { cancelled_.store(true); }
  // Waits for the end. Errors: kIo, kUnavailable (another process writes it, or a source changed), kCancelled.
  Result<void> result();

 private:
  Result<void> write();
  Result<void> write_data(int descriptor);
  Result<void> publish(int descriptor);

  Job job_;
  PackedHeader header_;
  std::filesystem::path temporary_;
  std::function<void(const Result<void>&)> on_end_;
  Result<void> result_;
  std::atomic<uint64_t> written_{0};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: uses the others
};

}  // namespace brio::weights
