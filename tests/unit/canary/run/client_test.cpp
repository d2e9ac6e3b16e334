#include "canary/run/client.h"

#include <chrono>
#include <map>
#include <optional>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "tests/support/fault_server.h"

namespace fireboss::canary {
namespace {

namespace asio = boost::asio;
using test::FaultServer;
using test::http_chunk;
using test::http_reply;
using test::http_stream_end;
using test::http_stream_head;
using test::Peer;
using test::Script;

constexpr std::string_view kBody = R"({"choices":[]})";

Request request_to(std::uint16_t port, int calls = 1, bool stream = false) {
  Request request;
  request.endpoint = {"127.0.0.1", port};
  request.target = "/v1/chat/completions";
  request.headers = {{"x-team", "ops"}};
  for (int i = 0; i < calls; ++i) {
    request.calls.push_back({R"({"call":)" + std::to_string(i) + "}", stream});
  }
  // Long enough for a loaded machine; a test that waits for one sets a short one.
  request.deadlines = {.connect = Millis(20'000),
                       .first_byte = Millis(20'000),
                       .between = Millis(20'000),
                       .total = Millis(20'000),
                       .after_done = Millis(20'000)};
  return request;
}

RunResult run_now(asio::io_context& io, Request request) {
  std::optional<RunResult> result;
  asio::co_spawn(io, run(std::move(request)), [&](const std::exception_ptr& thrown, RunResult got) {
    EXPECT_FALSE(thrown);
    result = std::move(got);
    io.stop();
  });
  io.run();
  return result.value_or(RunResult{});
}

Result<std::string> get_now(asio::io_context& io, Get get) {
  Result<std::string> result;
  asio::co_spawn(io, http_get(std::move(get)), [&](const std::exception_ptr&, Result<std::string> got) {
    result = std::move(got);
    io.stop();
  });
  io.run();
  return result;
}

// One call against one script.
CallResult call(Script script, const std::function<void(Request&)>& change = {}, bool stream = false) {
  asio::io_context io;
  FaultServer server(io, {std::move(script)});
  Request request = request_to(server.port(), 1, stream);
  if (change) {
    change(request);
  }
  return run_now(io, std::move(request)).calls.at(0);
}

// Reads the request, sends these bytes and closes.
Script answering(std::string bytes) {
  return [bytes](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    co_await peer.send(bytes);
  };
}
// ... and stays open.
Script answering_and_hanging(std::string bytes) {
  return [bytes](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    co_await peer.send(bytes);
    co_await peer.hang();
  };
}

TEST(Run, SendsAWholeRequestAndReturnsTheRawAnswer) {
  std::string seen;
  const CallResult result = call(
      [&seen](Peer& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(http_reply(kBody));
        co_await peer.hang();
      },
      [](Request& request) { request.api_key = "sk-test"; });
  EXPECT_EQ(result.response.http_status, 200);
  EXPECT_EQ(result.response.fault, Fault::kNone);
  EXPECT_EQ(result.response.body, kBody);
  EXPECT_FALSE(result.response.stream);
  EXPECT_TRUE(result.response.latency);
  EXPECT_TRUE(result.response.first_byte);
  EXPECT_EQ(seen.substr(0, 35), "POST /v1/chat/completions HTTP/1.1\r");
  for (const char* line : {"Host: 127.0.0.1:", "Accept-Encoding: identity\r\n", "x-team: ops\r\n",
                           "Authorization: Bearer sk-test\r\n", "Content-Type: application/json\r\n",
                           "Content-Length: 10\r\n"}) {
    EXPECT_NE(seen.find(line), std::string::npos) << line << "\n" << seen;
  }
  EXPECT_EQ(seen.substr(seen.size() - 10), R"({"call":0})");
}

TEST(Run, ReusesTheConnectionWhileTheServerKeepsIt) {
  asio::io_context io;
  std::vector<std::string> seen;
  FaultServer server(io, {[&seen](Peer& peer) -> asio::awaitable<void> {
                       for (;;) {
                         const std::string request = co_await peer.read_request();
                         if (request.empty()) {
                           co_return;
                         }
                         seen.push_back(request.substr(request.size() - 10));
                         co_await peer.send(http_reply(kBody));
                       }
                     }});
  const RunResult result = run_now(io, request_to(server.port(), 4));
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(seen,
            (std::vector<std::string>{R"({"call":0})", R"({"call":1})", R"({"call":2})", R"({"call":3})"}));
  ASSERT_EQ(result.calls.size(), 4U);
  EXPECT_FALSE(result.calls[0].reused_connection);
  EXPECT_TRUE(result.calls[3].reused_connection);
}

TEST(Run, OpensAnewWhenTheServerCloses) {
  for (const char* headers : {"connection: close\r\n", ""}) {
    asio::io_context io;
    FaultServer server(io, {answering(http_reply(kBody, "200 OK", headers))});
    const RunResult result = run_now(io, request_to(server.port(), 3));
    EXPECT_EQ(server.connections(), 3) << headers;
    for (const CallResult& each : result.calls) {
      EXPECT_EQ(each.response.http_status, 200) << headers << each.response.error;
    }
  }
}

TEST(Run, AsksOnceMoreWhenAKeptConnectionIsResetBeforeAnAnswer) {
  asio::io_context io;
  const Script once_then_reset = [](Peer& peer) -> asio::awaitable<void> {
    co_await peer.read_request();
    co_await peer.send(http_reply(kBody));
    co_await peer.read_request();
    peer.reset();
  };
  FaultServer server(io, {once_then_reset});
  const RunResult result = run_now(io, request_to(server.port(), 2));
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(result.calls.at(1).response.http_status, 200);
}

TEST(Run, ReadsAChunkedEventStreamAndKeepsTheConnection) {
  asio::io_context io;
  FaultServer server(io, {[](Peer& peer) -> asio::awaitable<void> {
                       while (!(co_await peer.read_request()).empty()) {
                         co_await peer.send(http_stream_head());
                         co_await peer.send(http_chunk("data: {\"a\""));
                         co_await peer.send(http_chunk(":1}\n\ndata: [DO"));
                         co_await peer.send(http_chunk("NE]\n\n"));
                         co_await peer.send(http_stream_end());
                       }
                     }});
  const RunResult result = run_now(io, request_to(server.port(), 2, true));
  EXPECT_EQ(server.connections(), 1);
  for (const CallResult& each : result.calls) {
    EXPECT_TRUE(each.response.stream);
    EXPECT_EQ(each.response.fault, Fault::kNone);
    EXPECT_EQ(each.response.body, "data: {\"a\":1}\n\ndata: [DONE]\n\n");
  }
}

TEST(Run, DoesNotWaitForTheRestOfAStreamThatSaidDone) {
  const std::string said = http_stream_head() + http_chunk("data: {}\n\ndata: [DONE]\n\n");
  const CallResult result = call(
      answering_and_hanging(said), [](Request& request) { request.deadlines.after_done = Millis(20); }, true);
  EXPECT_EQ(result.response.fault, Fault::kNone);
  EXPECT_EQ(result.response.body, "data: {}\n\ndata: [DONE]\n\n");
  // Not because those letters stand in the text.
  const CallResult text = call(
      answering_and_hanging(http_stream_head() + http_chunk("data: {\"a\":\"[DONE]\"}\n\n")),
      [](Request& request) { request.deadlines.between = Millis(20); }, true);
  EXPECT_EQ(text.response.fault, Fault::kTimeout);
}

TEST(Run, RecordsAWholeBodyWhereAStreamWasAskedFor) {
  const CallResult result = call(answering(http_reply(kBody)), {}, true);
  EXPECT_FALSE(result.response.stream);
  EXPECT_EQ(result.response.body, kBody);
}

TEST(Run, StatusIsReturnedAndNoRedirectFollowed) {
  asio::io_context io;
  FaultServer server(io, {answering_and_hanging(http_reply("", "302 Found", "location: /elsewhere\r\n"))});
  EXPECT_EQ(run_now(io, request_to(server.port())).calls.at(0).response.http_status, 302);
  EXPECT_EQ(server.connections(), 1);
  for (const char* status :
       {"429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"}) {
    const CallResult result = call(answering(http_reply("{\"error\":{}}", status)));
    EXPECT_EQ(result.response.http_status, std::stoi(status));
    EXPECT_EQ(result.response.fault, Fault::kNone);
    EXPECT_EQ(result.response.body, "{\"error\":{}}");
  }
}

TEST(Run, ReadsOverInterimResponses) {
  EXPECT_EQ(call(answering("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + http_reply(kBody))).response.body,
            kBody);
  std::string endless;
  for (int i = 0; i < 20; ++i) {
    endless += "HTTP/1.1 100 Continue\r\n\r\n";
  }
  EXPECT_EQ(call(answering_and_hanging(endless)).response.fault, Fault::kNotHttp);
}

TEST(Run, TellsWhatKeptAnAnswerFromComing) {
  std::uint16_t nobody = 0;
  {
    asio::io_context other;
    nobody = FaultServer(other, {answering("")}).port();
  }
  asio::io_context io;
  EXPECT_EQ(run_now(io, request_to(nobody)).calls.at(0).response.fault, Fault::kRefused);

  io.restart();
  Request unresolved = request_to(1);
  unresolved.endpoint.host = "no-such-host.invalid";
  EXPECT_EQ(run_now(io, unresolved).calls.at(0).response.fault, Fault::kDns);

  const auto short_first_byte = [](Request& request) { request.deadlines.first_byte = Millis(30); };
  EXPECT_EQ(call([](Peer& peer) { return peer.hang(); }, short_first_byte).response.fault, Fault::kTimeout);
  EXPECT_EQ(call(answering("")).response.fault, Fault::kReset);
  EXPECT_EQ(call([](Peer& peer) -> asio::awaitable<void> {
              co_await peer.read_request();
              peer.reset();
            }).response.fault,
            Fault::kReset);
  EXPECT_EQ(call(answering("SSH-2.0-OpenSSH_9.2\r\n")).response.fault, Fault::kNotHttp);
  EXPECT_EQ(call(answering(std::string("\x15\x03\x01\x00\x02\x02\x0A", 7))).response.fault, Fault::kTls);
  EXPECT_EQ(call(answering("HTTP/1.1 2x0 OK\r\n\r\n")).response.fault, Fault::kNotHttp);
  EXPECT_EQ(call(answering(http_reply("x", "200 OK", "content-encoding: gzip\r\n"))).response.fault,
            Fault::kNotHttp);
}

TEST(Run, KeepsWhatCameOfAHalfAnswer) {
  CallResult result = call(answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"cho"));
  EXPECT_EQ(result.response.http_status, 200);
  EXPECT_EQ(result.response.fault, Fault::kReset);
  EXPECT_EQ(result.response.body, "{\"cho");

  result = call(answering(http_stream_head() + http_chunk("data: {}\n\n")), {}, true);
  EXPECT_EQ(result.response.fault, Fault::kReset);
  EXPECT_EQ(result.response.body, "data: {}\n\n");
  EXPECT_TRUE(result.response.stream);

  result = call(
      answering_and_hanging(http_stream_head() + http_chunk("data: {}\n\n")),
      [](Request& request) { request.deadlines.between = Millis(30); }, true);
  EXPECT_EQ(result.response.fault, Fault::kTimeout);
  EXPECT_EQ(result.response.body, "data: {}\n\n");
}

TEST(Run, ABodyLongerThanAnnouncedEndsTheConnection) {
  asio::io_context io;
  FaultServer server(io, {answering_and_hanging("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}trailing")});
  const RunResult result = run_now(io, request_to(server.port(), 2));
  EXPECT_EQ(result.calls.at(0).response.body, "{}");
  EXPECT_EQ(result.calls.at(1).response.body, "{}");
  EXPECT_EQ(server.connections(), 2);
}

TEST(Run, IsBoundedInSize) {
  const auto small = [](Request& request) { request.limits = {.header_bytes = 1024, .body_bytes = 4096}; };
  CallResult result = call(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 200 OK\r\n\r\n");
        co_await peer.send_forever(std::string(1000, 'x'));
      },
      small);
  EXPECT_EQ(result.response.fault, Fault::kTooLarge);
  EXPECT_LE(result.response.body.size(), 4096U);

  result = call(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(http_stream_head());
        co_await peer.send_forever(http_chunk(": ping\n\n"));
      },
      small, true);
  EXPECT_EQ(result.response.fault, Fault::kTooLarge);

  result = call(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 200 OK\r\n");
        co_await peer.send_forever("x-more: and more\r\n");
      },
      small);
  EXPECT_EQ(result.response.fault, Fault::kTooLarge);

  result = call(answering_and_hanging("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"), small);
  EXPECT_EQ(result.response.fault, Fault::kTooLarge);
}

TEST(Run, TheBoundOfTheHeaderIsTheOneGiven) {
  const auto reply = [](std::size_t size) {
    return http_reply(kBody, "200 OK", "x-long: " + std::string(size, 'x') + "\r\n");
  };
  const auto limit = [](std::uint32_t bytes) {
    return [bytes](Request& request) { request.limits.header_bytes = bytes; };
  };
  EXPECT_EQ(call(answering(reply(3'000)), limit(2'048)).response.fault, Fault::kTooLarge);
  EXPECT_EQ(call(answering(reply(30'000)), limit(65'536)).response.fault, Fault::kNone);
}

TEST(Run, ASlowTrickleIsCutByTheTotalDeadline) {
  const auto begun = std::chrono::steady_clock::now();
  const CallResult result = call(
      [](Peer& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n");
        co_await peer.trickle(std::string(10'000, 'x'), Millis(5));
      },
      [](Request& request) { request.deadlines.total = Millis(100); });
  EXPECT_EQ(result.response.fault, Fault::kTimeout);
  EXPECT_GT(result.response.body.size(), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(Run, TriesEveryCallOfARunThatTimesOut) {
  asio::io_context io;
  FaultServer server(io, {[](Peer& peer) { return peer.hang(); }, answering_and_hanging(http_reply(kBody))});
  Request request = request_to(server.port(), 2);
  request.deadlines.first_byte = Millis(50);
  const RunResult result = run_now(io, std::move(request));
  EXPECT_EQ(result.calls.at(0).response.fault, Fault::kTimeout);
  EXPECT_EQ(result.calls.at(1).response.http_status, 200);
}

TEST(ListenerCheck, ComesBeforeTheFirstByte) {
  asio::io_context io;
  std::optional<std::string> seen;
  FaultServer server(io,
                     {[&seen](Peer& peer) -> asio::awaitable<void> { seen = co_await peer.read_request(); }});
  Request request = request_to(server.port(), 3);
  request.api_key = "sk-secret";
  int checks = 0;
  request.check = [&](const asio::ip::tcp::endpoint& remote) -> Result<void> {
    ++checks;
    EXPECT_EQ(remote.port(), server.port());
    return fail(ErrorCode::kBusy, "pid 7 of nginx.service listens");
  };
  const RunResult result = run_now(io, std::move(request));
  ASSERT_EQ(result.calls.size(), 3U);
  for (const CallResult& each : result.calls) {
    EXPECT_EQ(each.response.fault, Fault::kPortInUse);
    EXPECT_NE(each.response.error.find("pid 7 of nginx.service listens"), std::string::npos);
  }
  EXPECT_EQ(checks, 1);
  io.restart();
  io.poll();
  EXPECT_EQ(seen.value_or(""), "");
}

TEST(ListenerCheck, TroubleOfItsOwnIsNotTheListeners) {
  for (const auto& [code, fault] : {std::pair{ErrorCode::kUnavailable, Fault::kRefused},
                                    std::pair{ErrorCode::kTimeout, Fault::kUnchecked},
                                    std::pair{ErrorCode::kUnsupported, Fault::kUnchecked},
                                    std::pair{ErrorCode::kInternal, Fault::kUnchecked}}) {
    asio::io_context io;
    FaultServer server(io, {answering(http_reply(kBody))});
    Request request = request_to(server.port(), 1);
    const ErrorCode told = code;
    request.check = [told](const asio::ip::tcp::endpoint&) -> Result<void> { return fail(told, "no"); };
    EXPECT_EQ(run_now(io, std::move(request)).calls.at(0).response.fault, fault) << to_string(code);
  }
}

TEST(ListenerCheck, IsAskedForEveryNewConnection) {
  asio::io_context io;
  FaultServer server(io, {answering(http_reply(kBody, "200 OK", "connection: close\r\n"))});
  Request request = request_to(server.port(), 3);
  int checks = 0;
  request.check = [&](const asio::ip::tcp::endpoint&) -> Result<void> {
    return ++checks < 3 ? Result<void>{} : fail(ErrorCode::kBusy, "changed hands");
  };
  const RunResult result = run_now(io, std::move(request));
  EXPECT_EQ(checks, 3);
  EXPECT_EQ(result.calls.at(1).response.http_status, 200);
  EXPECT_EQ(result.calls.at(2).response.fault, Fault::kPortInUse);
}

TEST(Run, RefusesAKeyThatWouldBreakTheHeader) {
  asio::io_context io;
  FaultServer server(io, {answering(http_reply(kBody))});
  Request request = request_to(server.port());
  request.api_key = "sk-secret\r\nx-injected: 1";
  const CallResult result = run_now(io, std::move(request)).calls.at(0);
  EXPECT_EQ(result.response.fault, Fault::kNotSent);
  EXPECT_EQ(result.response.error.find("sk-secret"), std::string::npos);
  EXPECT_EQ(server.connections(), 0);
}

TEST(Run, CanBeCanceledAndTheCallerGoesOn) {
  asio::io_context io;
  asio::cancellation_signal signal;
  FaultServer server(io, {[&](Peer& peer) -> asio::awaitable<void> {
                       co_await peer.read_request();
                       asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
                       co_await peer.hang();
                     }});
  std::optional<RunResult> result;
  asio::co_spawn(
      io, run(request_to(server.port(), 3)),
      asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& thrown, RunResult got) {
        EXPECT_FALSE(thrown);
        result = std::move(got);
        io.stop();
      }));
  io.run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->calls.size(), 3U);
  for (const CallResult& each : result->calls) {
    EXPECT_EQ(each.response.fault, Fault::kCanceled);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(Run, ACancellationBetweenTwoOperationsIsNotLost) {
  asio::io_context io;
  asio::cancellation_signal signal;
  std::string seen;
  FaultServer server(io,
                     {[&seen](Peer& peer) -> asio::awaitable<void> { seen = co_await peer.read_request(); }});
  Request request = request_to(server.port(), 2);
  request.check = [&](const asio::ip::tcp::endpoint&) -> Result<void> {
    signal.emit(asio::cancellation_type::terminal);
    return {};
  };
  std::optional<RunResult> result;
  asio::co_spawn(
      io, run(std::move(request)),
      asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& thrown, RunResult got) {
        EXPECT_FALSE(thrown);
        result = std::move(got);
        io.stop();
      }));
  io.run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->calls.size(), 2U);
  EXPECT_EQ(result->calls[0].response.fault, Fault::kCanceled);
  EXPECT_EQ(result->calls[1].response.fault, Fault::kCanceled);
  EXPECT_EQ(seen, "");
}

Get get_from(std::uint16_t port) {
  Get get;
  get.endpoint = {"127.0.0.1", port};
  get.target = "/metrics";
  return get;
}

TEST(HttpGet, ReturnsTheBodyOfA200) {
  asio::io_context io;
  const std::string page(134'000, 'm');
  FaultServer server(io, {answering_and_hanging(http_reply(page, "200 OK", "content-type: text/plain\r\n"))});
  EXPECT_EQ(get_now(io, get_from(server.port())).value_or(""), page);
}

TEST(HttpGet, NamesWhatWentWrong) {
  asio::io_context io;
  FaultServer server(io, {answering(http_reply("", "404 Not Found"))});
  const Result<std::string> missing = get_now(io, get_from(server.port()));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "127.0.0.1:" + std::to_string(server.port()) + ": GET /metrics: status 404");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);

  asio::io_context other;
  FaultServer silent(other, {[](Peer& peer) { return peer.hang(); }});
  Get get = get_from(silent.port());
  get.deadlines.total = Millis(30);
  EXPECT_EQ(get_now(other, std::move(get)).error().code, ErrorCode::kTimeout);
}

TEST(HttpGet, TellsARefusalFromAServerThatIsNotUpToIt) {
  for (const auto& [status, code] :
       std::map<std::string, ErrorCode>{{"401 Unauthorized", ErrorCode::kDenied},
                                        {"404 Not Found", ErrorCode::kNotFound},
                                        {"429 Too Many Requests", ErrorCode::kUnavailable},
                                        {"500 Internal Server Error", ErrorCode::kUnavailable},
                                        {"501 Not Implemented", ErrorCode::kNotFound},
                                        {"503 Service Unavailable", ErrorCode::kUnavailable}}) {
    asio::io_context io;
    FaultServer server(io, {answering(http_reply("", status))});
    EXPECT_EQ(get_now(io, get_from(server.port())).error().code, code) << status;
  }
}

TEST(FetchModels, AsksUnderTheBasePath) {
  asio::io_context io;
  std::string seen;
  FaultServer server(io, {[&seen](Peer& peer) -> asio::awaitable<void> {
                       seen = co_await peer.read_request();
                       co_await peer.send(http_reply(R"({"data":[{"id":"m"}]})"));
                     }});
  Result<std::string> result;
  asio::co_spawn(io, fetch_models(get_from(server.port()), "/v1"),
                 [&](const std::exception_ptr&, Result<std::string> got) {
                   result = std::move(got);
                   io.stop();
                 });
  io.run();
  EXPECT_EQ(result.value_or(""), R"({"data":[{"id":"m"}]})");
  EXPECT_EQ(seen.substr(0, 24), "GET /v1/models HTTP/1.1\r");
}

}  // namespace
}  // namespace fireboss::canary
