#pragma once
// Runs the real fireboss-engine for a test, and talks HTTP to it.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <boost/json/value.hpp>

namespace fireboss::engine_test {

struct Reply {
  unsigned status = 0;
  std::string body;
  std::string content_type;

  [[nodiscard]] boost::json::value json() const;
  // The JSON of every "data: " line of a stream but [DONE].
  [[nodiscard]] std::vector<boost::json::value> events() const;
};

class EngineProcess {
 public:
  // Starts the engine with the drill model on a free port. wait_ready() tells when it serves.
  explicit EngineProcess(std::vector<std::string> arguments = {});
  // Kills it when it still runs.
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // Waits for READY=1 on the notify socket; false when the process ended before, or after 60 s.
  bool wait_ready();
  // Waits for a notification that holds `text`.
  bool wait_notified(std::string_view text, std::chrono::seconds deadline = std::chrono::seconds(60));
  void signal(int number) const;
  // Waits for the end; the wait status, or nullopt after 60 s.
  std::optional<int> wait_exit();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] unsigned short port() const { return port_; }
  // What it has written to stderr so far.
  [[nodiscard]] std::string log() const;

  // One request on a connection of its own; status 0 when the connection failed.
  Reply get(const std::string& path, const std::string& key = "") const;
  Reply post(const std::string& path, const std::string& body, const std::string& key = "") const;
  // POST /v1/chat/completions with one user message and further JSON fields, e.g. "\"max_tokens\":5".
  Reply ask(const std::string& user, const std::string& fields = "") const;
  // The number of a metric whose line begins with `name`; -1 when there is none.
  double metric(const std::string& name) const;
  // Reads the metric again and again until it is at least `value`; false after 60 s.
  bool wait_metric(const std::string& name, double value) const;

 private:
  Reply request(const std::string& method, const std::string& path, const std::string& body,
                const std::string& key) const;

  std::string directory_;
  pid_t pid_ = -1;
  int notify_ = -1;
  unsigned short port_ = 0;
};

std::string chat_body(const std::string& user, const std::string& fields = "");
// The shipped system prompt and tools as further fields and messages: the 17 KB request.
std::string full_chat_body(const std::string& user, const std::string& fields = "");
std::string drill_file(const std::string& name);

}  // namespace fireboss::engine_test
