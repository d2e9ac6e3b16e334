// Grading of replies. The first byte says what the rest is:
//   c  a line of a written case file                   b, s  a raw body, a raw event stream
//   g  the content of a reply that is put into a whole body and into a stream in pieces: what it is worth is
//   known
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "canary/grade/assemble.h"
#include "canary/grade/grade.h"
#include "canary/grade/sse.h"
#include "supervisor/policy/canonical.h"
#include "supervisor/policy/judge.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;
using fuzz::hash_of;
using fuzz::hold;

constexpr std::string_view kNonce = "OTTER-0123456789AB";
constexpr std::string_view kForeign = "MAPLE-BA9876543210";
constexpr std::size_t kMaxReason = 1024;

Task pong() {
  Task task;
  task.type = TaskType::kExactReply;
  task.text = kNonce;
  task.max_tokens = 64;
  return task;
}

std::vector<Task> tasks() {
  Task integers;
  integers.type = TaskType::kIntSequence;
  integers.integers = {1, 2, 3, 40};
  Task value;
  value.type = TaskType::kJson;
  value.json = json::parse(R"({"a":[1,2.5,"x"],"b":null})");
  value.schema = json::parse(
      R"({"type":"object","required":["a"],"properties":{"a":{"type":"array","maxItems":3,"items":{"minimum":0}}},"additionalProperties":false})");
  Task call;
  call.type = TaskType::kToolCall;
  call.tool = "read_file";
  call.json = json::parse(R"({"path":"/tmp/a","lines":[1,2]})");
  Task code;
  code.type = TaskType::kCode;
  code.snippets = {"int main() {", "return 0;"};
  return {pong(), integers, value, call, code};
}

GradeOptions options(Reasoning reasoning) {
  static const std::vector<std::string> special{"<|special|>"};
  return {.reasoning = reasoning, .special_tokens = special, .issued = [](std::string_view nonce) {
            return nonce == kForeign;
          }};
}

bool one_word(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// What holds for every reply.
Graded graded(const Task& task, const Response& response, Reasoning reasoning = Reasoning::kNone) {
  const auto one = grade(task, response, options(reasoning));
  const auto two = grade(task, response, options(reasoning));
  hold(result_text(one) == result_text(two) && one.reason == two.reason &&
           to_json(one.signals) == to_json(two.signals),
       "the same reply is graded differently");
  hold((one.grade == Grade::kPass) == (one.verdict == Verdict::kOk), "pass and ok do not go together");
  hold(one.grade != Grade::kPass || (one.reason.empty() && !one.foreign_nonce), "a pass with a fault");
  hold(one.grade != Grade::kInconclusive || one_word(one.reason), "inconclusive by more than a word");
  hold(one.reason.size() <= kMaxReason, "an endless reason");
  hold(policy::check_call_result(result_text(one)).has_value(), "a result that the policy does not know");
  hold(!one.foreign_nonce || *one.foreign_nonce == kForeign, "a foreign nonce that nobody issued");
  const auto signals = policy::canonical(to_json(one.signals));
  hold(json::value(*policy::parse_object(signals)) == json::value(to_json(one.signals)),
       "signals that are not whole numbers and UTF-8");
  hold(policy::canonical(json::string(one.reason)) == json::serialize(json::string(one.reason)),
       "a reason that is not UTF-8");
  return one;
}

Response response_of(std::string_view body, bool stream) {
  Response response;
  response.http_status = 200;
  response.stream = stream;
  response.body = body;
  response.latency = Millis{1234};
  response.first_byte = Millis{12};
  return response;
}

// ---- raw bodies: a second reader, for the usual form only

bool only_white_space(std::string_view text) {
  constexpr std::string_view kSpaces[] = {" ",
                                          "\t",
                                          "\n",
                                          "\v",
                                          "\f",
                                          "\r",
                                          "\xC2\x85",
                                          "\xC2\xA0",
                                          "\xE1\x9A\x80",
                                          "\xE2\x80\x80",
                                          "\xE2\x80\x81",
                                          "\xE2\x80\x82",
                                          "\xE2\x80\x83",
                                          "\xE2\x80\x84",
                                          "\xE2\x80\x85",
                                          "\xE2\x80\x86",
                                          "\xE2\x80\x87",
                                          "\xE2\x80\x88",
                                          "\xE2\x80\x89",
                                          "\xE2\x80\x8A",
                                          "\xE2\x80\xA8",
                                          "\xE2\x80\xA9",
                                          "\xE2\x80\xAF",
                                          "\xE2\x81\x9F",
                                          "\xE3\x80\x80"};
  while (!text.empty()) {
    const auto* space = std::find_if(std::begin(kSpaces), std::end(kSpaces),
                                     [&](std::string_view one) { return text.starts_with(one); });
    if (space == std::end(kSpaces)) {
      return false;
    }
    text.remove_prefix(space->size());
  }
  return true;
}

bool is_the_nonce(std::string_view content) {
  const auto at = content.find(kNonce);
  return at != std::string_view::npos && only_white_space(content.substr(0, at)) &&
         only_white_space(content.substr(at + kNonce.size()));
}

struct Usual {
  std::string content{};
  bool finished = false;  // by a finish reason that is none of a fault
};

// One body or chunk in the usual form: one choice, content a text or nothing. nullopt: another form.
std::optional<Usual> usual_content(std::string_view text, const char* key) {
  boost::system::error_code error;
  const auto value = json::parse(text, error);
  const auto* object = error ? nullptr : value.if_object();
  const auto* choices = object == nullptr ? nullptr : object->if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().size() > 1) {
    return std::nullopt;
  }
  Usual out;
  if (choices->get_array().empty()) {
    return out;
  }
  const auto* choice = choices->get_array().front().if_object();
  const auto* message = choice == nullptr ? nullptr : choice->if_contains(key);
  const auto* index = choice == nullptr ? nullptr : choice->if_contains("index");
  if (message == nullptr || !message->is_object() || (index != nullptr && *index != 0)) {
    return std::nullopt;
  }
  const auto* finish = choice->if_contains("finish_reason");
  out.finished = finish != nullptr && finish->is_string() && !finish->get_string().empty() &&
                 *finish != "error" && *finish != "abort";
  const auto* content = message->get_object().if_contains("content");
  if (content == nullptr || content->is_null()) {
    return out;
  }
  if (!content->is_string()) {
    return std::nullopt;
  }
  out.content = content->get_string();
  return out;
}

