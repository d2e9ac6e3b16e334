#include "base/result.h"

#include <gtest/gtest.h>

namespace fireboss {
namespace {

TEST(Error, GainsContextFromTheOutsideIn) {
  const Error inner{ErrorCode::kNotFound, "no such file"};
  const auto outer = inner.in("/etc/fireboss/tools.json").in("suite 'chat'");
  EXPECT_EQ(outer.message, "suite 'chat': /etc/fireboss/tools.json: no such file");
  EXPECT_EQ(outer.code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace fireboss
