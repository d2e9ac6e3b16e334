#include "tests/integration/engine_process.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>

extern char** environ;

namespace fireboss::engine_test {

namespace net = boost::asio;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPatience{60};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

}  // namespace

boost::json::value Reply::json() const {
  boost::system::error_code error;
  auto value = boost::json::parse(body, error);
  EXPECT_FALSE(error) << body;
  return value;
}

std::vector<boost::json::value> Reply::events() const {
  std::vector<boost::json::value> out;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("data: ") && line != "data: [DONE]") {
      out.push_back(boost::json::parse(line.substr(6)));
    }
  }
  return out;
}

EngineProcess::EngineProcess(std::vector<std::string> arguments) {
  char name[] = "/tmp/fireboss-engine-test-XXXXXX";
  directory_ = ::mkdtemp(name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", directory_.c_str());
  notify_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(notify_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);

  std::vector<std::string> command{FIREBOSS_BIN_DIR "/fireboss-engine", "--port-file", directory_ + "/port"};
  const std::pair<const char*, std::string> usual[] = {{"--model", drill_file("drill-f16.gguf")},
                                                       {"--port", "0"}};
  for (const auto& [option, value] : usual) {
    if (std::ranges::find(arguments, option) == arguments.end()) {
      command.insert(command.end(), {option, value});
    }
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : command) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  auto notify_variable = "NOTIFY_SOCKET=" + directory_ + "/notify";
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.push_back(*variable);
  }
  environment.push_back(notify_variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, (directory_ + "/log").c_str(), O_WRONLY | O_CREAT, 0600);
  EXPECT_EQ(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environment.data()), 0);
  posix_spawn_file_actions_destroy(&actions);
}

EngineProcess::~EngineProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(notify_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

bool EngineProcess::wait_ready() {
  if (!wait_notified("READY=1")) {
    return false;
  }
  std::ifstream(directory_ + "/port") >> port_;
  return port_ > 0;
}

bool EngineProcess::wait_notified(std::string_view text, std::chrono::seconds patience) {
  const auto deadline = Clock::now() + patience;
  // A process that ends is seen at once rather than after the deadline.
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  bool found = false;
  for (;;) {
    pollfd waiting[] = {{notify_, POLLIN, 0}, {process, POLLIN, 0}};
    if (::poll(waiting, 2, milliseconds_until(deadline)) <= 0) {
      break;
    }
    if ((waiting[0].revents & POLLIN) == 0) {
      break;
    }
    char message[4096];
    const auto size = ::recv(notify_, message, sizeof(message), 0);
    if (size > 0 &&
        std::string_view(message, static_cast<std::size_t>(size)).find(text) != std::string_view::npos) {
      found = true;
      break;
    }
  }
  ::close(process);
  return found;
}

void EngineProcess::signal(int number) const {
  ::kill(pid_, number);
}

std::optional<int> EngineProcess::wait_exit() {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd waiting{process, POLLIN, 0};
  const bool ended = ::poll(&waiting, 1, milliseconds_until(Clock::now() + kPatience)) == 1;
  ::close(process);
  int status = 0;
  if (!ended || ::waitpid(pid_, &status, 0) != pid_) {
    return std::nullopt;
  }
  pid_ = -1;
  return status;
}

std::string EngineProcess::log() const {
  return contents(directory_ + "/log");
}

Reply EngineProcess::request(const std::string& method, const std::string& path, const std::string& body,
                             const std::string& key) const {
  net::io_context io;
  boost::beast::tcp_stream stream(io);
  boost::system::error_code error;
  stream.connect(net::ip::tcp::endpoint(net::ip::address_v4::loopback(), port_), error);
  if (error) {
    return {};
  }
  http::request<http::string_body> request(http::string_to_verb(method), path, 11);
  request.set(http::field::host, "localhost");
  if (!key.empty()) {
    request.set(http::field::authorization, "Bearer " + key);
  }
  request.body() = body;
  request.prepare_payload();
  http::write(stream, request, error);
  // Also after a failed write: the engine may have answered before it had read everything.
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response, error);
  if (error) {
    return {};
  }
  return {.status = response.result_int(),
          .body = response.body(),
          .content_type = std::string(response[http::field::content_type])};
}

Reply EngineProcess::get(const std::string& path, const std::string& key) const {
  return request("GET", path, "", key);
}
Reply EngineProcess::post(const std::string& path, const std::string& body, const std::string& key) const {
  return request("POST", path, body, key);
}
Reply EngineProcess::ask(const std::string& user, const std::string& fields) const {
  return post("/v1/chat/completions", chat_body(user, fields));
}

double EngineProcess::metric(const std::string& name) const {
  std::istringstream in(get("/metrics").body);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name)) {
      return std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
  }
  return -1;
}

bool EngineProcess::wait_metric(const std::string& name, double value) const {
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    if (metric(name) >= value) {
      return true;
    }
  }
  return false;
}

std::string chat_body(const std::string& user, const std::string& fields) {
  return "{\"messages\":[{\"role\":\"user\",\"content\":" + boost::json::serialize(boost::json::value(user)) +
         "}]" + (fields.empty() ? "" : "," + fields) + "}";
}

std::string full_chat_body(const std::string& user, const std::string& fields) {
  const boost::json::array messages{
      {{"role", "system"}, {"content", contents(drill_file("system_prompt.md"))}},
      {{"role", "user"}, {"content", user}}};
  return "{\"messages\":" + boost::json::serialize(messages) +
         ",\"tools\":" + contents(drill_file("tools.json")) + (fields.empty() ? "" : "," + fields) + "}";
}

std::string drill_file(const std::string& name) {
  return FIREBOSS_SOURCE_DIR "/engine/models/drill/" + name;
}

}  // namespace fireboss::engine_test
