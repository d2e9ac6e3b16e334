#pragma once
// Replies and tasks for tests, in the shapes that engines send.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "canary/grade/grade.h"

namespace fireboss::canary {

// How GoogleTest prints them.
inline void PrintTo(Verdict verdict, std::ostream* out) {
  *out << to_string(verdict);
}
inline void PrintTo(Grade grade, std::ostream* out) {
  *out << to_string(grade);
}

}  // namespace fireboss::canary

namespace fireboss::canary::testing_replies {

namespace json = boost::json;

struct Shape {
  std::string finish = "stop";  // "" = none
  std::optional<std::int64_t> tokens = 9;
  std::string reasoning{};
  json::array tool_calls{};
};

inline json::object call(std::string_view name, const json::value& arguments) {
  return {{"id", "call_1"},
          {"type", "function"},
          {"function", json::object{{"name", name}, {"arguments", arguments}}}};
}

inline Response body_with(const json::value& content, const Shape& shape = {}) {
  json::object message{{"role", "assistant"}, {"content", content}};
  if (!shape.reasoning.empty()) {
    message["reasoning_content"] = shape.reasoning;
  }
  if (!shape.tool_calls.empty()) {
    message["tool_calls"] = shape.tool_calls;
  }
  json::object choice{{"index", 0}, {"message", message}};
  choice["finish_reason"] = shape.finish.empty() ? json::value(nullptr) : json::value(shape.finish);
  json::object all{{"object", "chat.completion"}, {"model", "m"}, {"choices", json::array{choice}}};
  if (shape.tokens) {
    all["usage"] = json::object{{"prompt_tokens", 31}, {"completion_tokens", *shape.tokens}};
  }
  Response response;
  response.http_status = 200;
  response.body = json::serialize(all);
  return response;
}

inline Response body(std::string_view content, const Shape& shape = {}) {
  return body_with(json::value(content), shape);
}
inline Response body(std::nullptr_t, const Shape& shape = {}) {
  return body_with(nullptr, shape);
}

inline std::string chunk(const json::object& delta, const json::value& finish = nullptr) {
  return "data: " +
         json::serialize(json::object{
             {"object", "chat.completion.chunk"},
             {"choices",
              json::array{json::object{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}}}}) +
         "\n\n";
}

inline Response events(std::string text) {
  Response response;
  response.http_status = 200;
  response.stream = true;
  response.body = std::move(text);
  return response;
}

// Content deltas, then a finish chunk and [DONE].
inline Response stream(const std::vector<std::string>& deltas, std::string_view finish = "stop") {
  std::string text = chunk({{"role", "assistant"}, {"content", ""}});
  for (const std::string& delta : deltas) {
    text += chunk({{"content", delta}});
  }
  return events(text + chunk({}, json::value(finish)) + "data: [DONE]\n\n");
}

inline Task task(std::string_view text) {
  return parse_task(json::parse(json::string_view(text))).value();
}
inline Task exact(std::string_view text) {
  Task result;
  result.text = text;
  return result;
}
inline Task pong() {
  return exact("PONG-7F3A");
}
inline Task weather() {
  return task(R"({"type": "tool_call", "expected": {"name": "get_weather",
                  "arguments": {"city": "Paris", "days": 3}}})");
}
inline Task paris() {
  return task(R"({"type": "json_schema", "expected": {"city": "Paris", "n": 3},
                  "schema": {"type": "object", "required": ["city", "n"], "additionalProperties": false}})");
}

inline std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

}  // namespace fireboss::canary::testing_replies
