#pragma once
// The asynchronous HTTP/1.1 client, over TLS where asked for, bounded in size and time; it never judges.
// No redirect is followed and no content encoding accepted. Every function can be cancelled by the
// awaiting coroutine's cancellation slot; it then returns with Fault::kCanceled. None throws. All must run on
// an executor that runs one handler at a time.
//
// note: a name is resolved by the C library in a thread of Asio's, which nothing can interrupt; a deadline
// ends the waiting, not the thread, and the io_context's destructor waits for it. Addresses need no thread.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "base/time.h"
#include "canary/grade/response.h"
#include "canary/suite/deadlines.h"

namespace boost::asio::ssl {
class context;
}

namespace fireboss::canary {

struct Endpoint {
  std::string host;  // an address, or a name to resolve
  std::uint16_t port = 0;
  // Authorities to verify the server and its host name by; nullptr: plain HTTP.
  std::shared_ptr<boost::asio::ssl::context> tls{};
};

// Who answers on the other end? Called after connecting and before the first byte is sent on a connection.
// After an error nothing is sent. kBusy: another than the engine, the calls end with Fault::kPortInUse.
// kUnavailable: nobody any more, Fault::kRefused. Any other: it could not be found out, Fault::kUnchecked.
// Runs on the event loop: must be short.
using ListenerCheck = std::function<Result<void>(const boost::asio::ip::tcp::endpoint& remote)>;

struct Request {
  Endpoint endpoint;
  std::string target;  // "/v1/chat/completions"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string api_key;  // "" = none; sent as a bearer token, in no message or log
  struct Call {
    std::string body;
    bool stream = false;
  };
  std::vector<Call> calls;  // one after another, on one connection if the server keeps it
  Deadlines deadlines;
  Limits limits;
  ListenerCheck check;  // empty: any listener will do
};

struct CallResult {
  Response response;
  bool reused_connection = false;
  std::string retry_after;  // the header as it came; "": none
};

struct RunResult {
  std::vector<CallResult> calls;  // as many as were asked for
};

[[nodiscard]] boost::asio::awaitable<RunResult> run(Request request);

// One GET; the body of a 200. Any other status, and any fault, is an error that names it: kNotFound if the
// server answered that there is no such page (4xx, 501), kDenied that it is not for us (401, 403).
struct Get {
  Endpoint endpoint;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string api_key;
  Deadlines deadlines;
  Limits limits;
  ListenerCheck check;
  // What the answer is expected to need: read in few calls instead of many (a metrics page is 130 KB).
  std::size_t reserve_bytes = 256 * 1024;
};
[[nodiscard]] boost::asio::awaitable<Result<std::string>> http_get(Get get);

// GET base_path/models: its text, for parse_models().
[[nodiscard]] boost::asio::awaitable<Result<std::string>> fetch_models(Get get, std::string base_path);

}  // namespace fireboss::canary
