#pragma once
// Runs generations on a thread of its own: a bounded queue in front of a few slots, each with a key/value
// cache. Every step computes the next token of all running replies, and a chunk of one prompt, in one forward
// pass.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/generate/counters.h"
#include "engine/generate/request.h"
#include "engine/generate/sequence.h"
#include "engine/model/forward.h"

namespace fireboss::engine {

struct SchedulerOptions {
  std::size_t context = 0;  // most tokens of prompt and reply together
  std::size_t slots = 4;
  std::size_t queue = 16;   // requests that may wait
  std::size_t chunk = 512;  // prompt tokens in one step
  std::size_t threads = 1;  // of the forward pass
};

class Scheduler {
 public:
  // What a drill does to the scheduler; asked before every step.
  struct Drill {
    std::function<bool()> stalled = [] { return false; };
    std::function<Millis()> pause = [] { return Millis(0); };
    std::function<void(const std::string&)> on_reply = [](const std::string&) {};
  };

  // `weights`, `tokenizer` and `kernels` must outlive this.
  Scheduler(const Weights& weights, const Tokenizer& tokenizer, const Kernels& kernels,
            const SchedulerOptions& options, Drill drill);
  // Ends what still runs as kAborted.
  ~Scheduler();

  // kBusy when the queue is full, kUnavailable after stop(). `sink` gets events until one has `finish` set.
  [[nodiscard]] Result<std::shared_ptr<Job>> submit(GenerateRequest request, ReplySink sink);
  void cancel(Job& job);
  // Ends all jobs as kAborted and the thread with them.
  void stop();

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const SchedulerOptions& options() const { return options_; }

 private:
  struct Slot {
    KvCache cache;
    std::vector<TokenId> cached;  // tokens whose keys and values `cache` holds
    std::string salt;
    std::uint64_t last_used = 0;
    std::size_t reused = 0;
    std::unique_ptr<Sequence> running;
  };

  void run();
  void admit();  // with mutex_ held
  void start(std::shared_ptr<Job> job, std::size_t slot, std::size_t source, std::size_t reused);
  void end_cancelled();
  void abort_waiting(Job& job, std::string why);
  void step();
  void take(Slot& slot, std::span<const float> logits);
  void deliver(Slot& slot, ReplyEvent event);
  [[nodiscard]] bool any_running() const;

  const Tokenizer& tokenizer_;
  const SchedulerOptions options_;
  const Drill drill_;
  Forward forward_;
  Counters counters_;
  std::uint64_t clock_ = 0;  // counts admissions
  std::vector<Slot> slots_;  // of the thread alone

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fireboss::engine
