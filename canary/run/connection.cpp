#include "canary/run/connection.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

namespace fireboss::canary {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// Interim responses (100 Continue, 103 Early Hints) that are read over before the answer.
constexpr int kMaxInterim = 4;

Millis since(Connection::Clock::time_point begin) {
  return std::chrono::duration_cast<Millis>(Connection::Clock::now() - begin);
}

bool is_one_of(const error_code& error, std::initializer_list<error_code> list) {
  return std::find(list.begin(), list.end(), error) != list.end();
}

// An alert or handshake record instead of a status line (RFC 8446, section 5.1).
bool looks_like_tls(const beast::flat_buffer& buffer) {
  const auto* bytes = static_cast<const unsigned char*>(buffer.data().data());
  return buffer.size() >= 2 && (bytes[0] == 0x15 || bytes[0] == 0x16) && bytes[1] == 0x03;
}

// The resolver's thread may outlive the waiting: what it writes to is shared with it.
struct Resolving {
  explicit Resolving(const asio::any_io_executor& executor) : resolver(executor), timer(executor) {}
  tcp::resolver resolver;
  asio::steady_timer timer;
  error_code error;
  std::vector<tcp::endpoint> endpoints;
  bool done = false;
};

// Whether the end of the stream was announced: looked for where the last read may have completed it.
bool says_done(std::string_view body, std::size_t before) {
  constexpr std::string_view kDone = "[DONE]";
  const std::size_t from = before > kDone.size() ? before - kDone.size() : 0;
  for (std::size_t at = body.find(kDone, from); at != std::string_view::npos; at = body.find(kDone, at + 1)) {
    const std::size_t line = at == 0 ? std::string_view::npos : body.rfind('\n', at - 1);
    const std::string_view head = body.substr(line == std::string_view::npos ? 0 : line + 1,
                                              at - (line == std::string_view::npos ? 0 : line + 1));
    if (head == "data: " || head == "data:") {
      return true;
    }
  }
  return false;
}

}  // namespace

namespace {

Fault fault_of_check(ErrorCode code) {
  if (code == ErrorCode::kBusy) {
    return Fault::kPortInUse;
  }
  return code == ErrorCode::kUnavailable ? Fault::kRefused : Fault::kUnchecked;
}

}  // namespace

Failure failure_of(const error_code& error) {
  const std::string words = error.message();
  if (is_one_of(error, {beast::error::timeout, asio::error::timed_out})) {
    return {Fault::kTimeout, words};
  }
  if (error == asio::error::operation_aborted) {
    return {Fault::kCanceled, words};
  }
  if (error == asio::error::connection_refused) {
    return {Fault::kRefused, words};
  }
  if (is_one_of(error, {asio::error::host_unreachable, asio::error::network_unreachable,
                        asio::error::network_down, asio::error::no_permission})) {
    return {Fault::kUnreachable, words};
  }
  if (is_one_of(error, {asio::error::eof, asio::error::connection_reset, asio::error::connection_aborted,
                        asio::error::broken_pipe, asio::error::not_connected, http::error::end_of_stream,
                        http::error::partial_message})) {
    return {Fault::kReset, words};
  }
  if (is_one_of(error, {http::error::body_limit, http::error::header_limit, http::error::buffer_overflow})) {
    return {Fault::kTooLarge, words};
  }
  if (error.category() == asio::error::get_ssl_category())
    return {Fault::kTls, words};
  if (error.category() == asio::ssl::error::get_stream_category())
    return {Fault::kReset, words};
  if (error.category() == asio::error::get_netdb_category() ||
      error.category() == asio::error::get_addrinfo_category()) {
    return {Fault::kDns, words};
  }
  if (error.category() == error_code(http::error::end_of_stream).category()) {
    return {Fault::kNotHttp, words};
  }
  return {Fault::kUnreachable, words};
}

Connection::Connection(asio::any_io_executor executor, Endpoint endpoint, Deadlines deadlines, Limits limits,
                       ListenerCheck check, std::size_t reserve_bytes)
    : stream_(std::move(executor)),
      // The parser takes what it can at every read; what is left is less than a header.
      buffer_(limits.header_bytes + reserve_bytes),
      endpoint_(std::move(endpoint)),
      deadlines_(deadlines),
      limits_(limits),
      check_(std::move(check)) {
  buffer_.reserve(reserve_bytes);
}

