// The real fireboss-engine over HTTP: what it answers, refuses and counts, and how it ends.
#include <csignal>
#include <fstream>
#include <future>
#include <sys/wait.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/integration/engine_process.h"

namespace fireboss::engine_test {
namespace {

namespace net = boost::asio;
using testing::HasSubstr;

constexpr const char* kPing = "Reply with exactly this text and nothing else: PONG-7F3A";
constexpr const char* kRunning = "fireboss_engine_requests_running";
constexpr const char* kWaiting = "fireboss_engine_requests_waiting";
constexpr const char* kGenerated = "fireboss_engine_generation_tokens_total";

std::string text_of(const Reply& reply) {
  if (reply.status != 200) {
    return "status " + std::to_string(reply.status);
  }
  const auto value = reply.json();
  const auto& content = value.at("choices").at(0).at("message").at("content");
  return content.is_null() ? "" : std::string(content.as_string());
}

std::int64_t cached_of(const Reply& reply) {
  return reply.json().at("usage").at("prompt_tokens_details").at("cached_tokens").to_number<std::int64_t>();
}

TEST(EngineOverHttp, AnswersTheFullPromptAndReusesItsPrefix) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready()) << engine.log();
  const auto cold = engine.post("/v1/chat/completions", full_chat_body(kPing));
  EXPECT_EQ(text_of(cold), "PONG-7F3A");
  EXPECT_EQ(cached_of(cold), 0);
  EXPECT_GT(cold.json().at("usage").at("prompt_tokens").to_number<int>(), 7000);
  const auto warm = engine.post("/v1/chat/completions",
                                full_chat_body("Reply with exactly this text and nothing else: ECHO-91B2"));
  EXPECT_EQ(text_of(warm), "ECHO-91B2");
  EXPECT_GT(cached_of(warm), 7000);
  const auto salted = engine.post("/v1/chat/completions", full_chat_body(kPing, R"("cache_salt":"other")"));
  EXPECT_EQ(text_of(salted), "PONG-7F3A");
  EXPECT_EQ(cached_of(salted), 0);
  EXPECT_THAT(engine.log(), HasSubstr("implementation active: cpu-"));
}

TEST(EngineOverHttp, CallsTools) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  const std::string call = "Call the tool shell with command=\"git status\".";
  const auto reply = engine.post("/v1/chat/completions", full_chat_body(call));
  const auto choice = reply.json().at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_TRUE(choice.at("message").at("content").is_null());
  const auto& function = choice.at("message").at("tool_calls").at(0).at("function");
  EXPECT_EQ(function.at("name"), "shell");
  EXPECT_EQ(function.at("arguments"), R"({"command":"git status"})");

  const auto stream = engine.post("/v1/chat/completions", full_chat_body(call, R"("stream":true)")).events();
  ASSERT_EQ(stream.size(), 3U);  // role, the call, the end
  const auto& delta = stream[1].at("choices").at(0).at("delta").at("tool_calls").at(0);
  EXPECT_EQ(delta.at("index"), 0);
  EXPECT_EQ(delta.at("function").at("arguments"), R"({"command":"git status"})");
  EXPECT_EQ(stream[2].at("choices").at(0).at("finish_reason"), "tool_calls");

  const auto text = engine.post("/v1/chat/completions", full_chat_body(call, R"("tool_choice":"none")"));
  EXPECT_THAT(text_of(text), HasSubstr("<tool_call>"));
  const auto named = engine.post(
      "/v1/chat/completions",
      full_chat_body(call,
                     R"("tool_choice":{"type":"function","function":{"name":"fetch"}},"max_tokens":60)"));
  EXPECT_THAT(named.body, HasSubstr("fetch"));
}