// All lines are "data: ..." of the usual form, or empty, up to [DONE]; nullopt: another form.
std::optional<Usual> usual_stream(std::string_view body) {
  Usual out;
  while (!body.empty()) {
    const auto end = body.find('\n');
    const auto line = body.substr(0, end);
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
    if (line.empty()) {
      continue;
    }
    if (line == "data: [DONE]") {
      return out;
    }
    const auto more = line.starts_with("data: {") ? usual_content(line.substr(6), "delta") : std::nullopt;
    if (!more) {
      return std::nullopt;
    }
    out.content += more->content;
    out.finished = out.finished || more->finished;
  }
  return std::nullopt;
}

// A stream that passes does not once it is cut off before its end, at the end of a line or inside of one.
void check_cuts(std::string_view stream) {
  const auto end = stream.find("[DONE]");
  for (auto at = stream.find('\n'); at < end; at = stream.find('\n', at + 1)) {
    for (const auto cut : {at, at + 1, at - hash_of(stream, at) % (at + 1)}) {
      hold(graded(pong(), response_of(stream.substr(0, cut), true)).grade != Grade::kPass,
           "passed although the stream was cut off");
    }
  }
}

void check_raw(std::string_view body, bool stream) {
  const auto response = response_of(body, stream);
  const auto one = graded(pong(), response);
  const auto usual = stream ? usual_stream(body) : usual_content(body, "message");
  if (one.grade == Grade::kPass) {
    hold(!usual || is_the_nonce(usual->content), "passed although the content is not the nonce");
    hold(!usual || usual->finished, "passed without a finish reason");
    hold(!stream || body.find("[DONE]") != std::string_view::npos, "passed without the stream's end");
    if (stream) {
      check_cuts(body);
    }
  }
  const auto choice = hash_of(body);
  // The same with a transport fault or another status: never better than without.
  constexpr Fault kFaults[] = {Fault::kReset, Fault::kTimeout, Fault::kTooLarge, Fault::kNotHttp,
                               Fault::kCanceled};
  auto broken_off = response;
  broken_off.fault = kFaults[choice % std::size(kFaults)];
  const auto worse = graded(pong(), broken_off);
  hold(worse.grade != Grade::kPass || one.grade == Grade::kPass, "passed because the transport broke");
  constexpr int kStatuses[] = {100, 204, 301, 404, 429, 500, 503};
  auto other = response;
  other.http_status = kStatuses[choice % std::size(kStatuses)];
  hold(graded(pong(), other).grade != Grade::kPass, "passed with a status that is not 200");
  static const auto others = tasks();
  constexpr Reasoning kReasonings[] = {Reasoning::kNone, Reasoning::kField, Reasoning::kInlineTags};
  (void)graded(others[choice % others.size()], response, kReasonings[choice % std::size(kReasonings)]);
  if (stream && body.find('\r') == std::string_view::npos) {
    std::string with_cr;
    for (const char c : body) {
      with_cr += c == '\n' ? "\r\n" : std::string(1, c);
    }
    hold(result_text(graded(pong(), response_of(with_cr, true))) == result_text(one),
         "CR LF instead of LF makes a difference");
    const auto commented = ": ping\n\nretry: 7\n\n" + std::string(body);
    hold(result_text(graded(pong(), response_of(commented, true))) == result_text(one),
         "a comment makes a difference");
  }
}

// ---- made replies

