#include "supervisor/adapters/alert/sinks.h"

#include <array>
#include <unistd.h>
#include <utility>

#include "supervisor/adapters/alert/exec_sink.h"
#include "supervisor/adapters/alert/http_sinks.h"
#include "supervisor/adapters/alert/journal_sink.h"

namespace fireboss::alert {

std::vector<std::unique_ptr<ports::AlertSink>> make_sinks(const config::Alerts& alerts,
                                                          const ports::Clock& clock,
                                                          const SinkOptions& options) {
  std::vector<std::unique_ptr<ports::AlertSink>> sinks;
  for (const auto& sink : alerts.sinks) {
    HttpPoster poster(sink.target, sink.token_credential, options.unit, "", options.deadline);
    switch (sink.type) {  // no default: a new type must be made here
      case config::SinkType::kWebhook:
        sinks.push_back(std::make_unique<WebhookSink>(sink.name, alerts.link, std::move(poster)));
        break;
      case config::SinkType::kAlertmanager:
        sinks.push_back(std::make_unique<AlertmanagerSink>(sink.name, alerts.link, std::move(poster), clock));
        break;
      case config::SinkType::kExec:
        sinks.push_back(
            std::make_unique<ExecSink>(sink.name, alerts.link, options.exec_folder, options.deadline));
        break;
      case config::SinkType::kJournal:
        sinks.push_back(std::make_unique<JournalSink>(sink.name, alerts.link));
        break;
    }
  }
  return sinks;
}

std::string host_name(const config::Alerts& alerts) {
  if (!alerts.host.empty())
    return alerts.host;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0)
    return "unknown-host";
  return name.data();
}

}  // namespace fireboss::alert