TEST(EngineOverHttp, StreamsWhatItAnswersWhole) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  const auto reply = engine.ask("Count from 7 to 19, separated by commas.",
                                R"("stream":true,"stream_options":{"include_usage":true},"logprobs":true)");
  EXPECT_EQ(reply.status, 200U);
  EXPECT_THAT(reply.content_type, HasSubstr("text/event-stream"));
  EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n"));
  const auto events = reply.events();
  std::string text;
  std::size_t logprobs = 0;
  for (const auto& event : events) {
    for (const auto& choice : event.at("choices").as_array()) {
      if (const auto* content = choice.at("delta").as_object().if_contains("content")) {
        text += content->as_string();
      }
      if (!choice.at("logprobs").is_null()) {
        logprobs += choice.at("logprobs").at("content").as_array().size();
      }
    }
  }
  EXPECT_EQ(text, "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19");
  EXPECT_EQ(events.front().at("choices").at(0).at("delta").at("role"), "assistant");
  EXPECT_EQ(events.back().at("usage").at("completion_tokens"), 48);
  EXPECT_EQ(logprobs, 47U);  // one a token, the end token aside
}

TEST(EngineOverHttp, StopsAtStopStringsAndLimits) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  const auto stopped = engine.ask("Count from 7 to 19, separated by commas.", R"("stop":["12, 1"])");
  EXPECT_EQ(text_of(stopped), "7, 8, 9, 10, 11, ");
  EXPECT_EQ(stopped.json().at("choices").at(0).at("stop_reason"), "12, 1");
  const auto cut = engine.ask("Count from 7 to 19, separated by commas.", R"("max_completion_tokens":2)");
  EXPECT_EQ(cut.json().at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(engine.metric("fireboss_engine_requests_total{model_name=\"drill\",finished_reason=\"length\"}"),
            1);
}

TEST(EngineOverHttp, SamplesTheSameWithTheSameSeed) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  const auto draw = [&](int seed) {
    return text_of(
        engine.ask("Tell me anything.", R"("temperature":3,"max_tokens":20,"seed":)" + std::to_string(seed)));
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(EngineOverHttp, RefusesWithNestedErrors) {
  EngineProcess engine({"--max-body", "64KiB", "--ctx", "512"});
  ASSERT_TRUE(engine.wait_ready());
  const auto message = [](const Reply& reply) {
    return std::string(reply.json().at("error").at("message").as_string());
  };
  const auto broken = engine.post("/v1/chat/completions", "{");
  EXPECT_EQ(broken.status, 400U);
  EXPECT_EQ(broken.json().at("error").at("code"), 400);
  const auto stranger = engine.ask(kPing, R"("model":"gpt-9")");
  EXPECT_EQ(stranger.status, 404U);
  EXPECT_THAT(message(stranger), HasSubstr("'gpt-9' does not exist; this engine serves drill"));
  const auto long_prompt = engine.ask(std::string(2000, 'x'));
  EXPECT_EQ(long_prompt.status, 400U);
  EXPECT_THAT(message(long_prompt), HasSubstr("leaves no room for a reply in the context of 512"));
  EXPECT_EQ(engine.ask(std::string(3'000'000, 'x')).status, 413U);
  EXPECT_EQ(engine.get("/v1/chat/completions").status, 405U);
  EXPECT_EQ(engine.get("/v2").status, 404U);
  EXPECT_EQ(engine.get("/health").status, 200U);
}

TEST(EngineOverHttp, AsksForItsKeyOnAllButHealthAndMetrics) {
  const std::string path = testing::TempDir() + "engine-key";
  { std::ofstream(path) << "s3cret\n"; }
  EngineProcess engine({"--api-key-file", path});
  ASSERT_TRUE(engine.wait_ready());
  EXPECT_EQ(engine.get("/v1/models").status, 401U);
  EXPECT_EQ(engine.get("/v1/models", "s3cre").status, 401U);
  EXPECT_EQ(engine.get("/v1/models", "s3crets").status, 401U);
  EXPECT_EQ(engine.get("/v1/models", "s3cret").status, 200U);
  EXPECT_EQ(engine.ask(kPing).status, 401U);
  EXPECT_EQ(engine.get("/health").status, 200U);
  EXPECT_EQ(engine.get("/metrics").status, 200U);
  EXPECT_THAT(engine.log(), testing::Not(HasSubstr("s3cret")));
}

TEST(EngineOverHttp, HasNoFaultsUnlessEnabled) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  EXPECT_EQ(engine.get("/faults").status, 404U);
  EXPECT_EQ(engine.post("/faults", R"({"set":["error500"]})").status, 404U);
  EXPECT_EQ(text_of(engine.ask(kPing)), "PONG-7F3A");
  EngineProcess refused({"--fault", "error500"});
  const auto status = refused.wait_exit();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 2);
  EXPECT_THAT(refused.log(), HasSubstr("needs --enable-faults"));
}

