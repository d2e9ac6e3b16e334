#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "canary/suite/ask.h"
#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/sockets/kernel_sockets.h"
#include "supervisor/adapters/sqlite/store.h"
#include "supervisor/app/canary_session.h"
#include "supervisor/app/engine_core.h"
#include "supervisor/policy/policy.h"
#include "tests/bench/bench.h"
#include "tests/support/fault_server.h"

namespace fireboss::bench {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// A reply of the size that vLLM sends: 941 bytes with its fields.
std::string whole_reply(const std::string& text) {
  json::object message{{"role", "assistant"},         {"content", text},
                       {"refusal", nullptr},          {"audio", nullptr},
                       {"tool_calls", json::array()}, {"reasoning_content", nullptr}};
  json::object choice{{"index", 0},
                      {"message", std::move(message)},
                      {"logprobs", nullptr},
                      {"finish_reason", "stop"},
                      {"stop_reason", nullptr}};
  json::object reply{{"id", "chatcmpl-9a5d1b1d7c0e4e7f8a1b2c3d4e5f6a7b"},
                     {"object", "chat.completion"},
                     {"created", 1786431458},
                     {"model", "drill"},
                     {"choices", json::array{std::move(choice)}},
                     {"service_tier", nullptr},
                     {"system_fingerprint", nullptr},
                     {"usage", json::object{{"prompt_tokens", 5612},
                                            {"total_tokens", 5624},
                                            {"completion_tokens", 12},
                                            {"prompt_tokens_details", nullptr}}},
                     {"prompt_logprobs", nullptr},
                     {"kv_transfer_params", nullptr}};
  auto body = json::serialize(reply);
  constexpr std::size_t kBytes = 941;
  if (body.size() < kBytes)
    body.insert(body.size() - 1, std::string(kBytes - body.size(), ' '));
  return body;
}

std::string event(const json::object& delta, const char* finish) {
  return "data: " +
         json::serialize(json::object{
             {"id", "chatcmpl-9a5d1b1d7c0e4e7f8a1b2c3d4e5f6a7b"},
             {"object", "chat.completion.chunk"},
             {"created", 1786431458},
             {"model", "drill"},
             {"choices",
              json::array{json::object{
                  {"index", 0},
                  {"delta", delta},
                  {"logprobs", nullptr},
                  {"finish_reason", finish == nullptr ? json::value(nullptr) : json::value(finish)}}}}}) +
         "\n\n";
}

asio::awaitable<void> answer(test::Peer& peer) {
  for (;;) {
    const auto request = co_await peer.read_request();
    if (request.empty())
      co_return;
    // Of the starts that one nonce may have (YEARLY, EARLY) the first.
    std::string_view text = "no nonce";
    for (const auto nonce : canary::nonces_in(request))
      if (nonce.end() != text.end())
        text = nonce;
    if (request.find("text/event-stream") == std::string::npos) {
      co_await peer.send(test::http_reply(whole_reply(std::string(text))));
      continue;
    }
    // Three characters a token, each an event and a chunk of its own, as an engine sends them.
    std::string stream = test::http_stream_head();
    stream += test::http_chunk(event({{"role", "assistant"}, {"content", ""}}, nullptr));
    for (std::size_t at = 0; at < text.size(); at += 3)
      stream += test::http_chunk(event({{"content", std::string(text.substr(at, 3))}}, nullptr));
    stream += test::http_chunk(event({}, "stop"));
    stream += test::http_chunk("data: [DONE]\n\n") + test::http_stream_end();
    co_await peer.send(stream);
  }
}

// The system's clock, moved on from run to run so that each is due without waiting for half an hour.
class MovedClock final : public ports::Clock {
 public:
  MonoTime mono() const override { return system_.mono() + moved_; }
  MonoTime boot() const override { return system_.boot() + moved_; }
  WallTime wall() const override { return system_.wall() + moved_; }
  std::string boot_id() const override { return system_.boot_id(); }
  void advance(Millis by) { moved_ += by; }

 private:
  clock::SystemClock system_;
  Millis moved_{0};
};

std::int64_t cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

struct Bench {
  const CanaryBench& options;
  const config::Engine& engine;
  MovedClock& clock;
  app::EngineCore& core;
  app::CanarySession& session;
  std::int64_t right = 0, wrong = 0, cpu = 0;
  std::string first_wrong{};
  std::size_t body_bytes = 0;
};

// What is due, the way EngineSupervisor does it.
asio::awaitable<bool> run_once(Bench& bench) {
  bench.core.run_due_timers();
  const auto due = bench.core.canary();
  if (!due)
    co_return false;
  bench.core.feed(policy::CanaryBegun{due->variant, due->life, due->purpose});
  auto run = co_await bench.session.run(due->variant, bench.engine.policy.n);
  std::vector<ports::RawReply> raw;
  std::vector<ports::DayCount> counts;
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const auto& graded = run.calls[i].graded;
    counts.push_back({"calls." + std::string(canary::to_string(graded.grade)), 1});
    ++(graded.grade == canary::Grade::kPass ? bench.right : bench.wrong);
    if (graded.grade != canary::Grade::kPass && bench.first_wrong.empty())
      bench.first_wrong = canary::result_text(graded) + ": " + run.calls[i].body.substr(0, 300);
    if (graded.grade != canary::Grade::kPass)
      raw.push_back({bench.engine.name, due->variant, std::string(canary::to_string(graded.verdict)),
                     static_cast<int>(i), run.calls[i].body});
  }
  bench.core.feed(policy::CanaryResult{due->variant, due->life, run.results(), due->purpose}, std::move(raw),
                  std::move(counts));
  co_return true;
}

