#include "engine/server/session.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "engine/chat/reply_splitter.h"
#include "engine/server/reply.h"

namespace fireboss::engine {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;

namespace {

constexpr auto kAwait = net::as_tuple(net::use_awaitable);
constexpr std::uint32_t kMaxHeader = 16 * 1024;
constexpr std::chrono::seconds kDiscardTime{2};
constexpr std::size_t kMaxDiscarded = 4 * 1024 * 1024;

using Request = http::request<http::string_body>;
using Stream = std::shared_ptr<beast::tcp_stream>;
using Channel = net::experimental::concurrent_channel<void(boost::system::error_code, ReplyEvent)>;

// What vLLM tells a caller whose request met a dead engine.
constexpr const char* kEngineDead =
    "EngineCore encountered an issue. See stack trace (above) for the root cause.";

// Counts a request from its header to its last byte.
class InFlight {
 public:
  explicit InFlight(std::size_t& count) : count_(count) { ++count_; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { --count_; }

 private:
  std::size_t& count_;
};

// Cancels the job when the client closes its side while it waits for the reply.
struct Watch {
  bool over = false;
};

net::awaitable<void> watch_client(Stream stream, std::shared_ptr<Job> job, Scheduler& scheduler,
                                  std::shared_ptr<Watch> watch) {
  const auto [error] = co_await stream->socket().async_wait(tcp::socket::wait_read, kAwait);
  if (watch->over || error) {
    co_return;
  }
  char byte = 0;
  boost::system::error_code peeked;
  stream->socket().non_blocking(true, peeked);
  const auto size = stream->socket().receive(net::buffer(&byte, 1), net::socket_base::message_peek, peeked);
  // Bytes that are there belong to a next request: the client lives, and its end can no longer be seen.
  if (size == 0 && peeked != net::error::would_block) {
    scheduler.cancel(*job);
  }
}

class Session {
 public:
  Session(Stream stream, SessionContext& context) : stream_(std::move(stream)), context_(context) {}

  net::awaitable<void> run();

 private:
  // All return whether the connection can be used for another request.
  net::awaitable<bool> handle(const Request& request);
  net::awaitable<bool> chat(const Request& request);
  net::awaitable<bool> whole_reply(const Request& request, const Prepared& prepared, const ReplyHead& head,
                                   Channel& events);
  net::awaitable<bool> streamed_reply(const Request& request, const Prepared& prepared, const ReplyHead& head,
                                      Channel& events);
  net::awaitable<bool> write(const Request& request, unsigned status, std::string body,
                             std::string_view type = "application/json");
  net::awaitable<bool> refuse(const Request& request, unsigned status, std::string_view message) {
    co_return co_await write(request, status, error_body(status, message));
  }
  // Reads what a refused client is still sending: closing before would make the kernel answer with a reset,
  // which may overtake the error.
  net::awaitable<void> discard_rest();
  // A piece of a chunked body, "data: TEXT\n\n".
  net::awaitable<bool> send_event(std::string_view text);
  void log(const ReplyHead& head, const Prepared& prepared, const ReplyEvent& last) const;