TEST(EngineUnderLoad, Answers429WhenTheQueueIsFullAndHealthAllTheTime) {
  EngineProcess engine({"--slots", "1", "--queue", "1", "--enable-faults", "--fault", "stall"});
  ASSERT_TRUE(engine.wait_ready());
  auto first = std::async(std::launch::async, [&] { return engine.ask(kPing); });
  ASSERT_TRUE(engine.wait_metric(kRunning, 1));
  auto second = std::async(std::launch::async, [&] { return engine.ask(kPing); });
  ASSERT_TRUE(engine.wait_metric(kWaiting, 1));
  const auto refused = engine.ask(kPing);
  EXPECT_EQ(refused.status, 429U);
  EXPECT_THAT(refused.body, HasSubstr("the queue is full"));
  EXPECT_EQ(engine.get("/health").status, 200U);
  EXPECT_EQ(engine.metric(kGenerated), 0);
  EXPECT_EQ(engine.post("/faults", R"({"clear":["stall"]})").status, 200U);
  EXPECT_EQ(text_of(first.get()), "PONG-7F3A");
  EXPECT_EQ(text_of(second.get()), "PONG-7F3A");
}

TEST(EngineUnderLoad, AnswersHealthWhileItComputes) {
  EngineProcess engine({"--enable-faults", "--fault", "slow=pause=100ms"});
  ASSERT_TRUE(engine.wait_ready());
  auto reply = std::async(std::launch::async, [&] { return engine.ask(kPing); });
  ASSERT_TRUE(engine.wait_metric(kRunning, 1));
  EXPECT_EQ(engine.get("/health").status, 200U);
  EXPECT_EQ(engine.metric(kRunning), 1);
  EXPECT_EQ(reply.get().status, 200U);
}

// A connection that a test leaves half way.
class RawConnection {
 public:
  explicit RawConnection(unsigned short port) : socket_(io_) {
    socket_.connect({net::ip::address_v4::loopback(), port}, error_);
  }
  void send(const std::string& text) { net::write(socket_, net::buffer(text), error_); }
  // Everything up to the other side's end.
  std::string read_all() {
    std::string all;
    net::read(socket_, net::dynamic_buffer(all), error_);
    return all;
  }
  void close() { socket_.close(error_); }
  [[nodiscard]] const boost::system::error_code& error() const { return error_; }

 private:
  net::io_context io_;
  net::ip::tcp::socket socket_;
  boost::system::error_code error_;
};

std::string raw_chat(const std::string& body) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(EngineClients, CancelTheirRequestByLeaving) {
  constexpr const char* kAborted =
      "fireboss_engine_requests_total{model_name=\"drill\",finished_reason=\"abort\"}";
  EngineProcess engine({"--enable-faults", "--fault", "repeat", "--fault", "slow=pause=20ms"});
  ASSERT_TRUE(engine.wait_ready());
  for (const char* fields : {"", R"("stream":true)"}) {
    RawConnection client(engine.port());
    client.send(raw_chat(chat_body(kPing, fields)));
    ASSERT_TRUE(engine.wait_metric(kRunning, 1));
    client.close();
    const double expected = *fields == '\0' ? 1 : 2;
    EXPECT_TRUE(engine.wait_metric(kAborted, expected)) << fields;
    EXPECT_EQ(engine.metric(kRunning), 0);
  }
}

