#include "supervisor/adapters/alert/exec_sink.h"

#include <array>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>

#include "base/one_line.h"
#include "supervisor/adapters/alert/notice_text.h"

namespace fireboss::alert {
namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::local::stream_protocol;
using boost::system::error_code;
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// What a program may write on its standard input, of all things, and nobody reads.
constexpr std::size_t kMostTold = 64 * 1024;

ports::Delivered failed(ErrorCode code, std::string message) {
  ports::NotDelivered out;
  out.code = code;
  out.message = std::move(message);
  return ports::Delivered(tl::unexpect, std::move(out));
}

std::string unit_of(const std::string& name) {
  return "fireboss-alert-" + name;
}

ports::Delivered no_connection(const std::string& name, const std::string& path, const error_code& error) {
  const auto code = error == asio::error::access_denied ? ErrorCode::kDenied : ErrorCode::kUnavailable;
  return failed(code, path + ": " + error.message() +
                          ": make its units with `fireboss alert units`, and run " +
                          "`systemctl enable --now " + unit_of(name) + ".socket`");
}

ports::Delivered broken_off(const std::string& name, const error_code& error) {
  if (error == beast::error::timeout)
    return failed(ErrorCode::kTimeout,
                  "the program has not ended in time: journalctl -u '" + unit_of(name) + "@*'");
  return failed(ErrorCode::kUnavailable, "the program's connection broke: " + error.message());
}

}  // namespace

ports::Delivered exec_outcome(const std::string& name, std::string_view told) {
  while (!told.empty() && (told.back() == '\n' || told.back() == ' '))
    told.remove_suffix(1);
  const auto end = told.rfind('\n');
  const auto last = end == std::string_view::npos ? told : told.substr(end + 1);
  if (last == "success/0")
    return {};
  const auto look = ": journalctl -u '" + unit_of(name) + "@*'";
  if (last.empty() || last.find('/') == std::string_view::npos)
    return failed(ErrorCode::kUnavailable, "systemd did not say how the program ended" + look);
  return failed(ErrorCode::kUnavailable, "the program ended with " + one_line(last, 64) + look);
}

ExecSink::ExecSink(std::string name, std::string link, std::string folder, Millis deadline)
    : name_(std::move(name)),
      link_(std::move(link)),
      path_(std::move(folder) + "/" + name_),
      deadline_(deadline) {}

asio::awaitable<ports::Delivered> ExecSink::deliver(ports::Notice notice) {
  if (path_.size() >= sizeof(sockaddr_un{}.sun_path))
    co_return failed(ErrorCode::kInvalid, path_ + ": longer than a socket's path may be");
  beast::basic_stream<stream_protocol> stream(co_await asio::this_coro::executor);
  stream.expires_after(deadline_);
  const auto [refused] = co_await stream.async_connect(stream_protocol::endpoint(path_), kAwait);
  if (refused)
    co_return no_connection(name_, path_, refused);
  const auto text = exec_text(notice, link_);
  // A program that does not read to the end is its own business: how it ends counts.
  const auto [unwritten, written] = co_await asio::async_write(stream, asio::buffer(text), kAwait);
  if (unwritten == beast::error::timeout)
    co_return broken_off(name_, unwritten);
  error_code ignored;
  stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  std::string told;
  std::array<char, 4096> bytes{};
  for (std::size_t total = 0; total < kMostTold;) {
    const auto [error, length] = co_await stream.async_read_some(asio::buffer(bytes), kAwait);
    if (error == asio::error::eof)
      break;
    if (error)
      co_return broken_off(name_, error);
    total += length;
    told.append(bytes.data(), length);
    if (told.size() > 2 * bytes.size())
      told.erase(0, told.size() - bytes.size());
  }
  co_return exec_outcome(name_, told);
}

}  // namespace fireboss::alert