std::string Connection::authority() const {
  const bool v6 = endpoint_.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint_.host + "]" : endpoint_.host) + ":" + std::to_string(endpoint_.port);
}

void Connection::close() {
  error_code ignored;
  stream_.socket().close(ignored);
  tls_.reset();
  buffer_.consume(buffer_.size());
  open_ = false;
  used_ = false;
}

asio::awaitable<Failure> Connection::connect(const tcp::endpoint& to, Clock::time_point end) {
  close();
  stream_.expires_at(end);
  const auto [error] = co_await stream_.async_connect(to, kAwait);
  if (error) {
    co_return failure_of(error);
  }
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  if (check_) {
    if (const Result<void> mine = check_(to); !mine) {
      close();
      co_return Failure{fault_of_check(mine.error().code), mine.error().message};
    }
  }
  if (endpoint_.tls) {
    const Failure failure = co_await shake_hands();
    if (failure.fault != Fault::kNone) {
      close();
      co_return failure;
    }
  }
  open_ = true;
  co_return Failure{};
}

// The host's name, or its address, must stand in a certificate that the authorities vouch for.
asio::awaitable<Failure> Connection::shake_hands() {
  tls_ = std::make_unique<TlsStream>(stream_, *endpoint_.tls);
  tls_->set_verify_mode(asio::ssl::verify_peer);
  tls_->set_verify_callback(asio::ssl::host_name_verification(endpoint_.host));
  error_code no_address;
  asio::ip::make_address(endpoint_.host, no_address);
  // RFC 6066, section 3: names only.
  if (no_address && SSL_set_tlsext_host_name(tls_->native_handle(), endpoint_.host.c_str()) != 1)
    co_return Failure{Fault::kTls, "the host's name cannot be sent"};
  const auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::client, kAwait);
  if (!error)
    co_return Failure{};
  const long verdict = SSL_get_verify_result(tls_->native_handle());
  Failure failure = failure_of(error);
  if (failure.fault == Fault::kTls && verdict != X509_V_OK)
    failure.words = std::string("its certificate is not trusted: ") + X509_verify_cert_error_string(verdict);
  co_return failure;
}

asio::awaitable<Failure> Connection::open(Clock::time_point end) {
  end = std::min(end, Clock::now() + deadlines_.connect);
  error_code error;
  const asio::ip::address address = asio::ip::make_address(endpoint_.host, error);
  if (!error) {
    co_return co_await connect({address, endpoint_.port}, end);
  }
  const auto state = std::make_shared<Resolving>(stream_.get_executor());
  state->timer.expires_at(end);
  state->resolver.async_resolve(endpoint_.host, std::to_string(endpoint_.port),
                                tcp::resolver::numeric_service,
                                [state](const error_code& result, const tcp::resolver::results_type& found) {
                                  state->error = result;
                                  for (const auto& entry : found) {
                                    state->endpoints.push_back(entry.endpoint());
                                  }
                                  state->done = true;
                                  state->timer.cancel();
                                });
  const auto [waited] = co_await state->timer.async_wait(kAwait);
  if (!state->done) {
    state->resolver.cancel();
    co_return Failure{waited ? Fault::kCanceled : Fault::kDns, "the name did not resolve in time"};
  }
  if (state->error) {
    co_return Failure{state->error == asio::error::operation_aborted ? Fault::kCanceled : Fault::kDns,
                      state->error.message()};
  }
  Failure last{Fault::kDns, "the name has no address"};
  for (const tcp::endpoint& to : state->endpoints) {
    last = co_await connect(to, end);
    if (last.fault == Fault::kNone || last.fault == Fault::kCanceled) {
      break;
    }
  }
  co_return last;
}

