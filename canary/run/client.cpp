#include "canary/run/client.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/system/system_error.hpp>

#include "canary/run/connection.h"

namespace fireboss::canary {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// A canary's replies are short; longer ones only cost more reads.
constexpr std::size_t kReplyReserve = 16 * 1024;

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

// Everything but target and body. An error names the part, never its value.
Result<Connection::HttpRequest> make_request(http::verb verb, const std::string& target,
                                             const std::vector<std::pair<std::string, std::string>>& headers,
                                             const std::string& api_key, const std::string& authority) {
  if (has_control(target) || target.find(' ') != std::string::npos || target.substr(0, 1) != "/") {
    return fail(ErrorCode::kInvalid, "the target must be a path without spaces");
  }
  if (has_control(api_key)) {
    return fail(ErrorCode::kInvalid, "the API key holds a control character such as a line break");
  }
  Connection::HttpRequest request(verb, target, 11);
  request.set(http::field::host, authority);
  request.set(http::field::user_agent, "fireboss");
  request.set(http::field::accept_encoding, "identity");
  for (const auto& [name, value] : headers) {
    if (has_control(value)) {
      return fail(ErrorCode::kInvalid, "the header " + name + " holds a control character");
    }
    request.set(name, value);
  }
  if (!api_key.empty()) {
    request.set(http::field::authorization, "Bearer " + api_key);
  }
  return request;
}

CallResult not_made(Fault why, const std::string& words) {
  CallResult result;
  result.response.fault = why;
  result.response.error = words;
  return result;
}

asio::awaitable<void> run_calls(Request& request, RunResult& result) {
  Connection connection(co_await asio::this_coro::executor, request.endpoint, request.deadlines,
                        request.limits, request.check, kReplyReserve);
  auto message = make_request(http::verb::post, request.target, request.headers, request.api_key,
                              connection.authority());
  Fault ended = Fault::kNone;
  std::string words;
  if (!message) {
    ended = Fault::kNotSent;
    words = message.error().message;
  } else {
    if (message->count(http::field::content_type) == 0)
      message->set(http::field::content_type, "application/json");
  }
  for (Request::Call& call : request.calls) {
    if (ended == Fault::kNone) {
      message->set(http::field::accept, call.stream ? "text/event-stream" : "application/json");
      message->body() = std::move(call.body);
      message->prepare_payload();
      result.calls.push_back(co_await connection.exchange(*message, call.stream));
      const Response& response = result.calls.back().response;
      // Another's listener stays another's, one that could not be checked is not checked again at once, and a
      // called-off run asks nothing more.
      if (response.fault == Fault::kPortInUse || response.fault == Fault::kUnchecked ||
          response.fault == Fault::kCanceled) {
        ended = response.fault;
        words = response.error;
      }
    } else {
      result.calls.push_back(not_made(ended, words));
    }
  }
}

ErrorCode code_of(Fault fault) {
  switch (fault) {
    case Fault::kTimeout:
      return ErrorCode::kTimeout;
    case Fault::kPortInUse:
      return ErrorCode::kDenied;
    case Fault::kTooLarge:
    case Fault::kNotHttp:
    case Fault::kNotSent:
      return ErrorCode::kInvalid;
    case Fault::kUnchecked:
      return ErrorCode::kInternal;
    case Fault::kNone:
    case Fault::kRefused:
    case Fault::kUnreachable:
    case Fault::kReset:
    case Fault::kDns:
    case Fault::kTls:
    case Fault::kCanceled:
      return ErrorCode::kUnavailable;
  }
  return ErrorCode::kUnavailable;
}

// Told apart is what asking again does not change: no such page, or not for us. 503, 429 and the like are
// what an engine says that is loading or busy.
ErrorCode code_of_status(int status) {
  constexpr int kTimeout = 408, kTooMany = 429, kNotImplemented = 501;
  if (status == 401 || status == 403)
    return ErrorCode::kDenied;
  if ((status / 100 == 4 && status != kTimeout && status != kTooMany) || status == kNotImplemented)
    return ErrorCode::kNotFound;
  return status / 100 == 3 ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
}

asio::awaitable<Result<std::string>> get_page(Get& get) {
  Connection connection(co_await asio::this_coro::executor, get.endpoint, get.deadlines, get.limits,
                        get.check, get.reserve_bytes);
  auto message = make_request(http::verb::get, get.target, get.headers, get.api_key, connection.authority());
  if (!message) {
    co_return fail(message.error().in(connection.authority()));
  }
  message->keep_alive(false);
  CallResult got = co_await connection.exchange(*message, false);
  Response& response = got.response;
  if (response.fault != Fault::kNone) {
    co_return fail(code_of(response.fault),
                   response.error + " (" + std::string(to_string(response.fault)) + ")");
  }
  if (response.http_status != 200) {
    const int status = response.http_status.value_or(0);
    co_return fail(code_of_status(status),
                   connection.authority() + ": GET " + get.target + ": status " + std::to_string(status));
  }
  co_return std::move(response.body);
}

}  // namespace

// A cancellation that comes between two operations is thrown at the next co_await, not returned by one.
asio::awaitable<RunResult> run(Request request) {
  RunResult result;
  Failure failure{Fault::kNotSent, {}};
  try {
    co_await run_calls(request, result);
  } catch (const boost::system::system_error& error) {
    failure = failure_of(error.code());
  } catch (const std::exception& error) {
    failure.words = error.what();
  }
  while (result.calls.size() < request.calls.size()) {
    result.calls.push_back(not_made(failure.fault, failure.words));
  }
  co_return result;
}

asio::awaitable<Result<std::string>> http_get(Get get) {
  Result<std::string> result;
  try {
    result = co_await get_page(get);
  } catch (const boost::system::system_error& error) {
    result = fail(code_of(failure_of(error.code()).fault), error.code().message());
  } catch (const std::exception& error) {
    result = fail(ErrorCode::kInternal, error.what());
  }
  co_return result;
}

asio::awaitable<Result<std::string>> fetch_models(Get get, std::string base_path) {
  get.target = std::move(base_path) + "/models";
  co_return co_await http_get(std::move(get));
}

}  // namespace fireboss::canary
