// InterruptGuard: while one lives, Ctrl-C does not end the program but makes interrupted() true.
#pragma once

#include <csignal>

namespace brio::cli {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard() { sigaction(SIGINT, &previous_, nullptr); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  static bool take();  // the same, and it is false afterwards

 private:
  struct sigaction previous_ {};
};

}  // namespace brio::cli
