#pragma once
// The control socket: a Unix stream socket, one JSON object a line. A request {"verb": ..., ...} is answered
// by any number of {"progress": TEXT} lines and one {"result": ...} or {"error": {"code", "message"}} line.
// Who may change things is decided by the kernel's peer credentials, never by what the request says.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::app {

// The process on the other end, by SO_PEERCRED.
struct Peer {
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
};

// Tells the waiting operator how far a long request is; dropped silently once the client has gone.
using Progress = std::function<void(std::string_view)>;

struct ControlVerb {
  std::string name;
  bool changes_things = true;  // only for those who may
  std::function<boost::asio::awaitable<Result<boost::json::value>>(boost::json::object, Peer, Progress)> run;
};

// How long a client may keep its place, of which there are 32, without doing its part: until its request line
// is complete, and until it has read a line of the answer. Then it is disconnected.
struct Patience {
  Millis request{10'000}, answer{10'000};
};

class ControlServer {
 public:
  // `allowed_uids` may change things besides root and the uid of this process. What a verb throws comes out
  // of the event loop.
  ControlServer(boost::asio::any_io_executor executor, std::vector<ControlVerb> verbs,
                std::vector<std::uint32_t> allowed_uids, Patience patience = {});
  ~ControlServer();

  // Binds the socket at `path` with mode 0660. The socket of a dead predecessor is replaced; a live one is
  // kBusy, anything but a socket is left there: kInvalid. kNotFound: the folder is missing. kDenied: it may
  // not be written. kFull, kUnavailable: trouble that may pass.
  Result<void> listen(const std::string& path);
  // No new connections; requests in progress go on until their owner ends the loop. Removes the socket file.
  void close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fireboss::app
