#include "supervisor/app/redact.h"

#include <gmock/gmock.h>

namespace fireboss::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(RedactArguments, LooksInsideOfOneArgument) {
  EXPECT_THAT(redact_arguments({"/bin/bash", "-c", "exec vllm serve --api-key sk-1 --port 8000"}),
              ElementsAre("/bin/bash", "-c", "exec vllm serve --api-key *** --port 8000"));
  EXPECT_THAT(redact_arguments({"sh", "-c", "HF_TOKEN='hf_1' vllm serve --api-key='sk 2'"}),
              ElementsAre("sh", "-c", HasSubstr("vllm serve")));
  EXPECT_THAT(redact_arguments({"--api-key", "two words"}), ElementsAre("--api-key", "***"));
}

TEST(RedactArguments, MasksHeaders) {
  EXPECT_THAT(redact_arguments({"curl", "-H", "Authorization: Bearer sk-1", "http://x/"}),
              ElementsAre("curl", "-H", "Authorization: Bearer ***", "http://x/"));
  EXPECT_THAT(redact_arguments({"--header", "X-Api-Key: sk-1", "--header", "X-Api-Key:sk-2"}),
              ElementsAre("--header", "X-Api-Key: ***", "--header", "X-Api-Key:***"));
  EXPECT_THAT(redact_arguments({"sh", "-c", "curl -H 'authorization: basic dXNlcg==' x"}),
              ElementsAre("sh", "-c", "curl -H 'authorization: basic ***' x"));
}

TEST(RedactArguments, MasksTheUserOfAUrl) {
  EXPECT_THAT(redact_arguments({"--proxy", "http://me:pw@host:1/p@th", "http://host/a@b"}),
              ElementsAre("--proxy", "http://***@host:1/p@th", "http://host/a@b"));
}

TEST(Mask, LeavesNoOccurrence) {
  std::string text = "Incorrect API key provided: sk-1. sk-1sk-1";
  mask(text, "sk-1");
  EXPECT_EQ(text, "Incorrect API key provided: ***. ******");
  mask(text, "");
  EXPECT_EQ(text, "Incorrect API key provided: ***. ******");
}

}  // namespace
}  // namespace fireboss::app
