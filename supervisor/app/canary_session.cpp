#include "supervisor/app/canary_session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/random.h>

#include "base/os/credential.h"
#include "canary/suite/ask.h"
#include "supervisor/app/redact.h"

namespace fireboss::app {
namespace asio = boost::asio;
namespace {

Result<canary::RandomBytes> random_bytes() {
  canary::RandomBytes bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorCode::kInternal, std::string("getrandom: ") + std::strerror(errno));
  return bytes;
}

// Trouble of ours in finding out who listens: not to be taken for "nobody".
Error untold(Error error) {
  error.code = ErrorCode::kInternal;
  return error;
}

// What the run could not even ask, as the outcome of each of its calls.
GradedRun not_asked(int n, const std::string& reason) {
  GradedRun run;
  for (int i = 0; i < n; ++i) {
    canary::Graded graded;
    graded.verdict = canary::Verdict::kHttpError;
    graded.grade = canary::Grade::kInconclusive;
    graded.reason = reason;
    run.calls.push_back({std::move(graded), ""});
  }
  return run;
}

}  // namespace

std::vector<std::string> GradedRun::results() const {
  std::vector<std::string> texts;
  texts.reserve(calls.size());
  for (const auto& call : calls)
    texts.push_back(canary::result_text(call.graded));
  return texts;
}

CanarySession::CanarySession(const config::Engine& engine, std::uint64_t raw_reply_bytes, ports::Clock& clock,
                             ports::Sockets& sockets)
    : engine_(engine), raw_reply_bytes_(raw_reply_bytes), clock_(clock), sockets_(sockets) {}

Result<std::string> CanarySession::api_key() const {
  const auto& name = engine_.suite.api_key_credential;
  if (name.empty())
    return std::string();
  return read_credential(name, "firebossd.service");
}

Result<void> CanarySession::credential() const {
  const auto key = api_key();
  return key ? Result<void>{} : fail(key.error());
}

std::string CanarySession::without_key(std::string text) const {
  if (const auto key = api_key())
    mask(text, *key);
  return text;
}

Result<void> CanarySession::who_answers() const {
  if (engine_.listener == config::ListenerCheck::kAny)
    return {};
  const auto port = std::to_string(engine_.port);
  const auto listeners = sockets_.listeners(engine_.port);
  if (!listeners)
    return fail(untold(listeners.error()));
  if (listeners->empty())
    return fail(ErrorCode::kUnavailable, "nobody listens on port " + port);
  if (control_group_.empty())
    return fail(ErrorCode::kBusy, "port " + port + " is answered by a process outside " + engine_.unit +
                                      ", which has none running");
  for (const auto& listener : *listeners) {
    const auto ours = sockets_.belongs(listener, control_group_);
    // A unit without a process does not listen.
    if (!ours && ours.error().code != ErrorCode::kNotFound)
      return fail(untold(ours.error()));
    if (!ours || !*ours) {
      const auto group = sockets_.control_group_of(listener);
      return fail(ErrorCode::kBusy,
                  "port " + port + " is answered by " +
                      (group.empty() ? "a process of uid " + std::to_string(listener.uid) : group) +
                      ", not by " + engine_.unit);
    }
  }
  return {};
}

canary::Get CanarySession::make_get() const {
  canary::Get get;
  get.endpoint = {engine_.host, engine_.port};
  get.headers = engine_.suite.headers;
  get.deadlines = {.connect = Millis{5'000},
                   .first_byte = Millis{10'000},
                   .between = Millis{5'000},
                   .total = Millis{15'000}};
  get.check = [this](const auto&) { return who_answers(); };
  return get;
}

asio::awaitable<Result<std::vector<std::string>>> CanarySession::models() {
  const auto key = api_key();
  if (!key)
    co_return fail(key.error());
  auto get = make_get();
  get.api_key = *key;
  const auto page = co_await canary::fetch_models(std::move(get), engine_.suite.base_path);
  if (!page)
    co_return fail(page.error());
  co_return canary::parse_models(*page);
}

asio::awaitable<Result<std::string>> CanarySession::metrics_page() {
  const auto key = api_key();
  if (!key)
    co_return fail(key.error());
  auto get = make_get();
  get.api_key = *key;  // llama-server asks for it here too
  get.target = engine_.metrics_path;
  co_return co_await canary::http_get(std::move(get));
}

void CanarySession::forget_old_nonces() {
  const auto oldest = clock_.mono() - engine_.policy.foreign_nonce_window;
  while (!issued_.empty() && issued_.front().first < oldest) {
    if (--issued_count_[issued_.front().second] == 0)
      issued_count_.erase(issued_.front().second);
    issued_.pop_front();
  }
}

asio::awaitable<GradedRun> CanarySession::run(std::string variant_name, int n) {
  const auto& suite = engine_.suite;
  const auto variant = std::find_if(suite.variants.begin(), suite.variants.end(),
                                    [&](const auto& candidate) { return candidate.name == variant_name; });
  if (variant == suite.variants.end())
    co_return not_asked(n, "own_fault");
  const auto key = api_key();
  if (!key)
    co_return not_asked(n, "credential");
  forget_old_nonces();

  canary::Request request;
  request.endpoint = {engine_.host, engine_.port};
  request.target = suite.base_path + "/chat/completions";
  request.headers = suite.headers;
  request.api_key = *key;
  if (const auto known = deadlines_.find(variant_name); known != deadlines_.end())
    request.deadlines = known->second;
  request.check = [this](const auto&) { return who_answers(); };
  std::vector<canary::Prompt> prompts;
  const auto model = !suite.model.empty() ? suite.model : models_.empty() ? std::string() : models_.front();
  for (int i = 0; i < n; ++i) {
    const auto random = random_bytes();
    if (!random)
      co_return not_asked(n, "own_fault");
    auto ask = canary::make_ask(suite, *variant, model, *random);
    issued_.emplace_back(clock_.mono(), ask.prompt.nonce);
    ++issued_count_[ask.prompt.nonce];
    prompts.push_back(std::move(ask.prompt));
    request.calls.push_back({std::move(ask.body), ask.stream});
  }
  own_.in_flight = 1;  // one after the other
  own_.most_tokens = n * suite.max_tokens;
  auto answered = co_await canary::run(std::move(request));
  own_.in_flight = 0;
  own_.most_tokens = 0;

  GradedRun run;
  canary::GradeOptions options;
  options.reasoning = suite.reasoning;
  options.special_tokens = suite.special_tokens;
  options.issued = [this](std::string_view nonce) { return issued_count_.contains(std::string(nonce)); };
  for (std::size_t i = 0; i < answered.calls.size() && i < prompts.size(); ++i) {
    auto& call = answered.calls[i];
    GradedCall graded;
    graded.graded = canary::grade(canary::exact_task(prompts[i], suite.max_tokens), call.response, options);
    own_.completion_tokens += graded.graded.signals.completion_tokens.value_or(0);
    if (graded.graded.grade != canary::Grade::kPass) {
      graded.body = call.response.body.empty() ? call.response.error : std::move(call.response.body);
      // An engine, or a proxy before it, may well say which key it did not like.
      mask(graded.body, *key);
      if (graded.body.size() > raw_reply_bytes_)
        graded.body.resize(raw_reply_bytes_);
    }
    run.calls.push_back(std::move(graded));
  }
  co_return run;
}

}  // namespace fireboss::app
