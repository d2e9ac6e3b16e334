#pragma once
// One running reply: from a row of logits to the next token, the text, and the end.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/generate/request.h"
#include "engine/sampler/stop_matcher.h"

namespace fireboss::engine {

class Sequence {
 public:
  // `capacity`: most tokens that prompt and reply may have together.
  Sequence(std::shared_ptr<Job> job, const Tokenizer& tokenizer, std::size_t capacity);

  [[nodiscard]] Job& job() { return *job_; }
  // Prompt and reply so far; the last token may not have been computed yet.
  [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }
  [[nodiscard]] std::size_t generated() const { return generated_; }
  [[nodiscard]] const std::string& reply() const { return reply_; }

  // Chooses the next token from the logits after the last one. The event has `finish` set when the reply is
  // over.
  [[nodiscard]] ReplyEvent advance(std::span<const float> logits);
  // The event that ends the reply for another reason.
  [[nodiscard]] ReplyEvent end(FinishReason reason, std::string error);

 private:
  [[nodiscard]] Result<TokenId> choose(std::span<const float> logits);
  void finish(ReplyEvent& event, FinishReason reason);

  std::shared_ptr<Job> job_;
  const Tokenizer& tokenizer_;
  std::size_t capacity_;
  std::vector<TokenId> tokens_;
  std::size_t generated_ = 0;
  std::string reply_;
  Sampler sampler_;
  StopMatcher stops_;
  Garbler garbler_;
};

}  // namespace fireboss::engine