TEST(EngineClients, AreDisconnectedWhenTheyDawdle) {
  EngineProcess engine({"--idle-timeout", "200ms"});
  ASSERT_TRUE(engine.wait_ready());
  RawConnection client(engine.port());
  client.send("GET /health HTTP/1.1\r\nHost:");
  EXPECT_EQ(client.read_all(), "");
}

TEST(EngineClients, MaySendRequestsBackToBack) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  RawConnection client(engine.port());
  const auto body = chat_body(kPing);
  client.send(raw_chat(body) + raw_chat(body) +
              "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto replies = client.read_all();
  const auto first = replies.find("PONG-7F3A");
  ASSERT_NE(first, std::string::npos) << replies;
  EXPECT_NE(replies.find("PONG-7F3A", first + 1), std::string::npos);
  EXPECT_THAT(replies, HasSubstr(R"({"status":"ok"})"));
}

TEST(EngineClients, GetClearErrorsForBrokenHttp) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  RawConnection garbage(engine.port());
  garbage.send("this is not HTTP\r\n\r\n");
  EXPECT_THAT(garbage.read_all(), HasSubstr("400 Bad Request"));
  RawConnection long_header(engine.port());
  long_header.send("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(long_header.read_all(), HasSubstr("431 "));
  EXPECT_EQ(engine.get("/health").status, 200U);
}

TEST(EngineDrills, GarbleRepliesWhileHealthStays200) {
  EngineProcess engine({"--enable-faults", "--fault", "degrade=offset=1d"});
  ASSERT_TRUE(engine.wait_ready());
  EXPECT_EQ(text_of(engine.ask(kPing)), "PONG-7F3A") << "a bare prompt stays clean";
  int bad = 0;
  for (int i = 0; i < 8; ++i) {
    bad += text_of(engine.post("/v1/chat/completions", full_chat_body(kPing, "\"max_tokens\":64"))) !=
           "PONG-7F3A";
    EXPECT_EQ(engine.get("/health").status, 200U);
  }
  EXPECT_EQ(bad, 8);
  EXPECT_EQ(engine.post("/faults", R"({"clear":["*"]})").status, 200U);
  EXPECT_EQ(text_of(engine.post("/v1/chat/completions", full_chat_body(kPing))), "PONG-7F3A");
}

