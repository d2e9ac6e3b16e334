// What counts before any text is looked at, the grade that goes with it, and the signals beside the verdict.
#include <gtest/gtest.h>

#include "tests/unit/canary/grade/replies.h"

namespace fireboss::canary {
namespace {

using namespace testing_replies;

Response status(int code, std::string text = {}) {
  Response response;
  response.http_status = code;
  response.body = std::move(text);
  return response;
}

Response fault(Fault what) {
  Response response;
  response.fault = what;
  return response;
}

TEST(Transport, NoAnswerIsATimeoutAndProvesNothing) {
  for (const auto& [what, reason] :
       std::vector<std::pair<Fault, std::string>>{{Fault::kTimeout, "timeout"},
                                                  {Fault::kRefused, "refused"},
                                                  {Fault::kReset, "reset"},
                                                  {Fault::kUnreachable, "unreachable"},
                                                  {Fault::kNone, "no_answer"},
                                                  {Fault::kCanceled, "canceled"}}) {
    const Graded graded = grade(pong(), fault(what));
    EXPECT_EQ(graded.verdict, Verdict::kTimeout) << reason;
    EXPECT_EQ(result_text(graded), "inconclusive:" + reason);
  }
}

TEST(Transport, OurOwnTroubleIsRequestRefused) {
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kDns))), "inconclusive:request_refused");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kTls))), "inconclusive:request_refused");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kPortInUse))), "inconclusive:port_in_use");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kUnchecked))), "inconclusive:own_fault");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kNotHttp))), "inconclusive:not_http");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kTooLarge))), "inconclusive:too_large");
}

TEST(Transport, StatusDecidesWhoseFaultItIs) {
  const std::string busy = R"({"error":{"message":"queue is full"}})";
  EXPECT_EQ(result_text(grade(pong(), status(500, "Internal Server Error"))), "http_error");
  EXPECT_EQ(result_text(grade(pong(), status(502))), "http_error");
  EXPECT_EQ(result_text(grade(pong(), status(504))), "http_error");
  EXPECT_EQ(result_text(grade(pong(), status(503, busy))), "inconclusive:busy");
  EXPECT_EQ(result_text(grade(pong(), status(503, R"({"error":{"message":"Loading model"}})"))),
            "inconclusive:loading");
  EXPECT_EQ(result_text(grade(pong(), status(503, "engine is sleeping"))), "inconclusive:asleep");
  EXPECT_EQ(result_text(grade(pong(), status(429, busy))), "inconclusive:busy");
  for (const int code : {400, 401, 403, 404, 413, 422, 301, 302, 308}) {
    const Graded graded = grade(pong(), status(code, busy));
    EXPECT_EQ(graded.verdict, Verdict::kHttpError) << code;
    EXPECT_EQ(result_text(graded), "inconclusive:request_refused") << code;
  }
  EXPECT_EQ(grade(pong(), status(204)).grade, Grade::kFail);
}

TEST(Transport, AnErrorObjectFailsWhateverItsStatus) {
  for (
      const char* text :
      {R"({"error":{"message":"CUDA error","type":"server_error","code":500}})", R"({"error":"CUDA error"})",
       R"({"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400})",
       R"({"type":"error","error":{"type":"internal_error","message":"x"}})",
       R"({"choices":[{"index":0,"finish_reason":"error","message":{"content":"PONG-7F3A"}}]})",
       R"({"choices":[{"index":0,"error":{"message":"x"},"message":{"content":"PONG-7F3A"},"finish_reason":"stop"}]})",
       R"({"error":{},"choices":[{"index":0,"finish_reason":"stop","message":{"content":"PONG-7F3A"}}]})",
       R"({"detail":"Not Found"})", R"([1,2])", "<html>502 Bad Gateway</html>", "null",
       R"({"choices":[{"logprobs":NaN}]})"}) {
    const Graded graded = grade(pong(), status(200, text));
    EXPECT_EQ(graded.verdict, Verdict::kHttpError) << text;
    EXPECT_EQ(graded.grade, Grade::kFail) << text;
  }
  const std::string fine =
      R"("choices":[{"index":0,"finish_reason":"stop","message":{"content":"PONG-7F3A"}}]})";
  EXPECT_EQ(grade(pong(), status(200, "{\"error\":null," + fine)).verdict, Verdict::kOk);
}

