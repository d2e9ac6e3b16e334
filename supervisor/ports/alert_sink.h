#pragma once
// Where alerts go: one object a configured sink. Who delivers, how often, and what becomes of a failure is
// the caller's business; a sink tries once.
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <tl/expected.hpp>

#include "base/result.h"
#include "base/time.h"

namespace fireboss::ports {

// What is told. `text` may quote others' words; it is UTF-8 or not, of any length: each sink bounds and
// escapes what it passes on.
struct Notice {
  // The same for every notice about one alert, firing or resolved, and for no other alert: what a receiver
  // deduplicates by. notice_id() makes it.
  std::string id;
  std::string host;      // of this machine
  std::string engine;    // "" for an alert that is about none
  std::string key;       // the alert's kind and subject, "R2/chat"; equal keys of an engine are one alert
  std::string severity;  // info, warning, critical
  std::string text;
  WallTime raised{};
  std::optional<WallTime> resolved;  // nullopt: firing
  bool test = false;                 // nothing is wrong: `fireboss alert test`
};

// 32 hex digits. The raise's time tells two episodes of one key apart.
[[nodiscard]] std::string notice_id(const std::string& host, const std::string& engine,
                                    const std::string& key, WallTime raised);

// Why a delivery failed, and what to do about it. Holds no secret of the sink, neither its URL's path nor a
// token.
struct NotDelivered : Error {
  std::optional<Millis> retry_after;  // as the receiver asked for (429, 503), bounded to an hour
};
using Delivered = tl::expected<void, NotDelivered>;

class AlertSink {
 public:
  virtual ~AlertSink() = default;

  // As configured: [alerts.sink.NAME].
  [[nodiscard]] virtual const std::string& name() const = 0;

  // Tells it once. Takes at most kDeliveryDeadline, and waits without blocking the event loop. Success: the
  // receiver has taken it. A failure leaves open whether it has (the answer may have been lost).
  virtual boost::asio::awaitable<Delivered> deliver(Notice notice) = 0;
};

inline constexpr Millis kDeliveryDeadline{10'000};

}  // namespace fireboss::ports
