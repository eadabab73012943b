// TokenCounts: which tokens a sequence has seen, for penalties. Kept up to date only where a request asks for
// penalties. Copyable: a forked choice goes on from its parent's counts. Survives preemption.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace brio::engine {

class TokenCounts {
 public:
  struct Count {
    bool in_prompt = false;
    int in_output = 0;
  };
  void add_prompt(int32_t token) { counts_[token].in_prompt = true; }
  void add_output(int32_t token) { ++counts_[token].in_output; }
  const std::unordered_map<int32_t, Count>& counts() const { return counts_; }

 private:
  std::unordered_map<int32_t, Count> counts_;
};

}  // namespace brio::engine
