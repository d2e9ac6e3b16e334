#include "supervisor/app/redact.h"

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::ElementsAre;

TEST(RedactArguments, MasksTheValueInEveryForm) {
  EXPECT_THAT(
      redact_arguments(
          {"vllm", "serve", "--api-key", "sk-1", "--api-key=sk-2", "HF_TOKEN=hf_3", "--port", "8000"}),
      ElementsAre("vllm", "serve", "--api-key", "***", "--api-key=***", "HF_TOKEN=***", "--port", "8000"));
}

TEST(RedactArguments, DoesNotSwallowTheNextOptionOfAFlagWithoutValue) {
  EXPECT_THAT(redact_arguments({"--enable-auth", "--port", "1"}),
              ElementsAre("--enable-auth", "--port", "1"));
}

TEST(RedactArguments, MasksASecretThatBeginsWithADash) {
  EXPECT_THAT(redact_arguments({"--api-key", "-secret"}), ElementsAre("--api-key", "***"));
}

}  // namespace
}  // namespace fireboss::app
