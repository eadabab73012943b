// ThreadPool: the one pool of compute threads of a process. The caller is thread 0; the others are pinned to the allowed
// CPUs, spin briefly for the next job and then sleep on a futex, so that an idle engine costs nothing.
//
//   pool.run([&](int thread) { ... });                          // once on every thread; returns when all are done
//   pool.parallel_for(num_panels, 4, [&](int begin, int end) { ... });   // claims ranges of at most 4 from a counter
//
// Placement of work never changes a result (DESIGN R8): items must be independent. One caller at a time. Every thread
// has FTZ and DAZ set before each job.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/clock.h"

namespace brio {

class ThreadPool {
 public:
  // num_threads >= 1; more than the CPUs allowed is legal (threads then share cores and are not pinned).
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }
  // CPU time that worker 1 .. num_threads - 1 has used; proof that it runs.
  Duration cpu_time(int worker) const;

  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased([](void* context, int thread) { (*static_cast<Plain*>(context))(thread); },
               const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Calls body(begin, end) for disjoint ranges covering [0, count); each at most `grain` long.
  template <typename Body>
  void parallel_for(int count, int grain, Body&& body) {
    if (count <= grain || num_threads_ == 1) {
      if (count > 0) run_inline([&] { for_ranges_serial(count, grain, body); });
      return;
    }
    std::atomic<int> next{0};
    run([&](int) {
      for (int begin = next.fetch_add(grain, std::memory_order_relaxed); begin < count;
           begin = next.fetch_add(grain, std::memory_order_relaxed)) {
        body(begin, begin + grain < count ? begin + grain : count);
      }
    });
  }

 private:
  using Job = void (*)(void* context, int thread);
  void run_erased(Job job, void* context);
  void worker(int thread);
  void stop();
  static void enter_float_mode();

  template <typename Body>
  static void run_inline(Body&& body) {
    enter_float_mode();
    body();
  }
  template <typename Body>
  static void for_ranges_serial(int count, int grain, Body& body) {
    for (int begin = 0; begin < count; begin += grain) body(begin, begin + grain < count ? begin + grain : count);
  }

  int num_threads_;
  int spin_limit_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};  // raised once per job; workers wait for it to change
  alignas(64) std::atomic<int> pending_{0};     // workers still inside the current job
  alignas(64) std::atomic<bool> stop_{false};
  mutable std::vector<std::thread> workers_;
};

}  // namespace brio