  Stream stream_;
  SessionContext& context_;
  beast::flat_buffer buffer_;
};

unsigned status_of(const Error& error) {
  return error.code == ErrorCode::kBusy ? 429 : error.code == ErrorCode::kUnavailable ? 503 : 500;
}

// What the client is told of a reply that ended in no answer; nullopt for a good end.
std::optional<Refusal> failure(const Finish& finish) {
  switch (finish.reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return std::nullopt;
    case FinishReason::kAborted:
      return Refusal{503, finish.error};
    case FinishReason::kError:
      return Refusal{500, "the model gave no valid result: " + finish.error};
  }
  return std::nullopt;
}

Usage usage_of(const Prepared& prepared, const ReplyEvent& last) {
  return {.prompt_tokens = prepared.prompt_tokens,
          .cached_tokens = last.cached_tokens,
          .completion_tokens = last.finish->completion_tokens};
}

std::string finish_reason(const Finish& finish, const ChatRequest& chat, std::size_t calls) {
  if (finish.reason == FinishReason::kLength) {
    return "length";
  }
  // A call of a function named by the caller ends with "stop".
  return calls > 0 && chat.tool_choice != ToolChoice::kNamed ? "tool_calls" : "stop";
}

net::awaitable<void> Session::run() {
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(kMaxHeader);
    parser.body_limit(context_.options.max_body);
    stream_->expires_after(context_.options.header_timeout);
    auto [error, size] = co_await http::async_read_header(*stream_, buffer_, parser, kAwait);
    if (!error) {
      const InFlight in_flight(context_.in_flight);
      if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
        stream_->expires_after(context_.options.write_timeout);
        (void)co_await http::async_write(*stream_, go_on, kAwait);
      }
      stream_->expires_after(context_.options.body_timeout);
      auto [body_error, body_size] = co_await http::async_read(*stream_, buffer_, parser, kAwait);
      error = body_error;
      if (!error) {
        const auto request = parser.release();
        stream_->expires_never();
        const bool more = co_await handle(request);
        if (!more) {
          break;
        }
        continue;
      }
    }
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error.category() != http::make_error_code(http::error::bad_method).category()) {
      break;
    }
    Request broken;
    broken.version(11);
    broken.keep_alive(false);
    const unsigned status = error == http::error::body_limit     ? 413
                            : error == http::error::header_limit ? 431
                                                                 : 400;
    const auto why = fmt::format("the request cannot be read: {}", error.message());
    const bool written = co_await refuse(broken, status, why);
    (void)written;
    co_await discard_rest();
    break;
  }
  boost::system::error_code ignored;
  stream_->socket().shutdown(tcp::socket::shutdown_send, ignored);
}

net::awaitable<void> Session::discard_rest() {
  boost::system::error_code ignored;
  stream_->socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_->expires_after(kDiscardTime);
  std::array<char, 4096> unread{};
  for (std::size_t total = 0; total < kMaxDiscarded;) {
    const auto [error, size] = co_await stream_->async_read_some(net::buffer(unread), kAwait);
    if (error) {
      break;
    }
    total += size;
  }
}

