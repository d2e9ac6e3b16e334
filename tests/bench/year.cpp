#include <algorithm>
#include <cstdio>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/adapters/sqlite/store.h"
#include "supervisor/app/counter_edges.h"
#include "supervisor/app/engine_core.h"
#include "supervisor/policy/names.h"
#include "tests/bench/bench.h"

namespace fireboss::bench {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Stands where it is put.
class SetClock final : public ports::Clock {
 public:
  MonoTime mono() const override { return mono_; }
  MonoTime boot() const override { return mono_; }
  WallTime wall() const override { return wall_; }
  std::string boot_id() const override { return boot_id_; }

  void set(std::string boot_id, MonoTime mono, WallTime wall) {
    boot_id_ = std::move(boot_id);
    mono_ = mono;
    wall_ = wall;
  }
  void move_to(MonoTime mono) {
    const auto to = std::max(mono, mono_);
    wall_ += to - mono_;
    mono_ = to;
  }

 private:
  std::string boot_id_;
  MonoTime mono_{};
  WallTime wall_{};
};

constexpr const char* kRecipe =
    "a run of 4 each 30 min, 1 call in 100 wrong (its reply kept), traffic that begins or ends every 10 min, "
    "one restart a week for wrong answers";
constexpr Millis kEdgeEvery = minutes{10};
constexpr std::int64_t kWrongEvery = 100;  // calls

class Life {
 public:
  Life(const config::Engine& engine, SetClock& clock, ports::Store& store)
      : engine_(engine), clock_(clock), core_(engine, clock, store, [](const policy::Decision&) {}) {}

  Result<void> restore() { return core_.restore(); }

  void begin(policy::LifeCause cause) {
    new_life();
    core_.feed(policy::DaemonStarted{core_.pending(), life_, clock_.boot_id()});
    // As firebossd says it: without, replay knows no policy to decide by.
    core_.feed(policy::Configured{engine_.policy_hash, engine_.suite.hash, std::nullopt});
    core_.feed(policy::LifeStarted{life_, cause, kFingerprint});
    core_.feed(policy::Ready{life_, kFingerprint});
    if (calibrated_)
      return;
    calibrated_ = true;
    for (const auto& variant : engine_.policy.variants)
      core_.feed(policy::Calibrated{variant, kFingerprint, 40, 0, 200, 400});
    core_.feed(policy::OperatorMode{policy::Mode::kEnforce});
  }

  void run_until(MonoTime end) {
    while (clock_.mono() < end) {
      run_due();
      auto next = std::min(end, edge_at_);
      if (const auto timer = core_.next_timer())
        next = std::min(next, std::max(*timer, clock_.mono()));
      if (next == clock_.mono() && next != edge_at_)
        next += Millis{1};
      clock_.move_to(next);
      if (clock_.mono() >= edge_at_)
        edge();
    }
    run_due();
  }

  // Two of four wrong, and what follows from it.
  void degrade() { degraded_ = true; }

  [[nodiscard]] bool clean() const { return core_.recording() && !core_.state().operation; }
  [[nodiscard]] std::string trouble() const { return core_.store_trouble(); }

 private:
  static inline const std::string kFingerprint = std::string(64, 'f');

  void new_life() {
    char text[33];
    std::snprintf(text, sizeof text, "%032llx", 0x6f9ab4d2c1e84a4dULL * ++lives_);
    life_ = text;
  }

  void run_due() {
    core_.run_due_timers();
    for (;;) {
      if (const auto step = core_.operation()) {
        if (!do_step(*step))
          return;
        continue;
      }
      const auto due = core_.canary();
      if (!due)
        return;
      ask(*due);
    }
  }

  void ask(const policy::CanaryDue& due) {
    core_.feed(policy::CanaryBegun{due.variant, due.life, due.purpose});
    clock_.move_to(clock_.mono() + seconds{3});
    std::vector<std::string> results;
    std::vector<ports::RawReply> raw;
    std::vector<ports::DayCount> counts;
    for (int i = 0; i < engine_.policy.n; ++i) {
      const bool wrong = ++calls_ % kWrongEvery == 0 || (degraded_ && i > 0);
      results.emplace_back(wrong ? "wrong_answer" : "ok");
      counts.push_back({wrong ? "calls.fail" : "calls.pass", 1});
      if (wrong)
        raw.push_back({engine_.name, due.variant, "wrong_answer", i, std::string(941, 'x')});
    }
    core_.feed(policy::CanaryResult{due.variant, due.life, std::move(results), due.purpose}, std::move(raw),
               std::move(counts));
  }