asio::awaitable<Failure> Connection::read(CallResult& result, bool wants_events, Clock::time_point sent,
                                          Clock::time_point end) {
  Response& response = result.response;
  for (int interim = 0; interim <= kMaxInterim; ++interim) {
    http::response_parser<http::string_body> parser;
    parser.header_limit(limits_.header_bytes);
    parser.body_limit(limits_.body_bytes);
    std::string& body = parser.get().body();
    bool done = false;
    Failure failure;
    auto wait = deadlines_.first_byte;
    while (!parser.is_done()) {
      const std::size_t before = body.size();
      stream_.expires_at(std::min(end, Clock::now() + (done ? deadlines_.after_done : wait)));
      error_code error;
      std::size_t bytes = 0;
      if (tls_)
        std::tie(error, bytes) = co_await http::async_read_some(*tls_, buffer_, parser, kAwait);
      else
        std::tie(error, bytes) = co_await http::async_read_some(stream_, buffer_, parser, kAwait);
      if (body.size() > before && !response.first_byte) {
        response.first_byte = since(sent);
      }
      if (error) {
        failure = failure_of(error);
        break;
      }
      if (parser.got_some()) {
        wait = deadlines_.between;
      }
      done = done || (wants_events && body.size() > before && says_done(body, before));
    }
    if (parser.is_header_done()) {
      const unsigned status = parser.get().result_int();
      if (status >= 100 && status < 200 && failure.fault == Fault::kNone) {
        continue;
      }
      response.http_status = static_cast<int>(status);
      result.retry_after = parser.get()[http::field::retry_after];
    } else if (looks_like_tls(buffer_)) {
      failure.fault = Fault::kTls;
    }
    const std::string_view type = parser.get()[http::field::content_type];
    const std::string_view encoding = parser.get()[http::field::content_encoding];
    // Some servers name no type; some answer a stream request with a whole body.
    response.stream = type.substr(0, 17) == "text/event-stream" ||
                      (wants_events && type.substr(0, 16) != "application/json" && body.substr(0, 1) != "{");
    if (failure.fault == Fault::kNone && !encoding.empty() && encoding != "identity") {
      failure = {Fault::kNotHttp,
                 "content encoding '" + std::string(encoding.substr(0, 32)) + "' although none was accepted"};
    }
    const bool whole = failure.fault == Fault::kNone;
    if (done && failure.fault == Fault::kTimeout) {
      failure = {};  // all was said
    }
    used_ = true;
    if (!whole || !parser.keep_alive() || buffer_.size() > 0) {
      close();
    }
    response.body = std::move(body);
    co_return failure;
  }
  close();
  co_return Failure{Fault::kNotHttp, "interim responses without an answer"};
}

asio::awaitable<CallResult> Connection::attempt(const HttpRequest& request, bool wants_events,
                                                Clock::time_point end) {
  CallResult result;
  result.reused_connection = open_ && used_;
  Failure failure;
  if (!open_) {
    failure = co_await open(end);
  }
  if (failure.fault == Fault::kNone) {
    stream_.expires_at(std::min(end, Clock::now() + deadlines_.first_byte));
    error_code error;
    std::size_t bytes = 0;
    if (tls_)
      std::tie(error, bytes) = co_await http::async_write(*tls_, request, kAwait);
    else
      std::tie(error, bytes) = co_await http::async_write(stream_, request, kAwait);
    const Clock::time_point sent = Clock::now();
    // A server may answer and close before it has read everything: its answer counts, so it is looked for.
    const Failure written = error ? failure_of(error) : Failure{};
    if (written.fault == Fault::kNone || written.fault == Fault::kReset) {
      failure = co_await read(result, wants_events, sent, end);
      result.response.latency = since(sent);
    } else {
      failure = written;
      close();
    }
  }
  result.response.fault = failure.fault;
  if (failure.fault != Fault::kNone) {
    result.response.error = authority() + ": " + failure.words;
  }
  co_return result;
}

asio::awaitable<CallResult> Connection::exchange(const HttpRequest& request, bool wants_events) {
  const Clock::time_point end = Clock::now() + deadlines_.total;
  CallResult result = co_await attempt(request, wants_events, end);
  if (result.reused_connection && result.response.fault == Fault::kReset && !result.response.http_status) {
    // The server closed the kept connection before it saw the request.
    close();
    result = co_await attempt(request, wants_events, end);
  }
  co_return result;
}

}  // namespace fireboss::canary
