#include "supervisor/app/journal_watch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace fireboss::app {
namespace {

constexpr std::size_t kMostPids = 4'096;
constexpr std::size_t kMostWaiting = 256;

enum class Speaker { kKernel, kManager, kUnit, kNobody };

// Whose words a signature is about: the part of its name before the dot says so.
Speaker speaker_of(std::string_view name) {
  const auto family = name.substr(0, name.find('.'));
  if (family == "kernel" || family == "nvidia" || family == "amdgpu")
    return Speaker::kKernel;
  if (family == "systemd")
    return Speaker::kManager;
  // What is about this host or this monitor is learnt otherwise (section 3.8, R8).
  if (family == "monitor" || name == "host.suspended" || name == "host.clock_changed")
    return Speaker::kNobody;
  return Speaker::kUnit;
}

Speaker speaker_of(const ports::JournalLine& line) {
  return line.from_kernel ? Speaker::kKernel : line.from_manager ? Speaker::kManager : Speaker::kUnit;
}

constexpr std::string_view kHardware = "gpu_fault_hw";

// An Xid line names the process by "pid=250" or "pid='<unknown>'", whatever its number; not every signature
// of one asks for it, since a hardware fault counts for who scans a whole log.
std::optional<std::uint32_t> xid_process(std::string_view text) {
  const auto at = text.find("pid=");
  if (text.find("Xid") == std::string_view::npos || at == std::string_view::npos)
    return std::nullopt;
  auto digits = text.substr(at + 4);
  if (digits.starts_with('\''))
    digits.remove_prefix(1);
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  return error == std::errc{} ? std::optional(pid) : std::nullopt;
}

// "Process 12345 has 60 GiB memory in use" speaks of memory that is held by somebody else, unless that is one
// of the engine's own.
bool of_others(const std::string& signature_class) {
  return signature_class == "vram_held";
}

}  // namespace

JournalWatch::JournalWatch(const probes::SignatureSet& signatures, std::string unit)
    : signatures_(signatures), unit_(std::move(unit)) {}

void JournalWatch::begin(const std::string& life) {
  if (life.empty() || life == now_.id)
    return;
  before_ = std::exchange(now_, Life{.id = life, .pids = {}, .counts = {}});
}

void JournalWatch::know_process(std::uint32_t pid) {
  if (pid != 0 && now_.pids.size() < kMostPids)
    now_.pids.insert(pid);
}

JournalWatch::Life* JournalWatch::life_of(std::uint32_t pid) {
  if (now_.pids.contains(pid))
    return &now_;
  return before_.pids.contains(pid) ? &before_ : nullptr;
}

JournalWatch::Found JournalWatch::look_at(std::string_view text, const ports::JournalLine& line) const {
  Found found;
  if (signatures_.find(text, 0) == std::string_view::npos)
    return found;
  probes::Whose whose;
  whose.unit = unit_;
  for (const auto i : signatures_.match(text, whose)) {
    const auto& signature = signatures_.all()[i];
    const auto speaker = speaker_of(signature.name);
    if (speaker != speaker_of(line))
      continue;
    // A death is what the life's end says, and by which job.
    if (speaker == Speaker::kManager && signature.signature_class == "engine_dead")
      continue;
    auto pid = signatures_.pid_of(i, text);
    if (!pid && speaker == Speaker::kKernel)
      pid = xid_process(text);
    if (pid) {
      const bool others = of_others(signature.signature_class);
      const auto same = std::find_if(found.by_process.begin(), found.by_process.end(), [&](const Waiting& w) {
        return w.pid == *pid && w.of_others == others;
      });
      if (same != found.by_process.end())
        same->classes.insert(signature.signature_class);
      else
        found.by_process.push_back({*pid, {signature.signature_class}, others});
    } else if (speaker != Speaker::kKernel || signature.signature_class == kHardware) {
      found.classes.insert(signature.signature_class);
    }
  }
  return found;
}

void JournalWatch::count(Events& events, Life& life, const std::string& signature_class,
                         const std::string& told_life) {
  auto& count = life.counts[told_life.empty() ? signature_class + "/host" : signature_class];
  if (++count.seen < 2 * count.told)
    return;
  count.told = count.seen;
  events.push_back({signature_class, count.seen, told_life});
}

void JournalWatch::settle(Events& events, const Waiting& waiting) {
  auto* life = life_of(waiting.pid);
  if (waiting.of_others == (life != nullptr))
    return;
  if (life == nullptr)
    life = &now_;
  if (life->id.empty())
    return;
  for (const auto& signature_class : waiting.classes)
    count(events, *life, signature_class, life->id);
}

JournalWatch::Events JournalWatch::on_line(const ports::JournalLine& line) {
  Events events;
  const bool of_former = !line.invocation_id.empty() && line.invocation_id == before_.id;
  auto& life = of_former ? before_ : now_;
  if (life.id.empty() && !line.from_kernel)
    return events;
  std::string_view rest = line.message;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    auto found = look_at(rest.substr(0, end), line);
    for (const auto& signature_class : found.classes)
      count(events, life, signature_class, line.from_kernel ? "" : life.id);
    for (auto& named : found.by_process) {
      if (life_of(named.pid) != nullptr) {
        settle(events, named);
      } else if (waiting_.size() < kMostWaiting) {
        waiting_.push_back(std::move(named));
      } else {
        ++dropped_;
      }
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return events;
}

JournalWatch::Events JournalWatch::on_processes(const std::vector<std::uint32_t>& pids) {
  Events events;
  for (const auto pid : pids)
    know_process(pid);
  for (const auto& waiting : std::exchange(waiting_, {}))
    settle(events, waiting);
  return events;
}

}  // namespace fireboss::app
