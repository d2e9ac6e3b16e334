// Written cases: tasks and responses from JSON.
#include <algorithm>
#include <array>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "canary/grade/grade.h"
#include "canary/grade/json_text.h"
#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

std::string string_of(const json::value& value) {
  return std::string(value.get_string());
}

Result<std::int64_t> integer_of(const json::value& value, std::string_view where) {
  boost::system::error_code error;
  const auto number = value.is_number() ? value.to_number<std::int64_t>(error) : 0;
  if (!value.is_number() || error) {
    return fail(ErrorCode::kInvalid, std::string(where) + " must be a whole number");
  }
  return number;
}

Result<void> take_snippets(Task& task, const json::value& expected) {
  if (expected.is_string()) {
    task.text = string_of(expected);
    return {};
  }
  const json::value* contains =
      expected.is_object() ? expected.get_object().if_contains("contains") : nullptr;
  if (contains != nullptr && contains->is_string()) {
    task.snippets.push_back(string_of(*contains));
    return {};
  }
  if (contains == nullptr || !contains->is_array() || contains->get_array().empty()) {
    return fail(ErrorCode::kInvalid,
                "task.expected of a code task must be a text or {\"contains\": [texts]}");
  }
  for (const json::value& snippet : contains->get_array()) {
    if (!snippet.is_string() || snippet.get_string().empty()) {
      return fail(ErrorCode::kInvalid, "task.expected.contains must hold texts");
    }
    task.snippets.push_back(string_of(snippet));
  }
  return {};
}

Result<void> take_call(Task& task, const json::value& expected) {
  const json::value* name = expected.is_object() ? expected.get_object().if_contains("name") : nullptr;
  const json::value* arguments =
      expected.is_object() ? expected.get_object().if_contains("arguments") : nullptr;
  if (name == nullptr || !name->is_string() || arguments == nullptr || !arguments->is_object()) {
    return fail(ErrorCode::kInvalid,
                "task.expected of a tool_call task must be {\"name\": text, \"arguments\": object}");
  }
  task.tool = string_of(*name);
  task.json = *arguments;
  return {};
}

Result<void> take_integers(Task& task, const json::value& expected) {
  if (!expected.is_array()) {
    return fail(ErrorCode::kInvalid, "task.expected of an int_sequence task must be an array");
  }
  for (const json::value& value : expected.get_array()) {
    const auto number = integer_of(value, "an element of task.expected");
    if (!number) {
      return fail(number.error());
    }
    task.integers.push_back(*number);
  }
  return {};
}

Result<void> take_expected(Task& task, const json::value& expected) {
  switch (task.type) {
    case TaskType::kExactReply:
      if (!expected.is_string()) {
        return fail(ErrorCode::kInvalid, "task.expected of an exact_reply task must be a text");
      }
      task.text = string_of(expected);
      return {};
    case TaskType::kIntSequence:
      return take_integers(task, expected);
    case TaskType::kJson:
      task.json = expected;
      return {};
    case TaskType::kToolCall:
      return take_call(task, expected);
    case TaskType::kCode:
      return take_snippets(task, expected);
  }
  return {};
}

std::optional<TaskType> type_from(std::string_view name) {
  struct Named {
    std::string_view name;
    TaskType type;
  };
  constexpr std::array<Named, 6> kTypes = {{{"exact_reply", TaskType::kExactReply},
                                            {"int_sequence", TaskType::kIntSequence},
                                            {"json_schema", TaskType::kJson},
                                            {"json", TaskType::kJson},
                                            {"tool_call", TaskType::kToolCall},
                                            {"code", TaskType::kCode}}};
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Named& named) { return named.name == name; });
  return found == kTypes.end() ? std::nullopt : std::optional(found->type);
}

// What a written case says about an exchange that failed, in the words of whatever client it came from.
Fault fault_from(std::string_view words) {
  std::string lower(words);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  struct Word {
    std::string_view word;
    Fault fault;
  };
  constexpr std::array<Word, 18> kWords = {{{"timeout", Fault::kTimeout},
                                            {"timed out", Fault::kTimeout},
                                            {"deadline", Fault::kTimeout},
                                            {"refused", Fault::kRefused},
                                            {"unreachable", Fault::kUnreachable},
                                            {"no route", Fault::kUnreachable},
                                            {"reset", Fault::kReset},
                                            {"closed", Fault::kReset},
                                            {"broken pipe", Fault::kReset},
                                            {"disconnect", Fault::kReset},
                                            {"eof", Fault::kReset},
                                            {"end of file", Fault::kReset},
                                            {"resolve", Fault::kDns},
                                            {"name or service", Fault::kDns},
                                            {"dns", Fault::kDns},
                                            {"tls", Fault::kTls},
                                            {"ssl", Fault::kTls},
                                            {"certificate", Fault::kTls}}};
  for (const Word& word : kWords) {
    if (lower.find(word.word) != std::string::npos) {
      return word.fault;
    }
  }
  return Fault::kNone;
}

bool looks_like_events(std::string_view body) {
  body = trim(body);
  return body.substr(0, 5) == "data:" || body.substr(0, 6) == "event:" || body.substr(0, 1) == ":";
}

Result<Response> from_lines(const json::value& lines) {
  if (!lines.is_array()) {
    return fail(ErrorCode::kInvalid, "response.stream must be an array of lines");
  }
  Response response;
  response.http_status = 200;
  response.stream = true;
  for (const json::value& line : lines.get_array()) {
    if (!line.is_string()) {
      return fail(ErrorCode::kInvalid, "response.stream must hold texts only");
    }
    response.body += response.body.empty() ? "" : "\n";
    response.body.append(line.get_string().data(), line.get_string().size());
  }
  return response;
}

