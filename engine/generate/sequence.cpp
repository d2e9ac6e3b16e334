#include "engine/generate/sequence.h"

#include <utility>

namespace fireboss::engine {

Sequence::Sequence(std::shared_ptr<Job> job, const Tokenizer& tokenizer, std::size_t capacity)
    : job_(std::move(job)),
      tokenizer_(tokenizer),
      capacity_(capacity),
      tokens_(job_->request.prompt),
      sampler_(job_->request.sampling),
      stops_(job_->request.stops) {
  if (job_->request.garble) {
    garbler_ = Garbler(*job_->request.garble);
  }
}

Result<TokenId> Sequence::choose(std::span<const float> logits) {
  // Also for a forced token: a row with a NaN must not pass unseen.
  auto own = sampler_.pick(logits);
  const auto& head = job_->request.reply_head;
  return own && generated_ < head.size() ? Result<TokenId>(head[generated_]) : own;
}

ReplyEvent Sequence::advance(std::span<const float> logits) {
  const auto& request = job_->request;
  auto own = choose(logits);
  if (!own) {
    return end(FinishReason::kError, std::move(own.error().message));
  }
  ReplyEvent event;
  const bool ends = tokenizer_.ends_turn(*own) && !request.ignore_end;
  const auto step = garbler_.next(*own, ends);
  if (!step.token) {
    // The end token counts as generated, as in other engines.
    ++generated_;
    event.text = stops_.finish();
    finish(event, FinishReason::kStop);
    return event;
  }
  const auto token = *step.token;
  tokens_.push_back(token);
  ++generated_;
  if (request.top_logprobs) {
    event.logprobs.push_back(log_probabilities(logits, token, *request.top_logprobs));
  }
  if (!tokenizer_.is_control(token) || step.spoiled) {
    event.text = stops_.push(tokenizer_.bytes(token));
  }
  if (stops_.matched()) {
    finish(event, FinishReason::kStop);
    event.finish->stop = stops_.matched();
  } else if (generated_ >= request.max_tokens || tokens_.size() >= capacity_) {
    event.text += stops_.finish();
    finish(event, FinishReason::kLength);
  } else {
    reply_ += event.text;
  }
  return event;
}

ReplyEvent Sequence::end(FinishReason reason, std::string error) {
  ReplyEvent event;
  finish(event, reason);
  event.finish->error = std::move(error);
  return event;
}

void Sequence::finish(ReplyEvent& event, FinishReason reason) {
  reply_ += event.text;
  event.finish = Finish{.reason = reason, .stop = std::nullopt, .completion_tokens = generated_, .error = {}};
}

}  // namespace fireboss::engine