TEST(Transport, AnErrorInAStreamFailsEvenBehindARightAnswer) {
  const std::string right = chunk({{"content", "PONG-7F3A"}}, "stop");
  for (const char* error :
       {"data: {\"error\":{\"message\":\"x\"}}\n\n", "event: error\ndata: {\"message\":\"x\"}\n\n",
        "event: error\r\ndata: {\"message\":\"x\"}\r\n\r\n", "error: {\"code\":500}\n\n",
        "{\"error\":{\"message\":\"x\"}}\n", "data: {\"object\":\"error\",\"message\":\"x\"}\n\n"}) {
    EXPECT_EQ(grade(pong(), events(right + error + "data: [DONE]\n\n")).verdict, Verdict::kHttpError)
        << error;
  }
}

TEST(Transport, WithoutAnEndIsTruncatedEvenIfTheTextIsRight) {
  const std::string right = chunk({{"content", "PONG-7F3A"}});
  const std::string finish = chunk({}, "stop");
  EXPECT_EQ(grade(pong(), events(right + finish)).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), events(right + "data: [DONE]\n\n")).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), events("data: [DONE]\n\n")).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), events("")).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), events(right + finish.substr(0, 40))).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), body("PONG-7F3A", {.finish = ""})).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), body("PONG-7F3A", {.finish = "abort"})).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), status(200, R"({"choices":[)")).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), status(200, "")).verdict, Verdict::kTruncated);
  EXPECT_EQ(grade(pong(), status(200, R"({"choices":[]})")).verdict, Verdict::kTruncated);
}

TEST(Transport, ABrokenConnectionIsTruncatedUnlessTheStreamWasWhole) {
  Response half = body("PONG-7F3A");
  half.fault = Fault::kReset;
  EXPECT_EQ(grade(pong(), half).verdict, Verdict::kTruncated);
  Response whole = stream({"PONG-7F3A"});
  for (const Fault broken : {Fault::kReset, Fault::kTimeout, Fault::kTooLarge}) {
    whole.fault = broken;
    EXPECT_EQ(grade(pong(), whole).verdict, Verdict::kOk);
  }
}

TEST(Transport, GarbageInAnEndlessReplyCountsAndSlownessDoesNot) {
  Response slow = events(chunk({{"content", "PONG-7"}}));
  slow.fault = Fault::kTimeout;
  EXPECT_EQ(result_text(grade(pong(), slow)), "inconclusive:timeout");
  EXPECT_EQ(grade(pong(), slow).verdict, Verdict::kTruncated);
  slow.body.clear();
  EXPECT_EQ(grade(pong(), slow).verdict, Verdict::kTimeout);
  Response stuck = events(chunk({{"content", "PONG-7F3A" + repeat(" the", 100)}}));
  stuck.fault = Fault::kTooLarge;
  EXPECT_EQ(result_text(grade(pong(), stuck)), "repetition");
  stuck.fault = Fault::kTimeout;
  EXPECT_EQ(result_text(grade(pong(), stuck)), "repetition");
}

TEST(Stream, CommentsEmptyEventsUsageAndOtherChoicesAreSkipped) {
  const std::string usage =
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7}}\n\n";
  const std::string other = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\n";
  const Graded graded =
      grade(pong(), events(": ping\n\n" + chunk({{"content", "PONG-"}}) + "data:\n\n\r\nid: 4\nretry: 9\n" +
                           other + ": x\n" + chunk({{"content", "7F3A"}}) +
                           chunk({{"content", nullptr}}, "stop") + usage + "data: [DONE]\n\n"));
  EXPECT_EQ(graded.verdict, Verdict::kOk) << graded.reason;
  EXPECT_EQ(graded.signals.completion_tokens, 7);
}

