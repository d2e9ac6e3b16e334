#include "supervisor/ctl/progress.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace fireboss::ctl {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() : out_(open_memstream(&text_, &length_)) {}
  ~ProgressTest() override {
    std::fclose(out_);
    std::free(text_);
  }
  std::string written() {
    std::fflush(out_);
    return {text_, length_};
  }

  testing::FakeClock clock_;
  char* text_ = nullptr;
  std::size_t length_ = 0;
  std::FILE* out_;
};

TEST_F(ProgressTest, IsDueOnceASecond) {
  Progress progress(clock_, true, out_);
  clock_.advance(Millis{999});
  EXPECT_FALSE(progress.due()) << "what takes no second needs none";
  clock_.advance(Millis{1});
  ASSERT_TRUE(progress.due());
  progress.print("1 of 2");
  EXPECT_FALSE(progress.due());
  clock_.advance(Millis{1000});
  EXPECT_TRUE(progress.due());
  EXPECT_EQ(written(), "\r1 of 2\033[K");
}

TEST_F(ProgressTest, IsGoneWhenTheWorkIs) {
  {
    Progress progress(clock_, true, out_);
    progress.print("1 of 2");
  }
  EXPECT_EQ(written(), "\r1 of 2\033[K\r\033[K");
}

TEST_F(ProgressTest, IsNeverDueWhereNobodySeesIt) {
  {
    Progress progress(clock_, false, out_);
    clock_.advance(Millis{5000});
    EXPECT_FALSE(progress.due());
  }
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace fireboss::ctl
