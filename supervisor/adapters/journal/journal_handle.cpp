#include "supervisor/adapters/journal/journal_handle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unistd.h>

#include <systemd/sd-id128.h>
#include <systemd/sd-messages.h>

namespace fireboss::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxMessage = 4'096;

// Of the kernel's lines: NVIDIA's driver, the switch's, the OOM killer's and the traces of a crash. Whose
// process it was is told by the pid in the line, elsewhere.
constexpr std::array<std::string_view, 8> kKernelWords{
    "NVRM",      "SXid",        "Out of memory", "out of memory",
    "oom-kill:", "oom_reaper:", "segfault at",   "fallen off the bus"};

// sd-journal itself says nothing when a file may not be read: it shows the others.
bool may_read_any(const fs::path& directory, bool& exists) {
  std::error_code error;
  std::vector<fs::path> candidates{directory / "system.journal"};
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    candidates.push_back(entry->path() / "system.journal");
  bool readable = false;
  for (const auto& file : candidates) {
    if (access(file.c_str(), F_OK) == 0 || errno == EACCES) {
      exists = exists || errno == EACCES || access(file.c_str(), F_OK) == 0;
      readable = readable || access(file.c_str(), R_OK) == 0;
    }
  }
  return readable;
}

Result<void> check_access(const fs::path& directory) {
  bool exists = false, readable = false;
  if (directory.empty()) {
    for (const auto* place : {"/var/log/journal", "/run/log/journal"})
      readable = may_read_any(place, exists) || readable;
  } else {
    readable = may_read_any(directory, exists);
  }
  if (readable)
    return {};
  const auto where = directory.empty() ? "/var/log/journal and /run/log/journal" : directory.string();
  if (exists)
    return fail(ErrorCode::kDenied, "the journal in " + where +
                                        " may not be read: put this user into the group systemd-journal "
                                        "(SupplementaryGroups=systemd-journal in the unit)");
  return fail(ErrorCode::kUnavailable, "there is no journal in " + where + ": does systemd-journald run?");
}

int add(sd_journal* handle, const std::string& match) {
  return sd_journal_add_match(handle, match.c_str(), 0);
}

std::string_view field(sd_journal* handle, const char* name) {
  const void* data = nullptr;
  std::size_t size = 0;
  if (sd_journal_get_data(handle, name, &data, &size) < 0)
    return {};
  const auto skip = std::strlen(name) + 1;
  return size < skip ? std::string_view{}
                     : std::string_view(static_cast<const char*>(data) + skip, size - skip);
}

template <typename Number>
Number number(std::string_view text, Number otherwise) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

}  // namespace

Error journal_error(int negative_errno, const std::string& what) {
  const int code = negative_errno < 0 ? -negative_errno : negative_errno;
  const char* words = strerrordesc_np(code);
  return {code == EACCES || code == EPERM ? ErrorCode::kDenied : ErrorCode::kUnavailable,
          what + ": " + (words != nullptr ? words : "errno " + std::to_string(code))};
}

Result<Handle> open_journal(const fs::path& directory) {
  if (const auto allowed = check_access(directory); !allowed)
    return fail(allowed.error());
  sd_journal* raw = nullptr;
  const int r = directory.empty() ? sd_journal_open(&raw, SD_JOURNAL_LOCAL_ONLY)
                                  : sd_journal_open_directory(&raw, directory.c_str(), 0);
  if (r < 0)
    return fail(journal_error(r, "journal"));
  Handle handle(raw);
  // with room for the field's name
  sd_journal_set_data_threshold(raw, kMaxMessage + 64);
  return handle;
}

Result<void> match_unit(sd_journal* handle, const std::string& unit, const std::string& invocation_id) {
  // fields that begin with an underscore are journald's own word, which no process can forge
  int r = 0;
  if (!invocation_id.empty()) {
    r = add(handle, "_SYSTEMD_INVOCATION_ID=" + invocation_id);
    if (r >= 0)
      r = sd_journal_add_disjunction(handle);
  }
  if (r >= 0)
    r = add(handle, "UNIT=" + unit);
  if (r >= 0)
    r = add(handle, "_PID=1");
  if (r >= 0)
    r = sd_journal_add_disjunction(handle);
  if (r >= 0)
    r = add(handle, "OBJECT_SYSTEMD_UNIT=" + unit);
  if (r >= 0)
    r = add(handle, "MESSAGE_ID=" SD_MESSAGE_JOURNAL_DROPPED_STR);
  if (r >= 0)
    r = sd_journal_add_disjunction(handle);
  if (r >= 0)
    r = add(handle, "_TRANSPORT=kernel");
  if (r < 0)
    return fail(journal_error(r, "journal match of " + unit));
  return {};
}

Result<void> match_invocation(sd_journal* handle, const std::string& invocation_id) {
  int r = add(handle, "_SYSTEMD_INVOCATION_ID=" + invocation_id);
  if (r >= 0)
    r = sd_journal_add_disjunction(handle);
  if (r >= 0)
    r = add(handle, "INVOCATION_ID=" + invocation_id);
  if (r >= 0)
    r = add(handle, "_PID=1");
  if (r < 0)
    return fail(journal_error(r, "journal match of invocation " + invocation_id));
  return {};
}

Result<void> match_manager(sd_journal* handle, const std::string& unit) {
  int r = add(handle, "UNIT=" + unit);
  if (r >= 0)
    r = add(handle, "_PID=1");
  if (r < 0)
    return fail(journal_error(r, "journal match of " + unit));
  return {};
}

std::optional<ports::JournalLine> read_line(sd_journal* handle) {
  ports::JournalLine line;
  line.message = std::string(field(handle, "MESSAGE").substr(0, kMaxMessage));
  line.from_kernel = field(handle, "_TRANSPORT") == "kernel";
  if (line.message.empty())
    return std::nullopt;
  if (line.from_kernel && std::ranges::none_of(kKernelWords, [&](std::string_view word) {
        return line.message.find(word) != std::string::npos;
      }))
    return std::nullopt;
  std::uint64_t usec = 0;
  if (sd_journal_get_realtime_usec(handle, &usec) >= 0)
    line.at = WallTime{Millis{static_cast<std::int64_t>(usec / 1000)}};
  line.priority = std::clamp(number(field(handle, "PRIORITY"), 6), 0, 7);
  if (line.from_kernel)
    return line;
  line.pid = number(field(handle, "_PID"), std::uint32_t{0});
  line.message_id = field(handle, "MESSAGE_ID");
  const auto about = field(handle, "UNIT");
  line.from_manager = line.pid == 1 && !about.empty();
  if (line.from_manager) {
    line.unit = about;
    line.invocation_id = field(handle, "INVOCATION_ID");
    line.job_type = field(handle, "JOB_TYPE");
    line.unit_result = field(handle, "UNIT_RESULT");
    line.exit_code = field(handle, "EXIT_CODE");
    line.exit_status = number(field(handle, "EXIT_STATUS"), 0);
  } else {
    line.unit = field(handle, "_SYSTEMD_UNIT");
    line.invocation_id = field(handle, "_SYSTEMD_INVOCATION_ID");
  }
  return line;
}

std::string cursor_of(sd_journal* handle) {
  char* text = nullptr;
  if (sd_journal_get_cursor(handle, &text) < 0)
    return {};
  std::string out = text;
  free(text);
  return out;
}

}  // namespace fireboss::journal
