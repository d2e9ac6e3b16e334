#pragma once
// The sinks that are told by HTTP: a generic webhook, and Prometheus's Alertmanager.
#include <string>

#include "supervisor/adapters/alert/http_post.h"
#include "supervisor/ports/alert_sink.h"
#include "supervisor/ports/clock.h"

namespace fireboss::alert {

class WebhookSink final : public ports::AlertSink {
 public:
  WebhookSink(std::string name, std::string link, HttpPoster poster);
  [[nodiscard]] const std::string& name() const override { return name_; }
  boost::asio::awaitable<ports::Delivered> deliver(ports::Notice notice) override;

 private:
  std::string name_, link_;
  HttpPoster poster_;
};

// The URL is the Alertmanager's root, with its --web.route-prefix if it has one.
class AlertmanagerSink final : public ports::AlertSink {
 public:
  AlertmanagerSink(std::string name, std::string link, HttpPoster poster, const ports::Clock& clock);
  [[nodiscard]] const std::string& name() const override { return name_; }
  boost::asio::awaitable<ports::Delivered> deliver(ports::Notice notice) override;

 private:
  std::string name_, link_;
  HttpPoster poster_;
  const ports::Clock& clock_;
};

}  // namespace fireboss::alert
