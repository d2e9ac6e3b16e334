#include "engine/model/team.h"

namespace fireboss::engine {

Team::Team(std::size_t threads) {
  for (std::size_t i = 1; i < threads; ++i) {
    threads_.emplace_back([this] { serve(); });
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_ready_.notify_all();
  for (auto& thread : threads_) {
    thread.join();
  }
}

void Team::each(std::size_t parts, const std::function<void(std::size_t)>& work) {
  if (threads_.empty() || parts == 1) {
    for (std::size_t part = 0; part < parts; ++part) {
      work(part);
    }
    return;
  }
  std::unique_lock lock(mutex_);
  work_ = &work;
  next_ = 0;
  parts_ = parts;
  unfinished_ = parts;
  work_ready_.notify_all();
  take_parts(lock);
  work_done_.wait(lock, [this] { return unfinished_ == 0; });
  work_ = nullptr;
}

void Team::take_parts(std::unique_lock<std::mutex>& lock) {
  while (next_ < parts_) {
    const auto part = next_++;
    const auto& work = *work_;
    lock.unlock();
    work(part);
    lock.lock();
    if (--unfinished_ == 0) {
      work_done_.notify_all();
    }
  }
}

void Team::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_ready_.wait(lock, [this] { return ending_ || next_ < parts_; });
    if (ending_) {
      return;
    }
    take_parts(lock);
  }
}

}  // namespace fireboss::engine
