#include "supervisor/app/port_silence.h"

namespace fireboss::app {

std::optional<policy::PortBytes> PortSilence::on_run(std::int64_t timed_out_runs,
                                                     std::optional<std::uint64_t> bytes_sent) {
  if (timed_out_runs == 0) {
    reset();
    return std::nullopt;
  }
  if (!since_) {
    since_ = bytes_sent;
    return std::nullopt;
  }
  if (auto moved = on_look(bytes_sent); moved || !since_)
    return moved;
  if (timed_out_runs < 2 || told_)
    return std::nullopt;
  told_ = true;
  return policy::PortBytes{.any_sent = false};
}

std::optional<policy::PortBytes> PortSilence::on_look(std::optional<std::uint64_t> bytes_sent) {
  if (!since_ || bytes_sent == since_)
    return std::nullopt;
  reset();
  if (!bytes_sent)
    return std::nullopt;  // nothing is known of the time until now: it begins anew with the next run
  return policy::PortBytes{.any_sent = true};
}

}  // namespace fireboss::app
