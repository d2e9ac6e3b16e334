#include "probes/journal/line_level.h"

#include <gtest/gtest.h>

namespace fireboss::probes {
namespace {

TEST(LineLevelTest, LevelWordsOfTheEngines) {
  EXPECT_EQ(line_level("(EngineCore_DP0 pid=2) ERROR 11-29 12:00:00 [core.py:843] fatal"), 3);
  EXPECT_EQ(line_level("(APIServer pid=1) WARNING 11-29 12:00:00 [tokenizer.py:1] hm"), 4);
  EXPECT_EQ(line_level("CRITICAL 11-29 12:00:00 [launcher.py:1] engine gone"), 2);
  EXPECT_EQ(line_level("INFO 11-29 12:00:00 [core.py:76] fine"), 6);
  EXPECT_EQ(line_level("ERROR:    [Errno 98] error while attempting to bind"), 3);
}

TEST(LineLevelTest, Glog) {
  EXPECT_EQ(line_level("[rank0]:[E1129 12:00:00.384372190 ProcessGroupNCCL.cpp:1743] watchdog"), 3);
  EXPECT_EQ(line_level("W1129 12:00:00.1 4311 torch/distributed/run.py:1] hm"), 4);
  EXPECT_EQ(line_level("[rank6]:[F429 14:03:49.3 ProcessGroupNCCL.cpp:1554] end"), 2);
  EXPECT_EQ(line_level("slot E429 tokens"), 6);
  EXPECT_EQ(line_level("E12 13:00:00"), 6);
}

TEST(LineLevelTest, LastWords) {
  EXPECT_EQ(line_level("Traceback (most recent call last):"), 3);
  EXPECT_EQ(line_level("torch.AcceleratorError: CUDA error: device-side assert triggered"), 3);
  EXPECT_EQ(line_level("terminate called after throwing an instance of 'c10::Error'"), 2);
  EXPECT_EQ(line_level("/build/ggml.c:1: GGML_ASSERT(x) failed"), 2);
}

TEST(LineLevelTest, WordsInTheTextAreNoLevels) {
  EXPECT_EQ(line_level("ERRORS=0 WARNINGS=0 run complete"), 6);
  EXPECT_EQ(line_level(std::string(200, ' ') + "ERROR"), 6);
  EXPECT_EQ(line_level(""), 6);
}

}  // namespace
}  // namespace fireboss::probes
