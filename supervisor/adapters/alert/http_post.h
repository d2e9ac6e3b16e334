#pragma once
// POST to a URL that may be a secret: bounded, verified, no redirects.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "canary/run/client.h"
#include "supervisor/config/config.h"
#include "supervisor/ports/alert_sink.h"

namespace fireboss::alert {

// A URL taken apart.
struct PostTarget {
  canary::Endpoint endpoint;
  bool tls = false;
  std::string path;   // as it is written, "" for none
  std::string query;  // without '?'
};
// kInvalid: no http or https URL; the message does not quote it.
[[nodiscard]] Result<PostTarget> parse_target(const std::string& url);

class HttpPoster {
 public:
  // `unit`: whose credentials are read. The placeholder {engine} of the URL becomes `engine`.
  HttpPoster(config::HttpTarget target, std::string token_credential, std::string unit,
             std::string engine = "", Millis deadline = ports::kDeliveryDeadline);

  // Success: a 2xx came, whatever became of the rest of the answer. `below` is added to the URL's path,
  // `query` to its query. Within the deadline.
  boost::asio::awaitable<ports::Delivered> post(std::string below, std::string query,
                                                std::string content_type, std::string body);

 private:
  Result<std::string> url() const;
  Result<std::shared_ptr<boost::asio::ssl::context>> tls();

  config::HttpTarget target_;
  std::string token_credential_, unit_, engine_;
  Millis deadline_;
  std::shared_ptr<boost::asio::ssl::context> tls_;  // read once
};

}  // namespace fireboss::alert
