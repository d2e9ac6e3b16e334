#include "engine/engine.h"

#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include "engine/gguf/gguf.h"
#include "engine/server/session.h"

namespace fireboss::engine {
namespace {

namespace net = boost::asio;
using Clock = std::chrono::steady_clock;
constexpr auto kAwait = net::as_tuple(net::use_awaitable);
constexpr std::chrono::milliseconds kTick{50};

struct Loaded {
  Weights weights;
  std::unique_ptr<Tokenizer> tokenizer;
  ChatTokens chat_tokens{};
  std::uint64_t hash = 0;  // of the file's bytes
};

// FNV-1a: tells one file from another; it is no proof against somebody who wants two to look alike.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash = 0xCBF29CE484222325U) {
  for (const auto byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
  }
  return hash;
}

Result<Loaded> load_model(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) {
    return fail(std::move(file.error()));
  }
  auto gguf = Gguf::parse(file->bytes(), path);
  if (!gguf) {
    return fail(std::move(gguf.error()));
  }
  Loaded loaded;
  auto tokenizer = Tokenizer::load(*gguf);
  if (!tokenizer) {
    return fail(std::move(tokenizer.error()));
  }
  loaded.tokenizer = std::make_unique<Tokenizer>(std::move(*tokenizer));
  auto weights = Weights::load(*gguf);
  if (!weights) {
    return fail(std::move(weights.error()));
  }
  loaded.weights = std::move(*weights);
  if (loaded.tokenizer->size() != loaded.weights.shape.vocabulary) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}: {} tokens in the tokenizer but {} in the embedding", path,
                            loaded.tokenizer->size(), loaded.weights.shape.vocabulary));
  }
  auto chat_tokens = ChatTokens::find(*loaded.tokenizer);
  if (!chat_tokens) {
    return fail(chat_tokens.error().in(path));
  }
  loaded.chat_tokens = *chat_tokens;
  loaded.hash = hash_bytes(file->bytes());
  return loaded;
}

Result<const Kernels*> choose_kernels(const std::string& wanted) {
  const auto usable = usable_kernels();
  for (const auto* kernels : usable) {
    if (wanted.empty() || wanted == kernels->name) {
      return kernels;
    }
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("--implementation {}: not known, or this processor cannot run it", wanted));
}

Result<std::string> read_key(const std::string& path) {
  std::ifstream in(path);
  std::string key;
  if (!in || !std::getline(in, key)) {
    return fail(ErrorCode::kUnavailable, fmt::format("--api-key-file {}: cannot be read", path));
  }
  while (!key.empty() && (key.back() == '\r' || key.back() == ' ')) {
    key.pop_back();
  }
  if (key.empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("--api-key-file {}: its first line is empty", path));
  }
  return key;
}

// Complete or not there: whoever waits for the file never reads half of it.
Result<> write_port(const std::string& path, std::uint16_t port) {
  const auto temporary = fmt::format("{}.{}", path, ::getpid());
  std::ofstream out(temporary, std::ios::trunc);
  out << port << '\n';
  out.close();
  if (!out || ::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail(ErrorCode::kUnavailable, fmt::format("--port-file {}: cannot be written", path));
  }
  return {};
}

