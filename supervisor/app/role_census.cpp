#include "supervisor/app/role_census.h"

#include <algorithm>
#include <utility>

namespace fireboss::app {
namespace {

constexpr Millis kEvery{15'000};

}  // namespace

RoleCensus::RoleCensus(std::vector<std::string> roles, Millis confirm)
    : roles_(std::move(roles)), confirm_(confirm) {}

std::optional<policy::Census> RoleCensus::on_look(const std::string& life,
                                                  const std::vector<std::string>& commands, MonoTime now) {
  std::vector<std::string> missing;
  for (const auto& role : roles_)
    if (std::none_of(commands.begin(), commands.end(),
                     [&](const std::string& command) { return command.find(role) != std::string::npos; }))
      missing.push_back(role);
  if (life != life_) {
    life_ = life;
    missing_.clear();
  }
  if (missing != missing_) {
    missing_ = missing;
    since_ = now;
    confirmed_ = false;
    return policy::Census{life, std::move(missing)};
  }
  if (missing_.empty() || confirmed_ || now - since_ < confirm_)
    return std::nullopt;
  confirmed_ = true;
  return policy::Census{life, std::move(missing)};
}

Millis RoleCensus::next_look() const {
  return missing_.empty() || confirmed_ ? kEvery : confirm_;
}

}  // namespace fireboss::app