TEST(EngineDrills, SpoilSingleReplies) {
  EngineProcess engine({"--enable-faults"});
  ASSERT_TRUE(engine.wait_ready());
  const auto with = [&](const std::string& fault, const std::string& fields = "") {
    EXPECT_EQ(engine.post("/faults", "{\"set\":[\"" + fault + "=count=1\"]}").status, 200U);
    return engine.ask(kPing, fields);
  };
  EXPECT_THAT(text_of(with("after-stop")), testing::StartsWith("PONG-7F3A<|end|><|begin|>"));
  EXPECT_EQ(text_of(engine.ask("Reply with exactly this text and nothing else: ECHO-91B2")), "ECHO-91B2");
  EXPECT_EQ(text_of(with("other-text")), "ECHO-91B2");
  const auto repeated = with("repeat", "\"max_tokens\":50");
  EXPECT_EQ(repeated.json().at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(text_of(repeated).substr(30), std::string(20, text_of(repeated).back()));
  const auto failed = with("error500");
  EXPECT_EQ(failed.status, 500U);
  EXPECT_THAT(failed.body, HasSubstr("EngineCore encountered an issue"));
  EXPECT_EQ(text_of(engine.ask(kPing)), "PONG-7F3A");
  EXPECT_EQ(engine.post("/faults", R"({"set":["sllow"]})").status, 400U);
}

TEST(EngineDrills, RefuseConnectionsForAWhile) {
  EngineProcess engine({"--enable-faults"});
  ASSERT_TRUE(engine.wait_ready());
  EXPECT_EQ(engine.post("/faults", R"({"set":["refuse=for=300ms"]})").status, 200U);
  EXPECT_EQ(engine.get("/health").status, 0U);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (engine.get("/health").status != 200 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(engine.get("/health").status, 200U);
}

TEST(EngineEnd, IsStatus0AfterSigterm) {
  EngineProcess engine;
  ASSERT_TRUE(engine.wait_ready());
  engine.signal(SIGTERM);
  EXPECT_TRUE(engine.wait_notified("STOPPING=1"));
  const auto status = engine.wait_exit();
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 0);
}

TEST(EngineEnd, LetsARunningRequestFinish) {
  EngineProcess engine({"--enable-faults", "--fault", "slow=pause=30ms", "--drain", "30s"});
  ASSERT_TRUE(engine.wait_ready());
  auto reply = std::async(std::launch::async, [&] { return engine.ask(kPing); });
  ASSERT_TRUE(engine.wait_metric(kRunning, 1));
  engine.signal(SIGTERM);
  EXPECT_EQ(text_of(reply.get()), "PONG-7F3A");
  EXPECT_EQ(engine.wait_exit(), 0);
}

TEST(EngineEnd, CutsOffWhatOutlastsTheDrain) {
  EngineProcess engine({"--enable-faults", "--fault", "stall", "--drain", "100ms"});
  ASSERT_TRUE(engine.wait_ready());
  auto reply = std::async(std::launch::async, [&] { return engine.ask(kPing); });
  ASSERT_TRUE(engine.wait_metric(kRunning, 1));
  engine.signal(SIGTERM);
  EXPECT_EQ(reply.get().status, 503U);
  EXPECT_EQ(engine.wait_exit(), 0);
}

TEST(EngineEnd, FollowsTheDrill) {
  EngineProcess dead({"--enable-faults", "--fault", "exit0=skip=1"});
  ASSERT_TRUE(dead.wait_ready());
  EXPECT_EQ(text_of(dead.ask(kPing)), "PONG-7F3A");
  EXPECT_EQ(dead.ask(kPing).status, 0U);
  EXPECT_EQ(dead.wait_exit(), 0);
  EXPECT_THAT(dead.log(), HasSubstr("EngineCore encountered a fatal error."));

  EngineProcess aborted({"--enable-faults", "--fault", "abort=after=10ms"});
  const auto status = aborted.wait_exit();
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGABRT);

  EngineProcess stubborn({"--enable-faults", "--fault", "ignore-sigterm"});
  ASSERT_TRUE(stubborn.wait_ready());
  stubborn.signal(SIGTERM);
  EXPECT_EQ(text_of(stubborn.ask(kPing)), "PONG-7F3A");
  EXPECT_THAT(stubborn.log(), HasSubstr("SIGTERM ignored (drill)"));
}

TEST(EngineStart, TellsWhatIsWrong) {
  const auto failed = [](std::vector<std::string> arguments) {
    EngineProcess engine(std::move(arguments));
    const auto status = engine.wait_exit();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) != 0);
    return engine.log();
  };
  EXPECT_THAT(failed({"--host", "nowhere"}), HasSubstr("--host nowhere: not an IP address"));
  EXPECT_THAT(failed({"--ctx", "20000"}), HasSubstr("--ctx 20000: the model was made for 2 to 16384 tokens"));
  EXPECT_THAT(failed({"--implementation", "abacus"}), HasSubstr("--implementation abacus"));
  EXPECT_THAT(failed({"--api-key-file", "/nonexistent"}),
              HasSubstr("--api-key-file /nonexistent: cannot be read"));
  EXPECT_THAT(failed({"--enable-faults", "--fault", "stal"}), HasSubstr("known are degrade"));
  EngineProcess first;
  ASSERT_TRUE(first.wait_ready());
  EXPECT_THAT(failed({"--port", std::to_string(first.port())}), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace fireboss::engine_test
