// The canary's client against a server that sends anything: what is received does not depend on how it was
// cut into pieces on its way, and nothing is longer than allowed. The first byte says what was asked for: s a
// stream, b a body.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "canary/grade/grade.h"
#include "canary/run/client.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::canary {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using fuzz::hold;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxBody = 3000, kMaxHeader = 1000;

// One connection: the request is read, the pieces are sent, the end is sent.
asio::awaitable<void> serve(tcp::acceptor& acceptor, std::vector<std::string_view> pieces) {
  auto [error, socket] = co_await acceptor.async_accept(kAwait);
  if (error) {
    co_return;
  }
  socket.set_option(tcp::no_delay(true));
  std::string request(4096, '\0');
  std::size_t size = 0;
  while (request.substr(0, size).find("\r\n\r\n{}") == std::string::npos) {
    const auto [failed, more] =
        co_await socket.async_read_some(asio::buffer(request.data() + size, request.size() - size), kAwait);
    if (failed) {
      co_return;
    }
    size += more;
  }
  for (const auto piece : pieces) {
    const auto [failed, sent] = co_await asio::async_write(socket, asio::buffer(piece), kAwait);
    if (failed) {
      co_return;  // the client has seen enough
    }
    co_await asio::post(asio::use_awaitable);  // lets it read this much
  }
  boost::system::error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  // Until it closes: else what it has not read yet would be taken back.
  for (bool open = true; open;) {
    const auto [failed, more] = co_await socket.async_read_some(asio::buffer(request), kAwait);
    open = !failed;
  }
}

asio::awaitable<void> ask(Request request, RunResult& result) {
  result = co_await run(std::move(request));
}

Response exchange(bool stream, std::vector<std::string_view> pieces) {
  // A new address every time: the loopback's ports would be used up by connections that are not quite over
  // yet.
  static std::uint32_t number = 0;
  number = (number + 1) % 0xFFFFF0;
  asio::io_context io(1);
  tcp::acceptor acceptor(io, {asio::ip::address_v4::any(), 0});
  Request request;
  request.endpoint = {asio::ip::address_v4(0x7F000002 + number).to_string(),
                      acceptor.local_endpoint().port()};
  request.target = "/v1/chat/completions";
  request.calls = {{.body = "{}", .stream = stream}};
  // Never by time: then it would depend on how busy the machine is.
  constexpr Millis kLong{600'000};
  request.deadlines = {
      .connect = kLong, .first_byte = kLong, .between = kLong, .total = kLong, .after_done = kLong};
  request.limits = {.header_bytes = kMaxHeader, .body_bytes = kMaxBody};
  RunResult result;
  asio::co_spawn(io, serve(acceptor, std::move(pieces)), asio::detached);
  asio::co_spawn(io, ask(std::move(request), result), asio::detached);
  io.run();
  hold(result.calls.size() == 1, "another number of calls");
  return std::move(result.calls.front().response);
}

void check(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const bool stream = input.front() == 's';
  const auto bytes = input.substr(1);
  const auto whole = exchange(stream, {bytes});
  const auto pieces = exchange(stream, fuzz::pieces_of(bytes, 6));
  Task task;
  task.text = "PONG";
  for (const auto* response : {&whole, &pieces}) {
    hold(response->body.size() <= kMaxBody, "a body over the limit");
    hold(!response->http_status || *response->http_status <= 999, "an odd status");
    hold(response->fault != Fault::kTimeout && response->fault != Fault::kCanceled, "a deadline passed");
  }
  // Broken off either way: what it is called may depend on what Beast had in one piece when it gave up, and
  // what had come until then is kept, more or less of the same.
  if (whole.fault != Fault::kNone && pieces.fault != Fault::kNone) {
    const bool more = whole.body.size() > pieces.body.size();
    const std::string_view longer = more ? whole.body : pieces.body,
                           shorter = more ? pieces.body : whole.body;
    hold(longer.substr(0, shorter.size()) == shorter, "pieces make a difference to the part that came");
    return;
  }
  // A head over the limit may still be taken where it came in one piece.
  if (bytes.substr(0, kMaxHeader).find("\r\n\r\n") == std::string_view::npos) {
    return;
  }
  if (whole.fault != pieces.fault) {
    fuzz::broken("pieces make a difference to the fault: " + whole.error + " or " + pieces.error);
  }
  hold(whole.http_status == pieces.http_status, "pieces make a difference to the status");
  hold(whole.body == pieces.body, "pieces make a difference to the body");
  hold(whole.stream == pieces.stream, "pieces make a difference to what it is taken for");
  hold(result_text(grade(task, whole)) == result_text(grade(task, pieces)),
       "pieces make a difference to the grade");
}

std::string chunk(std::string_view text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + std::string(text) + "\r\n";
}

std::vector<std::string> seeds() {
  const std::string body = R"({"choices":[{"index":0,"message":{"content":"PONG"},"finish_reason":"stop"}]})";
  const std::string one =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"PO\"},\"finish_reason\":null}]}\n\n";
  const std::string two =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"NG\"},\"finish_reason\":\"stop\"}]}\n\n";
  const std::string done = "data: [DONE]\n\n";
  const std::string json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const std::string events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  return {"b" + json + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
          "b" + json + "Connection: close\r\n\r\n" + body,
          "bHTTP/1.1 100 Continue\r\n\r\n" + json + "Content-Encoding: gzip\r\n\r\nxx",
          "bHTTP/1.1 503 Loading\r\nContent-Length: 0\r\n\r\n",
          "bHTTP/1.0 307 Moved\r\nLocation: http://127.0.0.1/\r\n\r\n",
          "b\x15\x03\x01\x00\x02\x02\x46",
          "s" + events + "Transfer-Encoding: chunked\r\n\r\n" + chunk(one) + chunk(two + done) + "0\r\n\r\n",
          "s" + events + "Transfer-Encoding: chunked\r\n\r\n" + chunk(one + two) + chunk(done),
          "s" + events + "\r\n" + one + two + done,
          "s" + json + "Content-Length: 24\r\n\r\n{\"error\":{\"message\":\"x\"}}"};
}

}  // namespace
}  // namespace fireboss::canary

int main(int argc, char** argv) {
  return fireboss::fuzz::run(
      {.name = "stream",
       .check = fireboss::canary::check,
       .seeds = fireboss::canary::seeds(),
       .tokens = {"HTTP/1.1 ", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 103 Early\r\n\r\n",
                  "Content-Length: ", "Transfer-Encoding: chunked\r\n", "Content-Encoding: identity\r\n",
                  "Content-Type: text/event-stream\r\n", "Connection: keep-alive\r\n", "\r\n\r\n",
                  "data: [DONE]", "data:[DONE]\n", "[DONE]", "ffffffffffffffff\r\n", "0\r\n\r\n", "1;x=y\r\n",
                  ": ", "\n data: "},
       .max_size = 6000,
       .heap_fixed = std::size_t{2} << 20,
       .heap_per_byte = 64},
      argc, argv);
}
