#pragma once
// One generation: what is asked of the scheduler, and the events that come back.
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/faults/garble.h"
#include "engine/sampler/sampler.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct GenerateRequest {
  std::vector<TokenId> prompt{};      // not empty, shorter than the context
  std::vector<TokenId> reply_head{};  // tokens that the reply must begin with (a forced tool call)
  std::size_t max_tokens = 0;         // at least 1
  Sampling sampling{};
  std::vector<std::string> stops{};
  std::optional<std::size_t> top_logprobs{};  // set: report log-probabilities, with so many alternatives
  std::string cache_salt{};                   // prefixes are shared among requests of the same salt only
  bool ignore_end = false;
  std::optional<GarblePlan> garble{};
};

enum class FinishReason { kStop, kLength, kAborted, kError };

struct Finish {
  FinishReason reason = FinishReason::kStop;
  std::optional<std::string> stop{};  // the stop string that ended the reply
  std::size_t completion_tokens = 0;
  std::string error{};  // of kError: one line
};

struct ReplyEvent {
  std::string text{};                     // bytes; a character may be split between events
  std::vector<TokenLogprobs> logprobs{};  // of the tokens produced since the last event
  std::size_t cached_tokens = 0;          // prompt tokens served from the cache
  std::optional<Finish> finish{};         // set in the last event, and only there
};

// Called on the scheduler's thread; must not block.
using ReplySink = std::function<void(ReplyEvent)>;

struct Job {
  GenerateRequest request;
  ReplySink sink;
  std::atomic<bool> cancelled{false};  // set by anyone; the scheduler then ends the job as kAborted
};

}  // namespace fireboss::engine
