#pragma once
// Names on the bus: org.freedesktop.systemd1(5).
#include <cstdint>
#include <string>

#include "base/result.h"

namespace fireboss::sdbus {

constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr const char* kJob = "org.freedesktop.systemd1.Job";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";
constexpr const char* kBusName = "org.freedesktop.DBus";
constexpr const char* kBusPath = "/org/freedesktop/DBus";

constexpr const char* kOwnerRule =
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/"
    "DBus',interface='org.freedesktop.DBus',"
    "member='NameOwnerChanged',arg0='org.freedesktop.systemd1'";
constexpr const char* kManagerRule =
    "type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1',"
    "interface='org.freedesktop.systemd1.Manager'";

// PropertiesChanged of the Unit interface: systemd sends one for Service and one for Unit at every change, so
// the second is enough.
[[nodiscard]] std::string changed_rule(const std::string& object_path);

// Computed here, so that no GetUnit call has to load the unit first.
[[nodiscard]] Result<std::string> unit_path(const std::string& unit);
[[nodiscard]] std::string job_path(std::uint32_t id);

}  // namespace fireboss::sdbus
