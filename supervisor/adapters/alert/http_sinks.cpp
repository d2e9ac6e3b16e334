#include "supervisor/adapters/alert/http_sinks.h"

#include <utility>

#include "supervisor/adapters/alert/notice_text.h"

namespace fireboss::alert {
namespace asio = boost::asio;
namespace {

constexpr auto kJson = "application/json";

}  // namespace

WebhookSink::WebhookSink(std::string name, std::string link, HttpPoster poster)
    : name_(std::move(name)), link_(std::move(link)), poster_(std::move(poster)) {}

asio::awaitable<ports::Delivered> WebhookSink::deliver(ports::Notice notice) {
  co_return co_await poster_.post("", "", kJson, webhook_body(notice, link_));
}

AlertmanagerSink::AlertmanagerSink(std::string name, std::string link, HttpPoster poster,
                                   const ports::Clock& clock)
    : name_(std::move(name)), link_(std::move(link)), poster_(std::move(poster)), clock_(clock) {}

asio::awaitable<ports::Delivered> AlertmanagerSink::deliver(ports::Notice notice) {
  co_return co_await poster_.post("/api/v2/alerts", "", kJson,
                                  alertmanager_body(notice, link_, clock_.wall()));
}

}  // namespace fireboss::alert
