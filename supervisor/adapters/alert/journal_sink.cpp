#include "supervisor/adapters/alert/journal_sink.h"

#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

// Only the entry itself: no file, line and function of this place in it.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "supervisor/adapters/alert/notice_text.h"

namespace fireboss::alert {
namespace {

ports::Delivered failed(int number, const std::string& what) {
  ports::NotDelivered out;
  out.code = ErrorCode::kUnavailable;
  out.message = what + ": " + std::strerror(number) + " (does systemd-journald run?)";
  return ports::Delivered(tl::unexpect, std::move(out));
}

}  // namespace

JournalSink::JournalSink(std::string name, std::string link, std::string socket)
    : name_(std::move(name)), link_(std::move(link)), socket_(std::move(socket)) {}

boost::asio::awaitable<ports::Delivered> JournalSink::deliver(ports::Notice notice) {
  if (access(socket_.c_str(), W_OK) != 0)
    co_return failed(errno, socket_);
  std::vector<std::string> lines;
  for (const auto& [field, value] : journal_fields(notice, link_))
    lines.push_back(field + "=" + value);
  std::vector<iovec> parts;
  parts.reserve(lines.size());
  for (auto& line : lines)
    parts.push_back({line.data(), line.size()});
  if (const int sent = sd_journal_sendv(parts.data(), static_cast<int>(parts.size())); sent < 0)
    co_return failed(-sent, "journal");
  co_return ports::Delivered();
}

}  // namespace fireboss::alert
