#include "cli/interrupt.h"

#include <atomic>

namespace brio::cli {
namespace {

std::atomic<bool> flag{false};

extern "C" void on_interrupt(int) {
  flag.store(true);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag.store(false);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;  // a write that the signal meets is not a failed one
  sigaction(SIGINT, &action, &previous_);
}

bool InterruptGuard::interrupted() {
  return flag.load();
}

bool InterruptGuard::take() {
  return flag.exchange(false);
}

}  // namespace brio::cli