  // False: there is nothing to do yet.
  bool do_step(const policy::StepDue& due) {
    const auto end_step = [&] {
      core_.feed(policy::ActionOutcome{due.action, due.step, policy::StepResult::kDone, ""});
    };
    switch (due.step) {
      case policy::Step::kEvidence:
        core_.feed(policy::ActionOutcome{due.action, due.step, policy::StepResult::kDone, ""},
                   {{engine_.name, "unit", "evidence", 0, std::string(600, 'u')},
                    {engine_.name, "journal", "evidence", 1, std::string(4000, 'j')},
                    {engine_.name, "metrics", "evidence", 2, std::string(65536, 'm')}});
        break;
      case policy::Step::kLease:
      case policy::Step::kPreStop:
      case policy::Step::kDrain:
      case policy::Step::kPostReady:
        clock_.move_to(clock_.mono() + seconds{1});
        end_step();
        break;
      case policy::Step::kJob:
        clock_.move_to(clock_.mono() + seconds{5});
        core_.feed(policy::LifeEnded{life_, "success", 0, true, true, std::nullopt, false});
        new_life();
        degraded_ = false;
        core_.feed(policy::LifeStarted{life_, policy::LifeCause::kFirebossd, kFingerprint});
        end_step();
        break;
      case policy::Step::kReady:
        clock_.move_to(clock_.mono() + seconds{60});
        core_.feed(policy::Ready{life_, kFingerprint});
        break;
      case policy::Step::kVerify:
        if (const auto canary = core_.canary())
          ask(*canary);
        else
          return false;
        break;
    }
    return true;
  }

  void edge() {
    edge_at_ = clock_.mono() + kEdgeEvery;
    policy::Counters counters;
    counters.running = ++edges_ % 2;
    counters.waiting = 0;
    counters.prompt_tokens = 10'000'000 + edges_ * 5000;
    counters.generation_tokens = 2'000'000 + edges_ * 700;
    core_.feed(counters);
  }

  const config::Engine& engine_;
  SetClock& clock_;
  app::EngineCore core_;
  std::string life_;
  std::uint64_t lives_ = 0;
  std::int64_t calls_ = 0, edges_ = 0;
  MonoTime edge_at_{};
  bool degraded_ = false, calibrated_ = false;
};

}  // namespace

Result<void> year(const config::Engine& engine, const std::string& path, int days) {
  const clock::SystemClock now;
  auto store = sqlite::SqliteStore::open(path, sqlite::OpenMode::kCreate);
  if (!store)
    return fail(store.error());
  auto& database = (*store)->database();
  if (auto done = database.execute("PRAGMA synchronous = OFF"); !done)  // only to be quick
    return done;

  // All but the last minutes are of an earlier boot: the state that status shows is of this one.
  SetClock clock;
  clock.set("the boot before", MonoTime{hours{1}}, now.wall() - hours{24} * days);
  Life life(engine, clock, **store);
  if (auto restored = life.restore(); !restored)
    return restored;
  life.begin(policy::LifeCause::kSystemd);
  for (int day = 1; day <= days; ++day) {
    life.run_until(MonoTime{hours{1}} + hours{24} * day);
    if (day % 7 == 0)
      life.degrade();
  }
  const auto used = database.integer(
      "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM "
      "pragma_freelist_count)");
  const auto page = database.integer("PRAGMA page_size");
  clock.set(now.boot_id(), std::max(MonoTime{Millis{1}}, now.mono() - minutes{2}), now.wall() - minutes{2});
  Life last(engine, clock, **store);
  if (auto restored = last.restore(); !restored)
    return restored;
  last.begin(policy::LifeCause::kBoot);
  last.run_until(now.mono());
  if (!life.clean() || !last.clean())
    return fail(ErrorCode::kInternal,
                "the record is not as it should be: " + life.trouble() + last.trouble());

  const auto count = [&](const char* sql) { return database.integer(sql).value_or(0).value_or(0); };
  std::printf("%s\n",
              boost::json::serialize(
                  boost::json::object{{"days", days},
                                      {"recipe", kRecipe},
                                      {"events", count("SELECT count(*) FROM event")},
                                      {"decisions", count("SELECT count(*) FROM decision")},
                                      {"actions", count("SELECT count(*) FROM action")},
                                      {"bytes", used.value_or(0).value_or(0) * page.value_or(0).value_or(0)}})
                  .c_str());
  return {};
}

}  // namespace fireboss::bench
