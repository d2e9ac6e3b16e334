#pragma once
// A few threads that share out the parts of one computation.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fireboss::engine {

class Team {
 public:
  // `threads` counts the calling thread; at least 1.
  explicit Team(std::size_t threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t size() const { return threads_.size() + 1; }
  // Calls work(0) .. work(parts - 1), each once, on any thread, and returns when all are done. `work` must
  // not throw. Not for use by two callers at a time.
  void each(std::size_t parts, const std::function<void(std::size_t)>& work);

 private:
  void serve();
  // Takes parts until none is left; called with mutex_ held through `lock`.
  void take_parts(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable work_done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0;
  std::size_t parts_ = 0;
  std::size_t unfinished_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fireboss::engine
