// TaskQueue: a few threads for work that is too long for the network's and none of the engine's business: rendering
// templates and tokenizing long prompts. First come, first started. Any thread may add. A task catches std::bad_alloc.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/memory_reserve.h"

namespace brio::server {

class TaskQueue {
 public:
  explicit TaskQueue(int num_threads) {
    try {
      for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (...) {  // no thread to be had: those that run are in the way of an exception
      finish();
      throw;
    }
  }
  ~TaskQueue() { finish(); }
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // False once the queue is finishing: the task will not run.
  bool add(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      if (finishing_) return false;
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return true;
  }

  // Runs what has been added and joins the threads. One caller at a time.
  void finish() {
    {
      std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void run() {
    MemoryReserve::this_thread_may_fail();
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return finishing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool finishing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace brio::server
