#include "supervisor/ctl/control_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/os/file_descriptor.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

constexpr std::size_t kMaxLine = 8 * 1024 * 1024;

std::string errno_text() {
  return std::strerror(errno);
}

Result<void> connect_to(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::kInvalid, path + ": longer than a socket path may be (107 bytes)");
  path.copy(address.sun_path, path.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return {};
  if (errno == EACCES)
    return fail(ErrorCode::kDenied,
                path + ": no permission: run as root or as a member of the socket's group");
  return fail(ErrorCode::kUnavailable,
              path + ": firebossd does not answer (" + errno_text() + "): systemctl status firebossd");
}

Result<void> send_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const auto sent = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      return fail(ErrorCode::kUnavailable, "firebossd closed the connection: " + errno_text());
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  Result<std::string> next(Millis silence) {
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        auto line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (buffer_.size() > kMaxLine)
        return fail(ErrorCode::kCorrupt, "firebossd's answer has no end");
      pollfd poll_fd{fd_, POLLIN, 0};
      const auto wait =
          static_cast<int>(std::min<Millis::rep>(silence.count(), std::numeric_limits<int>::max()));
      const int ready = poll(&poll_fd, 1, wait);
      if (ready < 0 && errno == EINTR)
        continue;
      if (ready == 0)
        return fail(ErrorCode::kTimeout, "firebossd said nothing for " + humane_duration(silence));
      std::array<char, 65536> chunk{};
      const auto got = ready < 0 ? -1 : recv(fd_, chunk.data(), chunk.size(), 0);
      if (got <= 0)
        return fail(ErrorCode::kUnavailable, "firebossd closed the connection before it answered");
      buffer_.append(chunk.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
  std::string buffer_;
};

ErrorCode code_named(std::string_view name) {
  for (const auto code : {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kDenied,
                          ErrorCode::kUnavailable, ErrorCode::kTimeout, ErrorCode::kBusy, ErrorCode::kFull,
                          ErrorCode::kCorrupt, ErrorCode::kUnsupported})
    if (to_string(code) == name)
      return code;
  return ErrorCode::kInternal;
}

std::string text_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Result<json::value> ask(const std::string& socket_path, const json::object& request,
                        const std::function<void(std::string_view)>& on_progress, Millis silence) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0)
    return fail(ErrorCode::kInternal, "socket: " + errno_text());
  if (auto connected = connect_to(socket.get(), socket_path); !connected)
    return fail(connected.error());
  if (auto sent = send_all(socket.get(), json::serialize(request) + "\n"); !sent)
    return fail(sent.error());
  LineReader reader(socket.get());
  for (;;) {
    const auto line = reader.next(silence);
    if (!line)
      return fail(line.error());
    boost::system::error_code bad;
    const auto answer = json::parse(*line, bad);
    if (bad || !answer.is_object())
      return fail(ErrorCode::kCorrupt, "firebossd answered with something that is not JSON");
    const auto& object = answer.get_object();
    if (const auto* result = object.if_contains("result"))
      return *result;
    if (const auto* error = object.if_contains("error"); error != nullptr && error->is_object())
      return fail(code_named(text_of(error->get_object(), "code")), text_of(error->get_object(), "message"));
    on_progress(text_of(object, "progress"));
  }
}

std::optional<DaemonFacts> ask_facts(const std::string& socket_path) {
  const auto pong = ask(
      socket_path, {{"verb", "ping"}}, [](std::string_view) {}, Millis{1000});
  if (!pong || !pong->is_object())
    return std::nullopt;
  DaemonFacts facts{.boot = text_of(pong->get_object(), "boot"), .cannot_record = {}};
  if (const auto* trouble = pong->get_object().if_contains("cannot_record");
      trouble != nullptr && trouble->is_object())
    for (const auto& entry : trouble->get_object())
      facts.cannot_record[entry.key()] = text_of(trouble->get_object(), entry.key());
  return facts;
}

}  // namespace fireboss::ctl