net::awaitable<bool> Session::handle(const Request& request) {
  auto& service = *context_.service;
  std::string_view path(request.target().data(), request.target().size());
  path = path.substr(0, path.find('?'));
  const bool get = request.method() == http::verb::get;
  const bool post = request.method() == http::verb::post;
  if (path == "/health" && get) {
    if (context_.closing) {
      co_return co_await refuse(request, 503, "the engine is shutting down");
    }
    co_return co_await write(request, 200, R"({"status":"ok"})");
  }
  if (path == "/metrics" && get) {
    co_return co_await write(request, 200, service.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (context_.closing) {
    co_return co_await refuse(request, 503, "the engine is shutting down");
  }
  const auto authorization = request[http::field::authorization];
  if (!service.authorised({authorization.data(), authorization.size()})) {
    co_return co_await refuse(request, 401, "the API key is missing or wrong");
  }
  if (path == "/v1/models" && get) {
    co_return co_await write(request, 200, service.models());
  }
  if (path == "/v1/chat/completions" && post) {
    co_return co_await chat(request);
  }
  if (path == "/faults" && service.options().faults_enabled && get) {
    co_return co_await write(request, 200, service.fault_list());
  }
  if (path == "/faults" && service.options().faults_enabled && post) {
    auto changed = service.change_faults(request.body());
    if (!changed) {
      co_return co_await refuse(request, changed.error().status, changed.error().message);
    }
    spdlog::warn("faults changed: {}", *changed);
    co_return co_await write(request, 200, std::move(*changed));
  }
  const bool known =
      path == "/health" || path == "/metrics" || path == "/v1/models" || path == "/v1/chat/completions";
  const unsigned status = known ? 405 : 404;
  const auto why =
      known ? fmt::format("this method is not allowed on {}", path) : "there is nothing at this path";
  co_return co_await refuse(request, status, why);
}

net::awaitable<bool> Session::chat(const Request& request) {
  auto& service = *context_.service;
  const auto loop = co_await net::this_coro::executor;
  co_await net::post(net::bind_executor(context_.preparing, net::use_awaitable));
  auto prepared = service.prepare(request.body());
  co_await net::post(net::bind_executor(loop, net::use_awaitable));
  if (!prepared) {
    co_return co_await refuse(request, prepared.error().status, prepared.error().message);
  }
  auto faults = service.faults().on_request(prepared->chat.shape(), service.tokenizer());
  if (faults.end_process) {
    end_process(*faults.end_process);
  }
  if (faults.spoil == Spoil::kHttp500) {
    spdlog::error("EngineCore encountered an issue while serving a request (drill)");
    co_return co_await refuse(request, 500, kEngineDead);
  }
  if (faults.spoil == Spoil::kAfterStop) {
    spdlog::warn(
        "The matcher has terminated after accepting the stop token, but is trying to accept new token "
        "with id {}.",
        faults.plan->tokens.empty() ? 0 : faults.plan->tokens.front());
  }
  prepared->generate.garble = std::move(faults.plan);
  const auto channel = std::make_shared<Channel>(loop, prepared->generate.max_tokens + 16);
  auto job = service.scheduler().submit(std::move(prepared->generate), [channel](ReplyEvent event) {
    channel->try_send(boost::system::error_code{}, std::move(event));
  });
  if (!job) {
    co_return co_await refuse(request, status_of(job.error()), job.error().message);
  }
  const auto watch = std::make_shared<Watch>();
  net::co_spawn(loop, watch_client(stream_, *job, service.scheduler(), watch), net::detached);
  const ReplyHead head{.id = service.next_id(),
                       .created = std::time(nullptr),
                       .model = service.options().model_names.front(),
                       .fingerprint = service.options().fingerprint};
  bool keep = false;
  if (prepared->chat.stream) {
    keep = co_await streamed_reply(request, *prepared, head, *channel);
  } else {
    keep = co_await whole_reply(request, *prepared, head, *channel);
  }
  service.scheduler().cancel(**job);  // does nothing to a job that is done
  watch->over = true;
  boost::system::error_code ignored;
  stream_->socket().cancel(ignored);
  co_return keep;
}

net::awaitable<bool> Session::whole_reply(const Request& request, const Prepared& prepared,
                                          const ReplyHead& head, Channel& events) {
  ReplySplitter splitter(prepared.chat.tool_choice != ToolChoice::kNone);
  Choice choice;
  std::vector<TokenLogprobs> logprobs;
  const auto add = [&](ReplyPart part) {
    choice.content += part.content;
    std::move(part.calls.begin(), part.calls.end(), std::back_inserter(choice.calls));
  };
  for (;;) {
    auto [error, event] = co_await events.async_receive(kAwait);
    add(splitter.push(event.text));
    std::move(event.logprobs.begin(), event.logprobs.end(), std::back_inserter(logprobs));
    if (!event.finish) {
      continue;
    }
    log(head, prepared, event);
    if (const auto failed = failure(*event.finish)) {
      co_return co_await refuse(request, failed->status, failed->message);
    }
    add(splitter.finish());
    choice.finish_reason = finish_reason(*event.finish, prepared.chat, choice.calls.size());
    choice.stop = event.finish->stop;
    if (prepared.chat.top_logprobs) {
      choice.logprobs = logprobs_json(logprobs, context_.service->tokenizer());
    }
    const auto usage = usage_of(prepared, event);
    co_return co_await write(request, 200, completion_body(head, choice, usage));
  }
}

net::awaitable<bool> Session::streamed_reply(const Request& request, const Prepared& prepared,
                                             const ReplyHead& head, Channel& events) {
  ReplySplitter splitter(prepared.chat.tool_choice != ToolChoice::kNone);
  std::size_t calls = 0;
  bool begun = false;
  for (;;) {
    auto [error, event] = co_await events.async_receive(kAwait);
    const auto failed = event.finish ? failure(*event.finish) : std::nullopt;
    if (event.finish) {
      log(head, prepared, event);
    }
    if (!begun && failed) {
      co_return co_await refuse(request, failed->status, failed->message);
    }
    if (!begun) {
      // Not before the first token: an error until then still has its own status.
      begun = true;
      http::response<http::empty_body> header(http::status::ok, request.version());
      header.set(http::field::server, "fireboss-engine");
      header.set(http::field::content_type, "text/event-stream; charset=utf-8");
      header.set(http::field::cache_control, "no-cache");
      header.keep_alive(request.keep_alive());
      header.chunked(true);
      http::response_serializer<http::empty_body> serializer(header);
      stream_->expires_after(context_.options.write_timeout);
      const auto [wrong, size] = co_await http::async_write_header(*stream_, serializer, kAwait);
      if (wrong) {
        co_return false;
      }
      const bool sent = co_await send_event(role_chunk(head));
      if (!sent) {
        co_return false;
      }
    }
    if (failed) {
      // The status is already 200: an error event, then the end, as vLLM does it.
      co_await send_event(error_body(failed->status, failed->message));
      co_await send_event("[DONE]");
      co_return false;
    }
    Choice delta;
    auto part = splitter.push(event.text);
    if (event.finish) {
      auto rest = splitter.finish();
      part.content += rest.content;
      std::move(rest.calls.begin(), rest.calls.end(), std::back_inserter(part.calls));
    }
    delta.content = std::move(part.content);
    delta.calls = std::move(part.calls);
    if (prepared.chat.top_logprobs && !event.logprobs.empty()) {
      delta.logprobs = logprobs_json(event.logprobs, context_.service->tokenizer());
    }
    const auto first_call = calls;
    calls += delta.calls.size();
    if (event.finish) {
      delta.finish_reason = finish_reason(*event.finish, prepared.chat, calls);
      delta.stop = event.finish->stop;
    }
    if (!delta.content.empty() || !delta.calls.empty() || delta.logprobs || event.finish) {
      const bool sent = co_await send_event(delta_chunk(head, delta, first_call));
      if (!sent) {
        co_return false;
      }
    }
    if (!event.finish) {
      continue;
    }
    if (prepared.chat.include_usage) {
      co_await send_event(usage_chunk(head, usage_of(prepared, event)));
    }
    const bool sent = co_await send_event("[DONE]");
    if (!sent) {
      co_return false;
    }
    const auto [wrong, size] = co_await net::async_write(*stream_, http::make_chunk_last(), kAwait);
    co_return !wrong && request.keep_alive();
  }
}

net::awaitable<bool> Session::send_event(std::string_view text) {
  const auto line = fmt::format("data: {}\n\n", text);
  stream_->expires_after(context_.options.write_timeout);
  const auto [error, size] = co_await net::async_write(*stream_, http::make_chunk(net::buffer(line)), kAwait);
  stream_->expires_never();
  co_return !error;
}

net::awaitable<bool> Session::write(const Request& request, unsigned status, std::string body,
                                    std::string_view type) {
  http::response<http::string_body> response(static_cast<http::status>(status), request.version());
  response.set(http::field::server, "fireboss-engine");
  response.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  if (status == 429) {
    response.set(http::field::retry_after, "1");
  }
  response.keep_alive(request.keep_alive() && !context_.closing);
  response.body() = std::move(body);
  response.prepare_payload();
  stream_->expires_after(context_.options.write_timeout);
  const auto [error, size] = co_await http::async_write(*stream_, response, kAwait);
  co_return !error && response.keep_alive();
}

void Session::log(const ReplyHead& head, const Prepared& prepared, const ReplyEvent& last) const {
  constexpr const char* kReasons[] = {"stop", "length", "abort", "error"};
  const auto& finish = *last.finish;
  const auto text = fmt::format("{}: {} prompt tokens ({} cached), {} generated, {}", head.id,
                                prepared.prompt_tokens, last.cached_tokens, finish.completion_tokens,
                                kReasons[static_cast<std::size_t>(finish.reason)]);
  if (finish.reason == FinishReason::kError) {
    spdlog::error("{}: {}", text, finish.error);
  } else {
    spdlog::info("{}", text);
  }
}

}  // namespace

net::awaitable<void> serve_connection(tcp::socket socket, SessionContext& context) {
  const auto stream = std::make_shared<beast::tcp_stream>(std::move(socket));
  boost::system::error_code ignored;
  stream->socket().set_option(tcp::no_delay(true), ignored);
  Session session(stream, context);
  co_await session.run();
}

void end_process(Fault fault) {
  const auto pid = ::getpid();
  if (fault == Fault::kAbort) {
    spdlog::critical("aborting (drill)");
    spdlog::shutdown();
    std::abort();
  }
  if (fault == Fault::kExit0) {
    // The lines that vLLM leaves when its engine core dies and its API server then ends as if all were well.
    spdlog::error("(EngineCore pid={}) ERROR [core.py:1356] EngineCore encountered a fatal error.", pid);
    spdlog::error("(APIServer pid={}) ERROR [async_llm.py:940] AsyncLLM output_handler failed.", pid);
    spdlog::error("(APIServer pid={}) vllm.v1.engine.exceptions.EngineDeadError: {}", pid, kEngineDead);
    spdlog::info("(APIServer pid={}) Shutting down", pid);
    spdlog::info("(APIServer pid={}) Finished server process [{}]", pid, pid);
    spdlog::shutdown();
    std::_Exit(0);
  }
}

}  // namespace fireboss::engine