std::string whole_body(std::string_view content) {
  return json::serialize(json::object{
      {"object", "chat.completion"},
      {"model", "m"},
      {"choices",
       json::array{json::object{{"index", 0},
                                {"message", json::object{{"role", "assistant"}, {"content", content}}},
                                {"finish_reason", "stop"}}}},
      {"usage", json::object{{"prompt_tokens", 9},
                             {"completion_tokens", 5},
                             {"prompt_tokens_details", json::object{{"cached_tokens", 8}}},
                             {"completion_tokens_details", json::object{{"reasoning_tokens", 0}}}}}});
}

std::string event(json::object delta, json::value finish) {
  return "data: " +
         json::serialize(json::object{
             {"object", "chat.completion.chunk"},
             {"choices",
              json::array{json::object{
                  {"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}}}}) +
         "\n\n";
}

// Cut between characters only: an engine whose chunks end inside of one sends broken UTF-8.
std::string stream_of(std::string_view content) {
  std::string text = event({{"role", "assistant"}, {"content", ""}}, nullptr) + ": ping\n\n";
  std::string held;
  for (const auto piece : fuzz::pieces_of(content)) {
    held += piece;
    const auto rest = content.substr(static_cast<std::size_t>(piece.data() - content.data()) + piece.size());
    if (!rest.empty() && (static_cast<unsigned char>(rest.front()) & 0xC0U) == 0x80U) {
      continue;
    }
    text += event({{"content", held}}, nullptr);
    held.clear();
  }
  text += event({{"content", held}}, nullptr);
  return text + event({}, "stop") +
         "data: {\"choices\":[],\"usage\":{\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";
}

void check_made(std::string_view content) {
  const auto body = graded(pong(), response_of(whole_body(content), false));
  const auto stream = graded(pong(), response_of(stream_of(content), true));
  hold((body.grade == Grade::kPass) == is_the_nonce(content), "pass or fail is not what the content says");
  hold(body.grade != Grade::kInconclusive, "a whole reply is inconclusive");
  hold(result_text(body) == result_text(stream), "a stream is not worth what the whole body is");
  if (body.grade == Grade::kPass) {
    check_cuts(stream_of(content));
  }
}

void check(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const auto rest = input.substr(1);
  switch (input.front()) {
    case 'c': {
      const auto one = grade_case(rest), two = grade_case(rest);
      hold(one.has_value() == two.has_value(), "read once and not read once");
      hold(one ? *one == *two : !one.error().message.empty(), "another grade, or no words for an error");
      return;
    }
    case 'b':
    case 's':
      return check_raw(rest, input.front() == 's');
    default:
      return check_made(rest);
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const auto& line : fuzz::lines_of_source("tests/fixtures/cases.jsonl")) {
    out.push_back("c" + line);
    boost::system::error_code error;
    const auto value = json::parse(line, error);
    const auto* written = error ? nullptr : value.get_object().if_contains("response");
    const auto response = written == nullptr ? fail(ErrorCode::kInvalid, "") : parse_response(*written);
    if (response && response->http_status == 200) {
      out.push_back((response->stream ? "s" : "b") + response->body);
    }
  }
  const std::string nonce(kNonce);
  for (const auto& content : {nonce, " " + nonce + "\n", nonce + "assistant",
                              nonce + " " + std::string(kForeign), "<think>a</think>" + nonce}) {
    out.push_back("g" + content);
    out.push_back("b" + whole_body(content));
    out.push_back("s" + stream_of(content));
  }
  return out;
}

}  // namespace
}  // namespace fireboss::canary

int main(int argc, char** argv) {
  return fireboss::fuzz::run({.name = "grade",
                              .check = fireboss::canary::check,
                              .seeds = fireboss::canary::seeds(),
                              .tokens = {"OTTER-0123456789AB",
                                         "MAPLE-BA9876543210",
                                         "data: ",
                                         "data:",
                                         "event: error\n",
                                         "error: {",
                                         "[DONE]",
                                         "data: [DONE]\n\n",
                                         "\"content\":",
                                         "\"delta\":{",
                                         "\"message\":{",
                                         "\"finish_reason\":\"stop\"",
                                         "\"finish_reason\":\"length\"",
                                         "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"",
                                         "\"arguments\":\"",
                                         "\"error\":{\"message\":\"",
                                         "\"choices\":[",
                                         "\"reasoning_content\":\"",
                                         "\"usage\":{",
                                         "\"completion_tokens\":",
                                         "\"reasoning_tokens\":9",
                                         "\"completion_tokens_details\":{",
                                         "<|im_end|>",
                                         "<think>",
                                         "</think>",
                                         "assistant",
                                         "\"refusal\":\"",
                                         "\"logprobs\":{\"content\":[{\"logprob\":null}]}",
                                         "\"expected\":",
                                         "\"http_status\":",
                                         "\"stream\":[",
                                         "read_file",
                                         "{\"type\":\"text\",\"text\":\""},
                              .max_size = 8192},
                             argc, argv);
}
