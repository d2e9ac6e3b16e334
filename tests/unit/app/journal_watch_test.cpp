#include "supervisor/app/journal_watch.h"

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const probes::SignatureSet& builtin() {
  static const auto set = probes::SignatureSet::builtin();
  return *set;
}

class JournalWatchTest : public ::testing::Test {
 protected:
  JournalWatchTest() { watch_.begin("a"); }

  // "engine_dead 1 a": class, count and life of every event.
  static std::vector<std::string> texts(const JournalWatch::Events& events) {
    std::vector<std::string> out;
    for (const auto& event : events)
      out.push_back(event.signature_class + " " + std::to_string(event.count) + " " + event.life);
    return out;
  }
  std::vector<std::string> unit(const std::string& message, const std::string& life = "a") {
    ports::JournalLine line;
    line.message = message;
    line.invocation_id = life;
    line.unit = "vllm.service";
    line.pid = 100;
    return texts(watch_.on_line(line));
  }
  std::vector<std::string> kernel(const std::string& message) {
    ports::JournalLine line;
    line.message = message;
    line.from_kernel = true;
    return texts(watch_.on_line(line));
  }
  std::vector<std::string> manager(const std::string& message, const std::string& life = "a") {
    ports::JournalLine line;
    line.message = message;
    line.invocation_id = life;
    line.unit = "vllm.service";
    line.pid = 1;
    line.from_manager = true;
    return texts(watch_.on_line(line));
  }

  JournalWatch watch_{builtin(), "vllm.service"};
  const std::string dead_ = "ERROR EngineDeadError: EngineCore encountered an issue.";
  const std::string xid_ours_ = "NVRM: Xid (PCI:0000:41:00): 31, pid=250, name=python3, MMU Fault";
  const std::string off_bus_ = "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.";
};

TEST_F(JournalWatchTest, TellsTheFirstLineOfAClassAndThenOnlyDoubledNumbers) {
  std::vector<std::string> told;
  for (int i = 0; i < 1000; ++i)
    for (auto& text : unit(dead_))
      told.push_back(std::move(text));
  EXPECT_THAT(told, ElementsAre("engine_dead 1 a", "engine_dead 2 a", "engine_dead 4 a", "engine_dead 8 a",
                                "engine_dead 16 a", "engine_dead 32 a", "engine_dead 64 a",
                                "engine_dead 128 a", "engine_dead 256 a", "engine_dead 512 a"));
}

TEST_F(JournalWatchTest, CountsEachClassByItself) {
  EXPECT_THAT(unit(dead_), ElementsAre("engine_dead 1 a"));
  EXPECT_THAT(unit("TimeoutError: RPC call to sample_tokens timed out."), ElementsAre("stall 1 a"));
  EXPECT_THAT(unit("INFO: everything is fine"), IsEmpty());
}

TEST_F(JournalWatchTest, OneLineOfTwoSignaturesOfAClassCountsOnce) {
  EXPECT_THAT(unit("RuntimeError: cancelled: EngineCore has died unexpectedly, EngineDeadError"),
              ElementsAre("engine_dead 1 a"));
  EXPECT_THAT(unit(dead_), ElementsAre("engine_dead 2 a"));
}

TEST_F(JournalWatchTest, ALineOfManyLinesIsLookedAtLineByLine) {
  EXPECT_THAT(unit("Traceback\nEngineDeadError: first\n  at x\nEngineDeadError: second"),
              ElementsAre("engine_dead 1 a", "engine_dead 2 a"));
}

TEST_F(JournalWatchTest, ANewLifeCountsAnew) {
  EXPECT_THAT(unit(dead_), ElementsAre("engine_dead 1 a"));
  watch_.begin("b");
  EXPECT_THAT(unit(dead_, "b"), ElementsAre("engine_dead 1 b"));
  EXPECT_THAT(unit(dead_, "a"), ElementsAre("engine_dead 2 a"));
}

TEST_F(JournalWatchTest, ALifeThatEndedIsStillTheOneThatLinesBelongTo) {
  watch_.begin("");
  EXPECT_THAT(unit(dead_), ElementsAre("engine_dead 1 a"));
}

TEST_F(JournalWatchTest, AnXidOfOurOwnProcessIsOurs) {
  watch_.know_process(250);
  EXPECT_THAT(kernel(xid_ours_), ElementsAre("gpu_fault_app 1 a"));
  EXPECT_FALSE(watch_.wants_processes());
}

TEST_F(JournalWatchTest, AnUnknownProcessIsAskedForAndIsOurs) {
  EXPECT_THAT(kernel(xid_ours_), IsEmpty());
  ASSERT_TRUE(watch_.wants_processes());
  EXPECT_THAT(texts(watch_.on_processes({100, 250})), ElementsAre("gpu_fault_app 1 a"));
  EXPECT_FALSE(watch_.wants_processes());
}

