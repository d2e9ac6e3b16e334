#include "supervisor/app/fingerprint.h"

#include <gtest/gtest.h>

namespace fireboss::app {
namespace {

TEST(Fingerprint, ChangesWithEveryPartAndNotWithTheOrderOfModels) {
  const auto base = fingerprint("suite", {"a", "b"}, {"/bin/x", "--y"}, {"d.conf"});
  EXPECT_EQ(base, fingerprint("suite", {"b", "a"}, {"/bin/x", "--y"}, {"d.conf"}));
  EXPECT_NE(base, fingerprint("other", {"a", "b"}, {"/bin/x", "--y"}, {"d.conf"}));
  EXPECT_NE(base, fingerprint("suite", {"a", "c"}, {"/bin/x", "--y"}, {"d.conf"}));
  EXPECT_NE(base, fingerprint("suite", {"a", "b"}, {"/bin/x", "--z"}, {"d.conf"}));
  EXPECT_NE(base, fingerprint("suite", {"a", "b"}, {"/bin/x", "--y"}, {}));
}

TEST(Fingerprint, KeepsThePartsApart) {
  EXPECT_NE(fingerprint("s", {"a"}, {"b"}, {}), fingerprint("s", {}, {"a", "b"}, {}));
}

}  // namespace
}  // namespace fireboss::app