TEST(Stream, AnyLineEndingAndSpelling) {
  std::string text = chunk({{"content", "PONG-7F3A"}}, "stop") + "data:[DONE]\n\n";
  EXPECT_EQ(grade(pong(), events(text)).verdict, Verdict::kOk);
  std::string crlf;
  for (const char c : text) {
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  }
  EXPECT_EQ(grade(pong(), events(crlf)).verdict, Verdict::kOk);
  // Without blank lines, and without the last line break.
  EXPECT_EQ(
      grade(pong(), events("data: {\"choices\":[{\"delta\":{\"content\":\"PONG-7F3A\"}}]}\n"
                           "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\ndata: [DONE]"))
          .verdict,
      Verdict::kOk);
  // One event over several data lines.
  EXPECT_EQ(grade(pong(), events("data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"PONG-7F3A\"},\n"
                                 "data: \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
                .verdict,
            Verdict::kOk);
}

TEST(Budget, EatenByReasoningIsOursAndNotTheEngines) {
  Task capped = pong();
  capped.max_tokens = 64;
  const Shape eaten{.finish = "length", .tokens = 64, .reasoning = "Let me consider whether to add"};
  Graded graded = grade(capped, body("", eaten));
  EXPECT_EQ(graded.verdict, Verdict::kTruncated);
  EXPECT_EQ(result_text(graded), "inconclusive:budget");
  EXPECT_EQ(result_text(grade(capped, body("PONG-7", eaten))), "inconclusive:budget");
  EXPECT_EQ(result_text(grade(capped, body("Something else", eaten))), "truncated");
  EXPECT_EQ(result_text(grade(capped, body("", {.finish = "length", .tokens = 64}))), "truncated");
  graded = grade(capped, body("<think>Let me consider", {.finish = "length", .tokens = 64}),
                 {.reasoning = Reasoning::kInlineTags, .special_tokens = {}, .issued = {}});
  EXPECT_EQ(result_text(graded), "inconclusive:budget");
}

TEST(Signals, AreReadBesideTheVerdict) {
  Response response = status(200, R"({"model":"m","system_fingerprint":"fp","choices":[{"index":0,
      "finish_reason":"length","logprobs":{"content":[{"token":"a","logprob":-0.1},{"token":"b","logprob":null}]},
      "message":{"content":"PONG-7F3A","reasoning":"hm"}}],"usage":{"prompt_tokens":100,"completion_tokens":50,
      "prompt_tokens_details":{"cached_tokens":96},"completion_tokens_details":{"reasoning_tokens":3}}})");
  response.latency = Millis(2'000);
  response.first_byte = Millis(150);
  const Graded graded = grade(pong(), response);
  EXPECT_EQ(graded.verdict, Verdict::kOk);
  EXPECT_EQ(graded.model, "m");
  EXPECT_EQ(graded.system_fingerprint, "fp");
  EXPECT_EQ(
      boost::json::serialize(to_json(graded.signals)),
      R"({"cached_tokens":96,"completion_tokens":50,"finish_reason":"length","finish_reason_length":true,)"
      R"("first_byte_ms":150,"latency_ms":2000,"logprob_null":true,"prompt_tokens":100,"reasoning_tokens":3,)"
      R"("tokens_over_expected":30,"tokens_per_second_milli":25000,"unasked_reasoning":true})");
}

TEST(Signals, OfAHealthyReplySayLittle) {
  EXPECT_EQ(boost::json::serialize(to_json(grade(pong(), body("PONG-7F3A")).signals)),
            R"({"completion_tokens":9,"finish_reason":"stop","prompt_tokens":31})");
}

TEST(ForeignNonce, ExactAndIssuedByUs) {
  const std::string mine = "OTTER-0123456789AB";
  const std::string other = "MAPLE-FEDCBA987654";
  const GradeOptions options{
      .reasoning = Reasoning::kNone, .special_tokens = {}, .issued = [&](std::string_view nonce) {
        return nonce == other || nonce == mine;
      }};
  EXPECT_EQ(grade(exact(mine), body(other), options).foreign_nonce, other);
  EXPECT_EQ(result_text(grade(exact(mine), body("x" + other + "y"), options)), "foreign_nonce");
  EXPECT_EQ(result_text(grade(exact(mine), body("hm", {.reasoning = other}), options)), "foreign_nonce");
  EXPECT_EQ(result_text(grade(exact(mine), body(mine), options)), "ok");
  EXPECT_EQ(result_text(grade(exact(mine), body(mine + mine), options)), "wrong_answer");
  EXPECT_EQ(result_text(grade(exact(mine), body("MAPLE-FEDCBA987653"), options)), "wrong_answer");
  EXPECT_EQ(result_text(grade(exact(mine), body(other))), "wrong_answer");
}