TEST_F(JournalWatchTest, AnXidOfAnotherProcessIsNobodysBusinessHere) {
  EXPECT_THAT(kernel("NVRM: Xid (PCI:0000:41:00): 13, pid=99812, name=python3"), IsEmpty());
  EXPECT_THAT(kernel("NVRM: Xid (PCI:0000:4b:00): 48, pid=99812, name=train, DBE (double bit error)"),
              IsEmpty());
  EXPECT_THAT(texts(watch_.on_processes({100, 250})), IsEmpty());
  EXPECT_FALSE(watch_.wants_processes());
  EXPECT_THAT(kernel("Out of memory: Killed process 99812 (python3) total-vm:1kB"), IsEmpty());
  EXPECT_THAT(texts(watch_.on_processes({100, 250})), IsEmpty());
}

TEST_F(JournalWatchTest, AProcessThatIsGoneBySoStaysOurs) {
  EXPECT_THAT(texts(watch_.on_processes({100, 250})), IsEmpty());
  EXPECT_THAT(texts(watch_.on_processes({100})), IsEmpty());
  EXPECT_THAT(kernel("Out of memory: Killed process 250 (VLLM::Worker) total-vm:1kB"),
              ElementsAre("oom_killed 1 a"));
}

TEST_F(JournalWatchTest, AProcessOfTheLifeBeforeIsToldOfThatLife) {
  watch_.know_process(250);
  watch_.begin("b");
  EXPECT_THAT(kernel(xid_ours_), ElementsAre("gpu_fault_app 1 a"));
}

TEST_F(JournalWatchTest, AHardwareFaultThatNamesNoProcessConcernsEverybody) {
  EXPECT_THAT(kernel(off_bus_), ElementsAre("gpu_fault_hw 1 "));
  EXPECT_THAT(
      kernel("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
      ElementsAre("gpu_fault_hw 2 "));
}

TEST_F(JournalWatchTest, WhatNamesNoProcessAndIsNoHardwareFaultIsNobodys) {
  EXPECT_THAT(kernel("NVRM: Xid (0000:03:00): 43, pid='<unknown>', name=<unknown>, Ch 00000008"), IsEmpty());
  EXPECT_THAT(kernel("python3 invoked oom-killer: gfp_mask=0x140cca"), IsEmpty());
  EXPECT_FALSE(watch_.wants_processes());
}

TEST_F(JournalWatchTest, NobodyForgesTheKernelsOrTheManagersWords) {
  EXPECT_THAT(unit(off_bus_), IsEmpty());
  EXPECT_THAT(unit("prompt: 'systemd[1]: vllm.service: Start request repeated too quickly.'"), IsEmpty());
  EXPECT_THAT(kernel("python3[250]: EngineDeadError"), IsEmpty());
}

TEST_F(JournalWatchTest, TheManagersWordsCountButForADeath) {
  EXPECT_THAT(manager("vllm.service: A process of this unit has been killed by the OOM killer."),
              ElementsAre("oom_killed 1 a"));
  EXPECT_THAT(manager("vllm.service: Main process exited, code=killed, status=9/KILL"), IsEmpty());
  EXPECT_THAT(manager("other.service: Start request repeated too quickly."), IsEmpty());
}

TEST_F(JournalWatchTest, MemoryHeldByAnotherProcessIsNewsHeldByOurOwnIsNot) {
  const std::string line =
      "GPU 0 has a total capacity of 79.15 GiB. Process 777 has 60.00 GiB memory in use.";
  EXPECT_THAT(unit(line), IsEmpty());
  EXPECT_THAT(texts(watch_.on_processes({100})), ElementsAre("vram_held 1 a"));
  watch_.know_process(777);
  EXPECT_THAT(unit(line), IsEmpty());
  EXPECT_FALSE(watch_.wants_processes());
}

TEST_F(JournalWatchTest, WhatWaitsIsBoundedAndTheRestIsCounted) {
  for (int i = 0; i < 10'000; ++i)
    EXPECT_THAT(kernel("NVRM: Xid (PCI:0000:41:00): 31, pid=" + std::to_string(1000 + i) + ", name=python3"),
                IsEmpty());
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 10'000; ++i)
    all.push_back(1000 + i);
  const auto events = watch_.on_processes(all);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().count, 256);
  EXPECT_EQ(watch_.take_dropped(), 10'000U - 256U);
  EXPECT_EQ(watch_.take_dropped(), 0U) << "told once";
}

TEST_F(JournalWatchTest, BeforeTheFirstLifeOnlyTheHostIsSpokenOf) {
  JournalWatch fresh(builtin(), "vllm.service");
  ports::JournalLine line;
  line.message = dead_;
  EXPECT_THAT(texts(fresh.on_line(line)), IsEmpty());
  line.message = off_bus_;
  line.from_kernel = true;
  EXPECT_THAT(texts(fresh.on_line(line)), ElementsAre("gpu_fault_hw 1 "));
}

}  // namespace
}  // namespace fireboss::app
