#pragma once
// What the HTTP routes share: the model, the scheduler, the drill's faults, and the answers that need no
// waiting.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/chat/conversation.h"
#include "engine/faults/board.h"
#include "engine/generate/scheduler.h"
#include "engine/server/chat_request.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

struct ServiceOptions {
  std::vector<std::string>
      model_names;            // what requests may call the model; the first one is shown in replies
  std::string fingerprint{};  // system_fingerprint
  std::string api_key{};      // empty: none is asked for
  bool faults_enabled = false;
  double temperature = 0;        // of requests that do not say
  std::int64_t started = 0;      // seconds since the epoch
  std::string implementation{};  // of the kernels, for /metrics
};

// An HTTP error: the status and the text of its error body.
struct Refusal {
  unsigned status = 500;
  std::string message{};
};

struct Prepared {
  ChatRequest chat;
  GenerateRequest generate;
  std::size_t prompt_tokens = 0;
};

class Service {
 public:
  Service(ServiceOptions options, const Tokenizer& tokenizer, const ChatTokens& chat_tokens,
          Scheduler& scheduler, FaultBoard& faults)
      : options_(std::move(options)),
        tokenizer_(tokenizer),
        chat_tokens_(chat_tokens),
        scheduler_(scheduler),
        faults_(faults) {}

  [[nodiscard]] const ServiceOptions& options() const { return options_; }
  [[nodiscard]] const Tokenizer& tokenizer() const { return tokenizer_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] FaultBoard& faults() { return faults_; }

  // Reads, renders and tokenises a chat request. Thread-safe; takes milliseconds for a long prompt.
  [[nodiscard]] tl::expected<Prepared, Refusal> prepare(std::string_view body) const;
  // A new "chatcmpl-..." id.
  [[nodiscard]] std::string next_id();
  // Whether the Authorization header carries the key; compares in constant time.
  [[nodiscard]] bool authorised(std::string_view authorization) const;

  [[nodiscard]] std::string models() const;
  [[nodiscard]] std::string metrics() const;
  [[nodiscard]] std::string fault_list() const;
  // POST /faults: {"set": [TEXT...], "clear": [NAME...]}, "clear": ["*"] for all.
  [[nodiscard]] tl::expected<std::string, Refusal> change_faults(std::string_view body);

 private:
  ServiceOptions options_;
  const Tokenizer& tokenizer_;
  const ChatTokens chat_tokens_;
  Scheduler& scheduler_;
  FaultBoard& faults_;
  std::atomic<std::uint64_t> ids_{0};
};

}  // namespace fireboss::engine
