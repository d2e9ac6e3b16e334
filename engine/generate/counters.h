#pragma once
// What the scheduler has done, for /metrics. Written by it alone; read from anywhere.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fireboss::engine {

struct Counters {
  std::atomic<std::uint64_t> running{0};        // requests in a slot
  std::atomic<std::uint64_t> waiting{0};        // requests in the queue
  std::atomic<std::uint64_t> prompt_tokens{0};  // of admitted requests, cached ones included
  std::atomic<std::uint64_t> prompt_tokens_cached{0};
  std::atomic<std::uint64_t> generation_tokens{0};
  std::atomic<std::uint64_t> steps{0};     // forward passes
  std::atomic<std::uint64_t> bad_rows{0};  // rows of logits with a NaN or without a finite value
  std::array<std::atomic<std::uint64_t>, 4> finished{};  // by FinishReason
  std::atomic<std::uint64_t> rejected{0};                // for a full queue
};

}  // namespace fireboss::engine
