#include "supervisor/daemon/log.h"

#include <cstdlib>
#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace fireboss::daemon_log {
namespace {

// sd-daemon(3): "<6>text". Numbers are syslog's.
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const auto priority = [&] {
      switch (message.level) {
        case spdlog::level::critical:
          return '2';
        case spdlog::level::err:
          return '3';
        case spdlog::level::warn:
          return '4';
        case spdlog::level::info:
          return '6';
        default:  // debug, trace, and levels that spdlog may add
          return '7';
      }
    }();
    out.push_back(priority);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }
};

}  // namespace

void set_up(const std::string& level) {
  auto logger =
      std::make_shared<spdlog::logger>("firebossd", std::make_shared<spdlog::sinks::stderr_sink_st>());
  if (std::getenv("JOURNAL_STREAM") != nullptr) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<JournalPriority>('*').set_pattern("<%*>%v");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  }
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace fireboss::daemon_log
