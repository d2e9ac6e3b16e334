#include "supervisor/app/control_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace fireboss::app {
namespace asio = boost::asio;
namespace json = boost::json;
using asio::local::stream_protocol;

namespace {

constexpr std::size_t kMaxRequest = 64 * 1024;
constexpr std::size_t kMaxConnections = 32;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

std::string error_line(const Error& error) {
  return json::serialize(json::object{{"error", json::object{{"code", std::string(to_string(error.code))},
                                                             {"message", error.message}}}}) +
         "\n";
}

std::string errno_text(int number) {
  return std::strerror(number);
}

// What keeps a socket from being made: whether a person has to act, or starting again may help.
ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kDenied;
    case ENAMETOOLONG:
    case ELOOP:
      return ErrorCode::kInvalid;
    case EADDRINUSE:
      return ErrorCode::kBusy;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kFull;
    default:
      return ErrorCode::kUnavailable;
  }
}

// A coroutine of ours threw: a bug. Dying loudly lets systemd start us again from the record.
void die_loudly(const std::exception_ptr& trouble) {
  if (trouble)
    std::rethrow_exception(trouble);
}

// Closes a socket unless it is disarmed in time: what was waited for on it then fails.
class Deadline {
 public:
  explicit Deadline(std::shared_ptr<stream_protocol::socket> socket)
      : socket_(std::move(socket)), timer_(std::make_shared<asio::steady_timer>(socket_->get_executor())) {}

  void arm(Millis patience) {
    timer_->expires_after(patience);
    timer_->async_wait([socket = socket_, timer = timer_](const boost::system::error_code& error) {
      // It may have been on its way to us when it was disarmed.
      if (!error && timer->expiry() <= std::chrono::steady_clock::now())
        socket->close();
    });
  }
  void disarm() { timer_->expires_at(std::chrono::steady_clock::time_point::max()); }

 private:
  std::shared_ptr<stream_protocol::socket> socket_;
  std::shared_ptr<asio::steady_timer> timer_;
};

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail(ErrorCode::kInternal, "SO_PEERCRED: " + errno_text(errno));
  return Peer{credentials.uid, credentials.pid};
}

// Lines for one client in order; a client that has gone makes them vanish, one that does not read is
// disconnected. Nobody waits for either.
class LineWriter : public std::enable_shared_from_this<LineWriter> {
 public:
  LineWriter(std::shared_ptr<stream_protocol::socket> socket, Millis patience)
      : socket_(std::move(socket)), deadline_(socket_), patience_(patience) {}

  void send(std::string line) {
    if (broken_)
      return;
    if (queued_bytes_ + line.size() > kMaxQueue) {
      broken_ = true;  // an answer with a hole would be waited for in vain
      socket_->close();
      return;
    }
    queued_bytes_ += line.size();
    queue_.push_back(std::move(line));
    if (!writing_)
      asio::co_spawn(socket_->get_executor(), drain(), die_loudly);
  }

 private:
  static constexpr std::size_t kMaxQueue = 4 * 1024 * 1024;

  // co_spawn is given awaitables, never lambdas with captures: g++ 12 destroys those captures twice.
  asio::awaitable<void> drain() {
    const auto self = shared_from_this();
    if (writing_)
      co_return;
    writing_ = true;
    while (!queue_.empty() && !broken_) {
      const auto line = std::move(queue_.front());
      queue_.erase(queue_.begin());
      queued_bytes_ -= line.size();
      deadline_.arm(patience_);
      const auto [error, written] = co_await asio::async_write(*socket_, asio::buffer(line), kTuple);
      deadline_.disarm();
      broken_ = broken_ || error;
    }
    writing_ = false;
    if (closing_ || broken_)
      socket_->close();
  }

 public:
  // Close once everything queued is written.
  void finish() {
    closing_ = true;
    if (!writing_)
      send("");
  }

 private:
  std::shared_ptr<stream_protocol::socket> socket_;
  Deadline deadline_;
  Millis patience_;
  std::vector<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false, broken_ = false, closing_ = false;
};

}  // namespace

