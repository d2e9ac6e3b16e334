#include "supervisor/adapters/sdbus/properties.h"

#include <array>
#include <string_view>

#include <systemd/sd-id128.h>

#include "supervisor/adapters/sdbus/bus_error.h"

namespace fireboss::sdbus {
namespace {

// Each reader consumes one variant and returns sd-bus's return value.
int read_text(sd_bus_message* m, std::string& out) {
  const char* text = nullptr;
  const int r = sd_bus_message_read(m, "v", "s", &text);
  if (r >= 0 && text != nullptr)
    out = text;
  return r;
}

int read_number(sd_bus_message* m, std::uint32_t& out) {
  return sd_bus_message_read(m, "v", "u", &out);
}

int read_int(sd_bus_message* m, int& out) {
  std::int32_t value = 0;
  const int r = sd_bus_message_read(m, "v", "i", &value);
  out = value;
  return r;
}

int read_usec(sd_bus_message* m, MonoTime& out) {
  std::uint64_t usec = 0;
  const int r = sd_bus_message_read(m, "v", "t", &usec);
  out = MonoTime{Millis{static_cast<std::int64_t>(usec / 1000)}};
  return r;
}

int read_invocation(sd_bus_message* m, std::string& out) {
  int r = sd_bus_message_enter_container(m, 'v', "ay");
  if (r < 0)
    return r;
  const void* bytes = nullptr;
  std::size_t size = 0;
  r = sd_bus_message_read_array(m, 'y', &bytes, &size);
  if (r < 0)
    return r;
  sd_id128_t id{};
  if (size == sizeof id.bytes) {
    std::copy_n(static_cast<const std::uint8_t*>(bytes), size, id.bytes);
    std::array<char, SD_ID128_STRING_MAX> text{};
    if (sd_id128_is_null(id) == 0)
      out = sd_id128_to_string(id, text.data());
  }
  return sd_bus_message_exit_container(m);
}

int append_texts(sd_bus_message* m, std::vector<std::string>& out) {
  int r = sd_bus_message_enter_container(m, 'v', "as");
  if (r < 0)
    return r;
  r = sd_bus_message_enter_container(m, 'a', "s");
  if (r < 0)
    return r;
  const char* text = nullptr;
  while ((r = sd_bus_message_read(m, "s", &text)) > 0)
    out.emplace_back(text);
  if (r < 0)
    return r;
  r = sd_bus_message_exit_container(m);
  return r < 0 ? r : sd_bus_message_exit_container(m);
}

int read_job(sd_bus_message* m, std::uint32_t& out) {
  const char* path = nullptr;
  return sd_bus_message_read(m, "v", "(uo)", &out, &path);
}

// a(sasbttttuii): path, argv, ignore failure, times, pid, code, status. The argv of the first command is
// kept: everything but Type=oneshot has exactly one.
int read_exec(sd_bus_message* m, std::vector<std::string>& out) {
  int r = sd_bus_message_enter_container(m, 'v', "a(sasbttttuii)");
  if (r < 0)
    return r;
  r = sd_bus_message_enter_container(m, 'a', "(sasbttttuii)");
  if (r < 0)
    return r;
  bool first = true;
  while ((r = sd_bus_message_enter_container(m, 'r', "sasbttttuii")) > 0) {
    r = sd_bus_message_skip(m, "s");
    if (r < 0)
      return r;
    char** argv = nullptr;
    r = sd_bus_message_read_strv(m, &argv);
    if (r < 0)
      return r;
    for (char** arg = argv; arg != nullptr && *arg != nullptr; ++arg) {
      if (first)
        out.emplace_back(*arg);
      free(*arg);
    }
    free(argv);
    first = false;
    r = sd_bus_message_skip(m, "bttttuii");
    if (r < 0)
      return r;
    r = sd_bus_message_exit_container(m);
    if (r < 0)
      return r;
  }
  if (r < 0)
    return r;
  r = sd_bus_message_exit_container(m);
  return r < 0 ? r : sd_bus_message_exit_container(m);
}

int read_one(sd_bus_message* m, std::string_view name, UnitProperties& out) {
  auto& s = out.snapshot;
  if (name == "LoadState")
    return read_text(m, s.load_state);
  if (name == "ActiveState") {
    std::string word;
    const int r = read_text(m, word);
    s.active = to_active_state(word);
    return r;
  }
  if (name == "SubState")
    return read_text(m, s.sub_state);
  if (name == "InvocationID")
    return read_invocation(m, s.invocation_id);
  if (name == "Type")
    return read_text(m, s.type);
  if (name == "Restart")
    return read_text(m, s.restart);
  if (name == "Result")
    return read_text(m, s.result);
  if (name == "ExecMainCode")
    return read_int(m, s.exec_main_code);
  if (name == "ExecMainStatus")
    return read_int(m, s.exec_main_status);
  if (name == "MainPID")
    return read_number(m, s.main_pid);
  if (name == "NRestarts")
    return read_number(m, s.n_restarts);
  if (name == "InactiveExitTimestampMonotonic")
    return read_usec(m, s.inactive_exit);
  if (name == "ControlGroup")
    return read_text(m, s.control_group);
  if (name == "Job")
    return read_job(m, s.job_id);
  if (name == "ExecStart")
    return read_exec(m, s.exec_start);
  if (name == "DropInPaths")
    return append_texts(m, s.drop_ins);
  if (name == "FragmentPath")
    return read_text(m, s.fragment_path);
  if (name == "RequiredBy" || name == "BoundBy" || name == "ConsistsOf")
    return append_texts(m, out.reached);
  return sd_bus_message_skip(m, "v");
}

}  // namespace

Result<UnitProperties> read_properties(sd_bus_message* reply, const std::string& unit) {
  UnitProperties out;
  out.snapshot.unit = unit;
  int r = sd_bus_message_enter_container(reply, 'a', "{sv}");
  while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
    const char* name = nullptr;
    r = sd_bus_message_read(reply, "s", &name);
    if (r >= 0)
      r = read_one(reply, name, out);
    if (r < 0)
      return fail(errno_error(r, unit + ": property " + (name == nullptr ? "?" : name)));
    r = sd_bus_message_exit_container(reply);
  }
  if (r < 0)
    return fail(errno_error(r, unit + ": properties"));
  return out;
}

}  // namespace fireboss::sdbus