// Changes with the model's bytes, the program and everything that can change an answer.
std::string fingerprint(const Options& options, std::uint64_t model_hash, std::size_t context,
                        std::string_view implementation) {
  const auto text = fmt::format("{:x} {} {} {}", model_hash, context, implementation, options.temperature);
  const auto hash = hash_bytes(std::as_bytes(std::span(text)));
  return fmt::format("fireboss-engine-{}-{:08x}", FIREBOSS_VERSION,
                     static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

class Engine {
 public:
  explicit Engine(const Options& options)
      : options_(options), started_(Clock::now()), faults_(options.fault_seed, [this] {
          return std::chrono::duration_cast<Millis>(Clock::now() - started_);
        }) {}

  [[nodiscard]] Result<> start(HttpServer& server);
  // Ends the event loop after a signal of `set`.
  net::awaitable<void> signals(HttpServer* server, net::signal_set* set, net::io_context* io);
  net::awaitable<void> end_at_signal(net::signal_set* set, net::io_context* io);
  net::awaitable<void> drill_clock();

 private:
  net::awaitable<void> drain(HttpServer* server);

  const Options& options_;
  const Clock::time_point started_;
  FaultBoard faults_;
  std::unique_ptr<Loaded> model_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Service> service_;
};

Result<> Engine::start(HttpServer& server) {
  ServiceOptions service{.model_names = options_.model_names,
                         .fingerprint = {},
                         .api_key = {},
                         .faults_enabled = options_.enable_faults,
                         .temperature = options_.temperature,
                         .started = std::time(nullptr),
                         .implementation = {}};
  if (!options_.api_key_file.empty()) {
    auto key = read_key(options_.api_key_file);
    if (!key) {
      return fail(std::move(key.error()));
    }
    service.api_key = std::move(*key);
  }
  auto kernels = choose_kernels(options_.implementation);
  if (!kernels) {
    return fail(std::move(kernels.error()));
  }
  sd_notify(0, "STATUS=loading the model");
  auto model = load_model(options_.model);
  if (!model) {
    return fail(std::move(model.error()));
  }
  model_ = std::make_unique<Loaded>(std::move(*model));
  const auto& shape = model_->weights.shape;
  const auto context = options_.context == 0 ? shape.context : options_.context;
  if (context < 2 || context > shape.context) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--ctx {}: the model was made for 2 to {} tokens", context, shape.context));
  }
  if (service.model_names.empty()) {
    service.model_names.push_back(model_->weights.name.empty() ? "model" : model_->weights.name);
  }
  service.implementation = (*kernels)->name;
  service.fingerprint = fingerprint(options_, model_->hash, context, (*kernels)->name);
  spdlog::info("model {} from {}: {} layers of {}, {} tokens in the vocabulary, context {}",
               service.model_names[0], options_.model, shape.layers, shape.width, shape.vocabulary, context);
  spdlog::info("implementation active: {}", (*kernels)->name);
  spdlog::info("system fingerprint: {}", service.fingerprint);
  scheduler_ = std::make_unique<Scheduler>(
      model_->weights, *model_->tokenizer, **kernels,
      SchedulerOptions{.context = context,
                       .slots = options_.slots,
                       .queue = options_.queue,
                       .chunk = options_.chunk,
                       .threads = options_.threads},
      Scheduler::Drill{.stalled = [this] { return faults_.applies(Fault::kStall); },
                       .pause = [this] { return faults_.pause(); },
                       .on_reply = [this](const std::string& text) { faults_.remember_reply(text); }});
  service_ = std::make_unique<Service>(std::move(service), *model_->tokenizer, model_->chat_tokens,
                                       *scheduler_, faults_);
  for (const auto& setting : options_.faults) {
    faults_.set(setting);
    spdlog::warn("fault on (drill): {}", format_fault(setting));
  }
  return server.serve(*service_);
}

net::awaitable<void> Engine::signals(HttpServer* server, net::signal_set* set, net::io_context* io) {
  for (;;) {
    const auto [error, number] = co_await set->async_wait(kAwait);
    if (error) {
      co_return;
    }
    if (number == SIGTERM && faults_.applies(Fault::kIgnoreSigterm)) {
      spdlog::warn("SIGTERM ignored (drill)");
      continue;
    }
    break;
  }
  spdlog::info("shutting down: {} requests in flight get up to {}", server->requests_in_flight(),
               humane_duration(options_.drain));
  sd_notify(0, "STOPPING=1\nSTATUS=draining");
  server->close();
  net::co_spawn(*io, end_at_signal(set, io), net::detached);
  co_await drain(server);
  io->stop();
}

// A second signal ends the wait.
net::awaitable<void> Engine::end_at_signal(net::signal_set* set, net::io_context* io) {
  const auto [error, number] = co_await set->async_wait(kAwait);
  if (!error) {
    io->stop();
  }
}

net::awaitable<void> Engine::drain(HttpServer* server) {
  net::steady_timer timer(co_await net::this_coro::executor);
  const auto wait_until = [&](Clock::time_point deadline) -> net::awaitable<void> {
    while (server->requests_in_flight() > 0 && Clock::now() < deadline) {
      timer.expires_after(kTick);
      (void)co_await timer.async_wait(kAwait);
    }
  };
  co_await wait_until(Clock::now() + options_.drain);
  const auto left = server->requests_in_flight();
  if (left > 0) {
    spdlog::warn("{} requests are cut off", left);
  }
  scheduler_->stop();
  // The last replies, now errors, are still written.
  co_await wait_until(Clock::now() + std::chrono::seconds(1));
}

// Faults that end the process by time rather than by a request.
net::awaitable<void> Engine::drill_clock() {
  net::steady_timer timer(co_await net::this_coro::executor);
  for (;;) {
    if (const auto fault = faults_.due_end()) {
      end_process(*fault);
    }
    timer.expires_after(kTick);
    (void)co_await timer.async_wait(kAwait);
  }
}

}  // namespace

int run_engine(const Options& options) {
  net::io_context io(1);
  HttpServer server(io, options.http);
  Engine engine(options);
  if (auto bound = server.bind(); !bound) {
    spdlog::critical("{}", bound.error().message);
    return 1;
  }
  if (auto started = engine.start(server); !started) {
    spdlog::critical("{}", started.error().message);
    return 1;
  }
  // Before READY=1: who is ready can be stopped.
  net::signal_set set(io, SIGTERM, SIGINT);
  net::co_spawn(io, engine.signals(&server, &set, &io), net::detached);
  if (options.enable_faults) {
    net::co_spawn(io, engine.drill_clock(), net::detached);
  }
  spdlog::info("listening on {}:{}", options.http.host, server.port());
  if (!options.port_file.empty()) {
    if (auto written = write_port(options.port_file, server.port()); !written) {
      spdlog::critical("{}", written.error().message);
      return 1;
    }
  }
  sd_notify(0, fmt::format("READY=1\nSTATUS=serving on port {}", server.port()).c_str());
  io.run();
  spdlog::info("ended");
  return 0;
}

}  // namespace fireboss::engine
