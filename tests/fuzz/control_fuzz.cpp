// The control socket, from both ends. The first byte says what the rest is:
//   s  what a client sends to firebossd: every line gets one answer, however the lines are cut into pieces
//   c  what a server answers to fireboss: understood, or refused with words
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "supervisor/app/control_server.h"
#include "supervisor/ctl/control_client.h"
#include "supervisor/ctl/escape.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using fuzz::hold;

constexpr std::size_t kMaxRequest = 64 * 1024;

// Gone with the process that checks; a folder for each of them.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "fireboss-control-XXXXXX").string();
    hold(mkdtemp(name.data()) != nullptr, "no folder for the sockets");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string socket(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

// ---- the server

asio::awaitable<Result<json::value>> echo(json::object request, app::Peer, app::Progress progress) {
  progress("begun");
  co_return json::value(std::move(request));
}
asio::awaitable<Result<json::value>> refuse(json::object, app::Peer peer, app::Progress) {
  co_return fail(ErrorCode::kBusy, "not for pid " + std::to_string(peer.pid > 0 ? 1 : 0));
}

class Server {
 public:
  Server() : io_(1), server_(io_.get_executor(), verbs(), {}) {
    hold(server_.listen(folder_.socket("s")).has_value(), "the server does not listen");
  }

  // What comes back for these pieces, until the server closes.
  std::string exchange(const std::vector<std::string_view>& pieces) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const auto address = address_of(folder_.socket("s"));
    hold(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "no connection");
    std::string got;
    bool open = true;
    for (auto piece : pieces) {
      while (!piece.empty() && open) {
        const auto sent = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
        piece.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
        open = turn(fd, got) && (sent > 0 || errno == EAGAIN);
      }
    }
    ::shutdown(fd, SHUT_WR);
    for (int turns = 0; open; ++turns) {
      hold(turns < 100'000, "the connection is never closed");
      open = turn(fd, got);
    }
    ::close(fd);
    return got;
  }

 private:
  static std::vector<app::ControlVerb> verbs() {
    return {{"echo", false, echo}, {"change", true, echo}, {"refuse", false, refuse}};
  }
  // Lets the server work and takes what it says; false once it has closed.
  bool turn(int fd, std::string& got) {
    io_.poll();
    char buffer[65536];
    const auto size = ::recv(fd, buffer, sizeof buffer, 0);
    if (size > 0) {
      got.append(buffer, static_cast<std::size_t>(size));
    }
    // ECONNRESET: closed before it had read everything; what it said is there all the same.
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == ECONNRESET));
  }

  Folder folder_;
  asio::io_context io_;
  app::ControlServer server_;
};

// How many requests there are, a last one that is too long included.
std::size_t requests_in(std::string_view text) {
  std::size_t count = 0;
  for (;;) {
    const auto end = text.find('\n');
    if (std::min(end, text.size()) >= kMaxRequest) {
      return count + 1;
    }
    if (end == std::string_view::npos) {
      return count;
    }
    ++count;
    text.remove_prefix(end + 1);
  }
}

void check_server(std::string_view text) {
  static Server server;
  const auto answer = server.exchange({text});
  const auto again = server.exchange(fuzz::pieces_of(text));
  if (answer != again) {
    fuzz::broken("pieces make a difference to the answers: " + answer.substr(0, 200) + " or " +
                 again.substr(0, 200));
  }
  std::size_t answers = 0;
  for (std::size_t at = 0; at < answer.size();) {
    const auto end = answer.find('\n', at);
    hold(end != std::string::npos, "an answer without an end");
    boost::system::error_code error;
    json::parse_options options;
    options.max_depth = 64;
    const auto line = std::string_view(answer).substr(at, end - at);
    const auto value = json::parse(line, error, {}, options);
    if (error &&
        line.find("Infinity") != std::string_view::npos) {  // how the 1e400 that is echoed is written
      answers += 1;
      at = end + 1;
      continue;
    }
    if (error || !value.is_object() || value.get_object().size() != 1) {
      fuzz::broken("an answer that is no object of one key: " + std::string(line.substr(0, 200)));
    }
    const auto& object = value.get_object();
    hold(object.contains("result") || object.contains("error") || object.contains("progress"),
         "an answer of no kind");
    answers += object.contains("progress") ? 0 : 1;
    at = end + 1;
  }
  hold(answers == requests_in(text), "not one answer for every request");
}

// ---- the client

Result<json::value> ask(std::string_view answer, std::vector<std::string>& progress) {
  static const Folder kFolder;
  static const int kListener = [] {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = address_of(kFolder.socket("c"));
    hold(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 8) == 0,
         "no listener");
    return fd;
  }();
  std::thread server([&] {
    const int fd = ::accept(kListener, nullptr, nullptr);
    char request[256];
    (void)!::recv(fd, request, sizeof request, 0);
    for (auto rest = answer; !rest.empty();) {
      const auto sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        break;
      }
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::close(fd);
  });
  auto result = ctl::ask(
      kFolder.socket("c"), {{"verb", "x"}}, [&](std::string_view text) { progress.emplace_back(text); },
      Millis{600'000});
  server.join();
  return result;
}

void check_client(std::string_view answer) {
  std::vector<std::string> progress;
  const auto result = ask(answer, progress);
  std::optional<json::value> expected;
  for (auto rest = answer; rest.find('\n') != std::string_view::npos;) {
    boost::system::error_code error;
    const auto value = json::parse(rest.substr(0, rest.find('\n')), error);
    const auto* object = error ? nullptr : value.if_object();
    if (object == nullptr ||
        (!object->contains("result") && object->contains("error") && object->at("error").is_object())) {
      break;
    }
    if (object->contains("result")) {
      expected = object->at("result");
      break;
    }
    rest.remove_prefix(rest.find('\n') + 1);
  }
  hold(result.has_value() == expected.has_value(), "an answer is taken for none, or none for one");
  hold(!result || *result == *expected, "another answer");
  // Whatever it says goes to a terminal.
  if (!result) {
    progress.push_back(result.error().message);
  }
  for (const auto& text : progress) {
    for (const char c : ctl::escape(text)) {
      hold(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character for the terminal");
    }
  }
}

void check(std::string_view input) {
  if (input.empty()) {
    return;
  }
  if (input.front() == 's') {
    check_server(input.substr(1));
  } else {
    check_client(input.substr(1));
  }
}

}  // namespace
}  // namespace fireboss

int main(int argc, char** argv) {
  return fireboss::fuzz::run(
      {.name = "control",
       .check = fireboss::check,
       .seeds = {"s{\"verb\":\"echo\",\"a\":[1,null,\"x\"]}\n{\"verb\":\"refuse\"}\n",
                 "s{\"verb\":\"change\",\"engine\":\"e\"}\n\nnothing\n",
                 "s{\"verb\":\"unknown\\u001b[2J\"}\r\n{\"verb\":7}\n[]\n",
                 "c{\"progress\":\"1 of 4\"}\n{\"result\":{\"a\":[1]}}\n",
                 "c{\"error\":{\"code\":\"busy\",\"message\":\"no\\u001b\"}}\n",
                 "c{\"result\":null}\n{\"x\":1}\n"},
       .tokens = {"{\"verb\":\"echo\"}\n", "\"verb\":", "\"refuse\"", "{\"result\":", "{\"error\":{",
                  "\"code\":\"denied\"", "\"message\":", "{\"progress\":", "\n", "}\n{"},
       .max_size = 70'000,
       .heap_fixed = std::size_t{2} << 20,
       .heap_per_byte = 512},
      argc, argv);
}
