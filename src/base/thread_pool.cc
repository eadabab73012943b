#include "base/thread_pool.h"

#include <pthread.h>

#include <ctime>

#include <algorithm>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace brio {
namespace {

// About 30 microseconds of pauses: longer than the gap between two ops of one step, far shorter than a scheduler tick.
constexpr int kSpinPauses = 1500;

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void pin_to(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);  // best effort: containers may refuse
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) : num_threads_(std::max(1, num_threads)) {
  const std::vector<int> cpus = allowed_cpus();
  const bool own_cores = num_threads_ <= effective_cpus();
  spin_limit_ = own_cores ? kSpinPauses : 0;
  try {
    for (int thread = 1; thread < num_threads_; ++thread) {
      workers_.emplace_back([this, thread] { worker(thread); });
      if (own_cores && static_cast<size_t>(num_threads_) <= cpus.size()) pin_to(workers_.back(), cpus[thread]);
    }
  } catch (...) {  // a limit of the system's: std::system_error
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stop_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Duration ThreadPool::cpu_time(int worker) const {
  clockid_t clock;
  timespec time{};
  if (pthread_getcpuclockid(workers_.at(static_cast<size_t>(worker - 1)).native_handle(), &clock) == 0) {
    clock_gettime(clock, &time);
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void ThreadPool::enter_float_mode() {
  set_float_mode();
}

void ThreadPool::run_erased(Job job, void* context) {
  enter_float_mode();
  if (workers_.empty()) {
    job(context, 0);
    return;
  }
  job_ = job;
  context_ = context;
  pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  job(context, 0);
  int spins = 0;
  for (int left = pending_.load(std::memory_order_acquire); left != 0;
       left = pending_.load(std::memory_order_acquire)) {
    if (spins++ < spin_limit_) {
      pause_cpu();
    } else {
      pending_.wait(left, std::memory_order_acquire);
    }
  }
}

void ThreadPool::worker(int thread) {
  uint32_t seen = 0;
  while (true) {
    int spins = 0;
    while (epoch_.load(std::memory_order_acquire) == seen) {
      if (spins++ < spin_limit_) {
        pause_cpu();
      } else {
        epoch_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stop_.load(std::memory_order_acquire)) return;
    enter_float_mode();
    job_(context_, thread);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace brio