struct ControlServer::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::any_io_executor executor, std::vector<ControlVerb> all_verbs, std::vector<std::uint32_t> allowed,
       Patience bounds)
      : acceptor(executor), verbs(std::move(all_verbs)), allowed_uids(std::move(allowed)), patience(bounds) {}

  bool may_change(const Peer& peer) const {
    return peer.uid == 0 || peer.uid == geteuid() ||
           std::find(allowed_uids.begin(), allowed_uids.end(), peer.uid) != allowed_uids.end();
  }

  asio::awaitable<Result<json::value>> dispatch(std::string_view line, Peer peer, Progress progress) {
    boost::system::error_code error;
    const auto parsed = json::parse({line.data(), line.size()}, error);
    if (error || !parsed.is_object())
      co_return fail(ErrorCode::kInvalid, "a request is one JSON object on a line");
    const auto& request = parsed.get_object();
    const auto* verb_name = request.if_contains("verb");
    if (verb_name == nullptr || !verb_name->is_string())
      co_return fail(ErrorCode::kInvalid, "the request has no \"verb\"");
    const std::string_view name = verb_name->get_string();
    const auto verb =
        std::find_if(verbs.begin(), verbs.end(), [name](const auto& v) { return v.name == name; });
    if (verb == verbs.end())
      co_return fail(ErrorCode::kUnsupported, "unknown verb '" + std::string(name.substr(0, 64)) +
                                                  "': is firebossd older than this fireboss?");
    if (verb->changes_things && !may_change(peer))
      co_return fail(ErrorCode::kDenied, "uid " + std::to_string(peer.uid) +
                                             " may not change anything: run as root, or list the user in "
                                             "daemon.control_users");
    co_return co_await verb->run(request, peer, std::move(progress));
  }

  asio::awaitable<void> serve(std::shared_ptr<stream_protocol::socket> socket) {
    const auto self = shared_from_this();
    const auto writer = std::make_shared<LineWriter>(socket, patience.answer);
    Deadline deadline(socket);
    const auto peer = peer_of(socket->native_handle());
    std::string buffer;
    while (peer) {
      deadline.arm(patience.request);
      const auto [error, size] =
          co_await asio::async_read_until(*socket, asio::dynamic_buffer(buffer, kMaxRequest), '\n', kTuple);
      deadline.disarm();
      if (error) {
        if (error == asio::error::not_found)
          writer->send(error_line({ErrorCode::kInvalid, "the request is longer than 64 KiB"}));
        break;
      }
      const auto line = buffer.substr(0, size);
      buffer.erase(0, size);
      // Named, not a temporary: g++ 12 destroys the captures of a lambda inside a co_await expression twice.
      const Progress progress = [writer](std::string_view text) {
        writer->send(json::serialize(json::object{{"progress", text}}) + "\n");
      };
      const auto answer = co_await dispatch(line, *peer, progress);
      writer->send(answer ? json::serialize(json::object{{"result", *answer}}) + "\n"
                          : error_line(answer.error()));
    }
    writer->finish();
  }

  asio::awaitable<void> accept_loop() {
    const auto self = shared_from_this();
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(kTuple);
      if (error == asio::error::operation_aborted || !acceptor.is_open())
        co_return;
      if (error || connections >= kMaxConnections) {
        // Out of descriptors or too many clients: let some time pass instead of spinning on the same error.
        asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(100));
        co_await pause.async_wait(kTuple);
        continue;
      }
      ++connections;
      asio::co_spawn(acceptor.get_executor(),
                     serve(std::make_shared<stream_protocol::socket>(std::move(socket))),
                     [self](const std::exception_ptr& trouble) {
                       --self->connections;
                       die_loudly(trouble);
                     });
    }
  }

  stream_protocol::acceptor acceptor;
  std::vector<ControlVerb> verbs;
  std::vector<std::uint32_t> allowed_uids;
  Patience patience;
  std::string path;
  std::size_t connections = 0;
};

ControlServer::ControlServer(asio::any_io_executor executor, std::vector<ControlVerb> verbs,
                             std::vector<std::uint32_t> allowed_uids, Patience patience)
    : impl_(
          std::make_shared<Impl>(std::move(executor), std::move(verbs), std::move(allowed_uids), patience)) {}

ControlServer::~ControlServer() {
  close();
}

Result<void> ControlServer::listen(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un{}.sun_path))
    return fail(ErrorCode::kInvalid, path + ": longer than a socket path may be (107 bytes)");
  boost::system::error_code error;
  const stream_protocol::endpoint endpoint(path);
  {
    stream_protocol::socket probe(impl_->acceptor.get_executor());
    probe.connect(endpoint, error);
    if (!error)
      return fail(ErrorCode::kBusy, path + ": another firebossd answers there");
  }
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return fail(ErrorCode::kInvalid, path +
                                           ": something that is no socket is there and is left alone: set "
                                           "daemon.control_socket to another path, or move it away");
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      return fail(code_of(errno), path + ": cannot replace the old socket: " + errno_text(errno));
  }
  impl_->acceptor.open(endpoint.protocol(), error);
  if (!error)
    impl_->acceptor.bind(endpoint, error);
  if (!error && chmod(path.c_str(), 0660) != 0)
    error.assign(errno, boost::system::system_category());
  if (!error)
    impl_->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    impl_->acceptor.close();
    return fail(code_of(error.value()), path + ": cannot listen: " + error.message() +
                                            " (does the folder exist, may this user write there?)");
  }
  impl_->path = path;
  asio::co_spawn(impl_->acceptor.get_executor(), impl_->accept_loop(), die_loudly);
  return {};
}

void ControlServer::close() {
  if (!impl_->acceptor.is_open())
    return;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  unlink(impl_->path.c_str());
}

}  // namespace fireboss::app
