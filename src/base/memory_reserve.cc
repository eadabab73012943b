#include "base/memory_reserve.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

namespace brio {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{5};

std::atomic<void*> reserve{nullptr};  // of reserve_bytes, or null: used
size_t reserve_bytes = 0;             // set once, before other threads start
milliseconds patience{0};
thread_local bool may_fail = false;
thread_local milliseconds waited{0};  // since this thread last got memory from the reserve

void on_no_memory() {
  if (may_fail) throw std::bad_alloc();
  if (void* held = reserve.exchange(nullptr)) {
    std::free(held);  // at least what malloc maps by itself: goes back to the system
    waited = milliseconds(0);
    return;
  }
  if (waited >= patience) throw std::bad_alloc();
  std::this_thread::sleep_for(kPause);
  waited += kPause;
}

}  // namespace

void MemoryReserve::install(size_t num_bytes, milliseconds longest) {
  reserve_bytes = num_bytes;
  patience = longest;
  refill();
  std::set_new_handler(on_no_memory);
}

void MemoryReserve::this_thread_may_fail() {
  may_fail = true;
}

void MemoryReserve::refill() {
  if (reserve_bytes == 0 || reserve.load() != nullptr) return;
  void* taken = std::malloc(reserve_bytes);
  void* none = nullptr;
  if (taken != nullptr && !reserve.compare_exchange_strong(none, taken)) std::free(taken);
}

size_t MemoryReserve::held_bytes() {
  return reserve.load() != nullptr ? reserve_bytes : 0;
}

MemoryReserve::Essential::Essential() : could_fail_(may_fail) {
  may_fail = false;
  waited = milliseconds(0);
}
MemoryReserve::Essential::~Essential() {
  may_fail = could_fail_;
}

}  // namespace brio
