// MemoryReserve: what happens when the process may have no more memory (RLIMIT_AS, a limit on address space). Most threads
// work for one request at a time: they catch std::bad_alloc and fail that request alone. A few cannot: the engine's
// thread, and whoever tells a client that its request has failed. These get a reserve, and when it is used up they wait
// for what failing requests give back.
//
//   MemoryReserve::install(16 << 20, std::chrono::seconds(10));   // once, before other threads start
//   MemoryReserve::this_thread_may_fail();                        // a thread that catches std::bad_alloc
//   const MemoryReserve::Essential essential;                     // such a thread, while it must not fail
#pragma once

#include <chrono>
#include <cstddef>

namespace brio {

class MemoryReserve {
 public:
  // Becomes operator new's handler. A thread that must not fail waits for `patience` at most, then std::bad_alloc it is.
  static void install(size_t num_bytes, std::chrono::milliseconds patience);
  static void this_thread_may_fail();
  // Takes the reserve again if it was used and there is room. After a request was failed.
  static void refill();
  static size_t held_bytes();

  class Essential {
   public:
    Essential();
    ~Essential();
    Essential(const Essential&) = delete;
    Essential& operator=(const Essential&) = delete;

   private:
    bool could_fail_;
  };
};

}  // namespace brio