TEST(WrittenCase, SaysWhatIsWrongWithALine) {
  const auto message = [](const char* line) { return grade_case(line).error().message; };
  EXPECT_EQ(message("{"), "not JSON: incomplete JSON");
  EXPECT_EQ(message("[]"), "must be an object with an \"id\" (a text)");
  EXPECT_EQ(message(R"({"id":"a"})"), "\"response\" is missing");
  EXPECT_EQ(message(R"({"id":"a","response":{}})"), "\"task\" is missing");
  EXPECT_EQ(message(R"({"id":"a","response":{},"task":{"type":"poem"}})"),
            "task.type 'poem' is none of exact_reply, int_sequence, json_schema, tool_call, code");
  EXPECT_EQ(message(R"({"id":"a","response":{},"task":{"type":"exact_reply"}})"), "task.expected is missing");
  EXPECT_EQ(message(R"({"id":"a","response":{},"task":{"type":"exact_reply","expected":1}})"),
            "task.expected of an exact_reply task must be a text");
  EXPECT_EQ(
      message(R"({"id":"a","response":{"http_status":"x"},"task":{"type":"exact_reply","expected":"a"}})"),
      "response.http_status must be null or a number from 100 to 999");
  EXPECT_EQ(message(R"({"id":"a","response":{"stream":[1]},"task":{"type":"exact_reply","expected":"a"}})"),
            "response.stream must hold texts only");
}

TEST(WrittenCase, ToleratesUnknownFieldsAndKeepsTheId) {
  const auto graded = grade_case(
      R"({"id":7,"x":1,"task":{"type":"exact_reply","expected":"a","y":2},"response":{"choices":[{"index":0,
          "finish_reason":"stop","message":{"content":"a"}}],"z":3}})");
  ASSERT_TRUE(graded) << graded.error().message;
  EXPECT_EQ(boost::json::serialize(*graded),
            R"({"id":7,"verdict":"ok","grade":"pass","signals":{"finish_reason":"stop"},"reason":""})");
}

TEST(WrittenCase, WithoutAResponseHasNoVerdict) {
  const auto graded = grade_case(R"({"id":"a","task":null,"response":null})");
  ASSERT_TRUE(graded);
  EXPECT_TRUE(graded->at("verdict").is_null());
}

TEST(WrittenCase, ReadsRawBodies) {
  const auto verdict = [](const std::string& response) {
    return std::string(
        grade_case(R"({"id":"a","task":{"type":"exact_reply","expected":"a"},"response":)" + response + "}")
            ->at("verdict")
            .as_string());
  };
  EXPECT_EQ(
      verdict(
          R"({"http_status":200,"body":"{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"content\":\"a\"}}]}"})"),
      "ok");
  EXPECT_EQ(
      verdict(
          R"({"http_status":200,"body":"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"})"),
      "ok");
  EXPECT_EQ(verdict(R"({"http_status":200,"body":"{\"choi","error":"connection closed"})"), "truncated");
  EXPECT_EQ(verdict(R"({"http_status":null,"error":"connection refused"})"), "timeout");
  EXPECT_EQ(verdict(R"({"http_status":0,"error":"connection refused"})"), "timeout");
  EXPECT_EQ(verdict(R"({"error":{"message":"x"}})"), "http_error");
}

TEST(ResultText, IsWhatThePolicyTakes) {
  EXPECT_EQ(result_text(grade(pong(), body("PONG-7F3A"))), "ok");
  EXPECT_EQ(result_text(grade(pong(), body(""))), "empty");
  EXPECT_EQ(result_text(grade(pong(), fault(Fault::kTimeout))), "inconclusive:timeout");
  EXPECT_EQ(inconclusive_text("life_changed"), "inconclusive:life_changed");
}

TEST(Signals, ACountThatNoEngineCanHaveIsNoCount) {
  Response response = body("PONG-7F3A");
  response.latency = Millis{1};
  for (const auto* count : {"9223372036854775807", "18446744073709551615", "1e30", "-1"}) {
    const std::string number(count);
    response.body = R"({"choices":[{"message":{"content":"PONG-7F3A"},"finish_reason":"stop"}],"usage":)"
                    R"({"completion_tokens":0,"prompt_tokens":)" +
                    number + R"(,"completion_tokens_details":{"reasoning_tokens":)" + number + "}}}";
    const Graded graded = grade(pong(), response);
    EXPECT_EQ(graded.verdict, Verdict::kOk);
    EXPECT_EQ(graded.signals.prompt_tokens, std::nullopt) << count;
    EXPECT_EQ(graded.signals.reasoning_tokens, std::nullopt) << count;
    EXPECT_EQ(graded.signals.tokens_over_expected, std::nullopt) << count;
  }
}

}  // namespace
}  // namespace fireboss::canary