asio::awaitable<Result<void>> measure(Bench& bench) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (co_await run_once(bench)) {  // what is due at ready
  }
  const auto before = cpu_ns();
  for (int i = 0; i < bench.options.runs; ++i) {
    bench.clock.advance(bench.engine.policy.canary_every);
    if (!co_await run_once(bench))
      co_return fail(ErrorCode::kInternal, "no run was due: the figures would be of something else");
    if (bench.options.pause > Millis{0}) {
      timer.expires_after(bench.options.pause);
      co_await timer.async_wait(kTuple);
    }
  }
  bench.cpu = cpu_ns() - before;
  if (bench.wrong > 0)
    co_return fail(ErrorCode::kInternal,
                   std::to_string(bench.wrong) + " calls were not right; the first: " + bench.first_wrong);
  co_return Result<void>{};
}

}  // namespace

Result<void> serve() {
  asio::io_context loop(1);
  const test::FaultServer server(loop, {answer});
  std::printf("%u\n", unsigned{server.port()});
  std::fflush(stdout);
  asio::posix::stream_descriptor input(loop, dup(STDIN_FILENO));
  std::array<char, 16> bytes{};
  input.async_read_some(asio::buffer(bytes), [&](const auto&, std::size_t) { loop.stop(); });
  loop.run();
  return {};
}

Result<void> canary(const config::Engine& configured, const CanaryBench& options) {
  auto engine = configured;
  engine.port = options.port;
  engine.policy.variants = {options.variant};

  MovedClock clock;
  auto store = sqlite::SqliteStore::open(options.database, sqlite::OpenMode::kCreate);
  if (!store)
    return fail(store.error());
  sockets::KernelSockets sockets;
  const auto listeners = sockets.listeners(engine.port);
  if (!listeners || listeners->empty())
    return fail(ErrorCode::kUnavailable, "nobody listens on port " + std::to_string(engine.port));
  // The check of who answers is part of a run. Where the kernel does not tell control groups, or all is in
  // the root, it is left out, and that is printed.
  const auto group = sockets.control_group_of(listeners->front());
  const bool checked = !group.empty() && group != "/";
  if (!checked)
    engine.listener = config::ListenerCheck::kAny;

  app::EngineCore core(engine, clock, **store, [](const policy::Decision&) {});
  app::CanarySession session(engine, 65536, clock, sockets);
  session.set_control_group(group);
  session.set_models({"drill"});
  if (auto restored = core.restore(); !restored)
    return restored;
  const std::string life = "6f9ab4d2c1e84a4d8a5be4f7c3d21a10", fingerprint(64, 'f');
  core.feed(policy::DaemonStarted{std::nullopt, life, clock.boot_id()});
  core.feed(policy::Configured{engine.policy_hash, engine.suite.hash, std::nullopt});
  core.feed(policy::LifeStarted{life, policy::LifeCause::kSystemd, fingerprint});
  core.feed(policy::Ready{life, fingerprint});
  core.feed(policy::Calibrated{options.variant, fingerprint, 40, 0, 200, 400});
  core.feed(policy::OperatorMode{policy::Mode::kEnforce});

  Bench bench{options, engine, clock, core, session};
  canary::RandomBytes zero{};
  for (const auto& variant : engine.suite.variants)
    if (variant.name == options.variant)
      bench.body_bytes = canary::make_ask(engine.suite, variant, "drill", zero).body.size();
  asio::io_context loop(1);
  Result<void> result;
  asio::co_spawn(loop, measure(bench), [&](const std::exception_ptr& trouble, Result<void> done) {
    if (trouble)
      std::rethrow_exception(trouble);
    result = std::move(done);
  });
  loop.run();
  if (!result)
    return result;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s\n", json::serialize(json::object{{"runs", options.runs},
                                                   {"calls_right", bench.right},
                                                   {"cpu_ns", bench.cpu},
                                                   {"body_bytes", bench.body_bytes},
                                                   {"listener_checked", checked},
                                                   {"peak_rss_kib", usage.ru_maxrss}})
                          .c_str());
  return {};
}

}  // namespace fireboss::bench
