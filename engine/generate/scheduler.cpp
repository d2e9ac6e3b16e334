#include "engine/generate/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "engine/generate/prefix.h"

namespace fireboss::engine {
namespace {

// How often a stalled scheduler looks whether the drill is over.
constexpr Millis kStallCheck{50};

}  // namespace

Scheduler::Scheduler(const Weights& weights, const Tokenizer& tokenizer, const Kernels& kernels,
                     const SchedulerOptions& options, Drill drill)
    : tokenizer_(tokenizer),
      options_(options),
      drill_(std::move(drill)),
      forward_(weights, kernels, options.context, options.chunk + options.slots, options.threads) {
  for (std::size_t i = 0; i < options.slots; ++i) {
    slots_.push_back(
        {.cache = KvCache(weights.shape, options.context), .cached = {}, .salt = {}, .running = nullptr});
  }
  thread_ = std::thread([this] { run(); });
}

Scheduler::~Scheduler() {
  stop();
}

Result<std::shared_ptr<Job>> Scheduler::submit(GenerateRequest request, ReplySink sink) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->sink = std::move(sink);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return fail(ErrorCode::kUnavailable, "the engine is shutting down");
    }
    if (queue_.size() >= options_.queue) {
      ++counters_.rejected;
      return fail(ErrorCode::kBusy,
                  fmt::format("the queue is full ({} requests wait); try again later", queue_.size()));
    }
    queue_.push_back(job);
    counters_.waiting = queue_.size();
  }
  wake_.notify_all();
  return job;
}

void Scheduler::cancel(Job& job) {
  job.cancelled = true;
  wake_.notify_all();
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Scheduler::any_running() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) { return slot.running != nullptr; });
}

void Scheduler::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty() || any_running(); });
    if (stopping_) {
      break;
    }
    admit();
    if (drill_.stalled()) {
      lock.unlock();
      end_cancelled();
      lock.lock();
      wake_.wait_for(lock, kStallCheck, [this] { return stopping_; });
      continue;
    }
    lock.unlock();
    end_cancelled();
    step();
    lock.lock();
    if (const auto pause = drill_.pause(); pause > Millis(0)) {
      wake_.wait_for(lock, pause, [this] { return stopping_; });
    }
  }
  auto left = std::exchange(queue_, {});
  counters_.waiting = 0;
  lock.unlock();
  for (auto& slot : slots_) {
    if (slot.running) {
      deliver(slot, slot.running->end(FinishReason::kAborted, "the engine is shutting down"));
    }
  }
  for (const auto& job : left) {
    abort_waiting(*job, "the engine is shutting down");
  }
}

void Scheduler::abort_waiting(Job& job, std::string why) {
  ++counters_.finished[static_cast<std::size_t>(FinishReason::kAborted)];
  ReplyEvent event;
  event.finish = Finish{.reason = FinishReason::kAborted,
                        .stop = std::nullopt,
                        .completion_tokens = 0,
                        .error = std::move(why)};
  job.sink(std::move(event));
}

void Scheduler::admit() {
  std::erase_if(queue_, [this](const std::shared_ptr<Job>& job) {
    if (job->cancelled) {
      abort_waiting(*job, "cancelled");
    }
    return job->cancelled.load();
  });
  while (!queue_.empty()) {
    std::vector<SlotView> views;
    for (const auto& slot : slots_) {
      views.push_back({.tokens = slot.cached,
                       .salt = slot.salt,
                       .busy = slot.running != nullptr,
                       .last_used = slot.last_used});
    }
    const auto& request = queue_.front()->request;
    const auto placement = place(views, request.prompt, request.cache_salt);
    if (!placement) {
      break;
    }
    start(queue_.front(), placement->slot, placement->source, placement->reused);
    queue_.pop_front();
  }
  counters_.waiting = queue_.size();
}

void Scheduler::start(std::shared_ptr<Job> job, std::size_t slot_index, std::size_t source,
                      std::size_t reused) {
  auto& slot = slots_[slot_index];
  if (source != slot_index) {
    slot.cache.copy_prefix(slots_[source].cache, reused);
    slot.cached.assign(slots_[source].cached.begin(),
                       slots_[source].cached.begin() + static_cast<std::ptrdiff_t>(reused));
  } else {
    slot.cached.resize(reused);
  }
  slot.salt = job->request.cache_salt;
  slot.last_used = ++clock_;
  slot.reused = reused;
  counters_.prompt_tokens += reused;
  counters_.prompt_tokens_cached += reused;
  ++counters_.running;
  slot.running = std::make_unique<Sequence>(std::move(job), tokenizer_, options_.context);
}

void Scheduler::end_cancelled() {
  for (auto& slot : slots_) {
    if (slot.running && slot.running->job().cancelled) {
      deliver(slot, slot.running->end(FinishReason::kAborted, "cancelled"));
    }
  }
}

void Scheduler::step() {
  std::vector<Segment> segments;
  std::vector<Slot*> owners;
  std::size_t budget = options_.chunk;
  for (auto& slot : slots_) {
    if (!slot.running) {
      continue;
    }
    const auto& tokens = slot.running->tokens();
    const std::size_t left = tokens.size() - slot.cached.size();
    // One row for every running reply is always there; the chunk is for prompts.
    const std::size_t count = left == 1 ? 1 : std::min(left, budget);
    if (count == 0) {
      continue;
    }
    budget -= left == 1 ? 0 : count;
    segments.push_back({.cache = &slot.cache,
                        .tokens = std::span(tokens).subspan(slot.cached.size(), count),
                        .position = slot.cached.size(),
                        .wants_logits = count == left});
    owners.push_back(&slot);
  }
  if (segments.empty()) {
    return;
  }
  const auto logits = forward_.run(segments);
  ++counters_.steps;
  std::size_t row = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto& slot = *owners[i];
    const auto& tokens = segments[i].tokens;
    const std::size_t prompt = slot.running->job().request.prompt.size();
    counters_.prompt_tokens +=
        std::min(slot.cached.size() + tokens.size(), prompt) - std::min(slot.cached.size(), prompt);
    slot.cached.insert(slot.cached.end(), tokens.begin(), tokens.end());
    if (segments[i].wants_logits) {
      take(slot, logits[row++]);
    }
  }
}

void Scheduler::take(Slot& slot, std::span<const float> logits) {
  const auto before = slot.running->generated();
  auto event = slot.running->advance(logits);
  counters_.generation_tokens += slot.running->generated() - before;
  if (event.finish && event.finish->reason == FinishReason::kError) {
    ++counters_.bad_rows;
  }
  deliver(slot, std::move(event));
}

void Scheduler::deliver(Slot& slot, ReplyEvent event) {
  event.cached_tokens = slot.reused;
  if (!event.finish) {
    slot.running->job().sink(std::move(event));
    return;
  }
  // Before the event is out: who has seen the end of a reply finds it counted.
  ++counters_.finished[static_cast<std::size_t>(event.finish->reason)];
  --counters_.running;
  drill_.on_reply(slot.running->reply());
  const auto ended = std::exchange(slot.running, nullptr);
  ended->job().sink(std::move(event));
}

}  // namespace fireboss::engine