Result<void> take_status(Response& response, const json::object& object) {
  const json::value* status = object.if_contains("http_status");
  if (status == nullptr) {
    return {};
  }
  response.http_status.reset();
  if (status->is_null()) {
    return {};
  }
  const auto number = integer_of(*status, "response.http_status");
  if (number && *number == 0) {
    return {};  // how some clients write that no answer came
  }
  if (!number || *number < 100 || *number > 999) {
    return fail(ErrorCode::kInvalid, "response.http_status must be null or a number from 100 to 999");
  }
  response.http_status = static_cast<int>(*number);
  return {};
}

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kTimeout:
      return "timeout";
    case Fault::kRefused:
      return "refused";
    case Fault::kUnreachable:
      return "unreachable";
    case Fault::kReset:
      return "reset";
    case Fault::kDns:
      return "dns";
    case Fault::kTls:
      return "tls";
    case Fault::kTooLarge:
      return "too_large";
    case Fault::kNotHttp:
      return "not_http";
    case Fault::kPortInUse:
      return "port_in_use";
    case Fault::kUnchecked:
      return "unchecked";
    case Fault::kNotSent:
      return "not_sent";
    case Fault::kCanceled:
      return "canceled";
  }
  return "none";
}

Result<Task> parse_task(const json::value& value) {
  if (!value.is_object()) {
    return fail(ErrorCode::kInvalid, "task must be an object");
  }
  const json::object& object = value.get_object();
  const json::value* type = object.if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return fail(ErrorCode::kInvalid, "task.type is missing");
  }
  const auto known = type_from(string_of(*type));
  if (!known) {
    return fail(ErrorCode::kInvalid,
                "task.type '" + string_of(*type) +
                    "' is none of exact_reply, int_sequence, json_schema, tool_call, code");
  }
  Task task;
  task.type = *known;
  const json::value* expected = object.if_contains("expected");
  if (expected == nullptr) {
    return fail(ErrorCode::kInvalid, "task.expected is missing");
  }
  if (auto taken = take_expected(task, *expected); !taken) {
    return fail(taken.error());
  }
  if (const json::value* cap = object.if_contains("max_tokens"); cap != nullptr && !cap->is_null()) {
    const auto number = integer_of(*cap, "task.max_tokens");
    if (!number || *number < 1) {
      return fail(ErrorCode::kInvalid, "task.max_tokens must be a whole number above 0");
    }
    task.max_tokens = *number;
  }
  if (const json::value* schema = object.if_contains("schema"); schema != nullptr && schema->is_object()) {
    task.schema = *schema;
  }
  return task;
}

Task exact_task(const Prompt& prompt, std::int64_t max_tokens) {
  Task task;
  task.type = TaskType::kExactReply;
  task.text = prompt.expected;
  task.max_tokens = max_tokens;
  return task;
}

Result<Response> parse_response(const json::value& value) {
  if (!value.is_object()) {
    return fail(ErrorCode::kInvalid, "response must be an object");
  }
  const json::object& object = value.get_object();
  const json::value* lines = object.if_contains("stream");
  const bool exchange = object.contains("http_status") || (lines != nullptr && lines->is_array());
  if (!exchange) {
    Response response;
    response.http_status = 200;
    response.body = json::serialize(value);
    return response;
  }
  Response response;
  if (lines != nullptr && !lines->is_null()) {
    auto read = from_lines(*lines);
    if (!read) {
      return read;
    }
    response = std::move(*read);
  }
  if (auto taken = take_status(response, object); !taken) {
    return fail(taken.error());
  }
  if (const json::value* body = object.if_contains("body"); body != nullptr && !body->is_null()) {
    response.body = body->is_string() ? string_of(*body) : json::serialize(*body);
    response.stream = looks_like_events(response.body);
  }
  if (const json::value* error = object.if_contains("error"); error != nullptr && error->is_string()) {
    response.error = string_of(*error);
    response.fault = fault_from(response.error);
  }
  return response;
}

Result<json::object> grade_case(std::string_view line) {
  boost::system::error_code error;
  const std::optional<json::value> value = parse_lenient(line, error);
  if (!value) {
    return fail(ErrorCode::kInvalid, "not JSON: " + error.message());
  }
  const json::object* object = value->if_object();
  const json::value* id = object != nullptr ? object->if_contains("id") : nullptr;
  if (id == nullptr || !(id->is_string() || id->is_int64())) {
    return fail(ErrorCode::kInvalid, "must be an object with an \"id\" (a text)");
  }
  const json::value* written = object->if_contains("response");
  if (written == nullptr) {
    return fail(ErrorCode::kInvalid, "\"response\" is missing");
  }
  json::object result;
  result["id"] = *id;
  if (written->is_null()) {
    // A case of journal and state only: nothing to grade, and nothing measured is never success.
    result["verdict"] = nullptr;
    result["grade"] = nullptr;
    result["signals"] = json::object();
    result["reason"] = "no response";
    return result;
  }
  const json::value* task_value = object->if_contains("task");
  if (task_value == nullptr) {
    return fail(ErrorCode::kInvalid, "\"task\" is missing");
  }
  const auto task = parse_task(*task_value);
  if (!task) {
    return fail(task.error());
  }
  const auto response = parse_response(*written);
  if (!response) {
    return fail(response.error());
  }
  const Graded graded = grade(*task, *response);
  result["verdict"] = to_string(graded.verdict);
  result["grade"] = to_string(graded.grade);
  result["signals"] = to_json(graded.signals);
  result["reason"] = graded.reason;
  return result;
}

}  // namespace fireboss::canary
