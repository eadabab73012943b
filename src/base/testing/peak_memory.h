// PeakMemory: how far this process's resident memory rose since the object was made: its own pages and those of mapped
// files alike, as /proc/self/status has them. For tests; one at a time.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace brio::testing {

class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts again from what is resident now (proc(5))
    before_ = kilobytes("VmRSS:");
    is_measured_ = before_ > 0 && kilobytes("VmHWM:") < before_ + kMostSlackKb;
  }
  bool is_measured() const { return is_measured_; }
  int64_t grown_bytes() const { return (kilobytes("VmHWM:") - before_) * 1024; }

 private:
  static constexpr int64_t kMostSlackKb = 1024;  // the system counts pages by processor and adds up now and then
  static int64_t kilobytes(const std::string& key) {
    std::ifstream in("/proc/self/status");
    int64_t value = 0;
    for (std::string word; in >> word;) {
      if (word == key) in >> value;
    }
    return value;
  }
  int64_t before_ = 0;
  bool is_measured_ = false;
};

}  // namespace brio::testing
