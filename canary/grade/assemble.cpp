#include "canary/grade/assemble.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "canary/grade/json_text.h"
#include "canary/grade/sse.h"
#include "canary/grade/text.h"

namespace fireboss::canary {
namespace {

namespace json = boost::json;

// The client bounds what it reads; a written case is bounded here.
constexpr std::size_t kMaxBody = 16 * 1024 * 1024;
constexpr std::size_t kMaxWords = 160;
constexpr std::size_t kMaxToolCalls = 64;

TransportFault failed(std::string reason) {
  return {Verdict::kHttpError, Grade::kFail, std::move(reason)};
}
TransportFault truncated(std::string reason) {
  return {Verdict::kTruncated, Grade::kFail, std::move(reason)};
}
TransportFault inconclusive(Verdict verdict, std::string_view reason) {
  return {verdict, Grade::kInconclusive, std::string(reason)};
}

bool contains(std::string_view text, std::string_view lower_case) {
  return std::search(text.begin(), text.end(), lower_case.begin(), lower_case.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         }) != text.end();
}

const json::value* member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

void append_text(std::string& out, const json::value* value) {
  if (value == nullptr) {
    return;
  }
  if (value->is_string()) {
    out.append(value->get_string().data(), value->get_string().size());
  } else if (value->is_array()) {
    // Content as parts: [{"type": "text", "text": "..."}].
    for (const json::value& part : value->get_array()) {
      if (part.is_object()) {
        append_text(out, member(part.get_object(), "text"));
      }
    }
  }
}

std::optional<std::int64_t> integer(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  if (value == nullptr || !value->is_number()) {
    return std::nullopt;
  }
  boost::system::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error || number < 0 ? std::nullopt : std::optional(number);
}

// Tokens as the engine counts them. More than any engine has produced is no count, and nobody calculates with
// it.
std::optional<std::int64_t> token_count(const json::object& object, std::string_view key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto number = integer(object, key);
  return number && *number <= kMost ? number : std::nullopt;
}

// {"error": ...} in any spelling, and SGLang's flat {"object": "error", "message": ...}.
const json::value* error_object(const json::object& object) {
  const json::value* error = member(object, "error");
  if (error != nullptr) {
    const bool says_none =
        (error->is_bool() && !error->get_bool()) || (error->is_string() && error->get_string().empty());
    return says_none ? nullptr : error;
  }
  const json::value* kind = member(object, "object");
  if (kind != nullptr && kind->is_string() && kind->get_string() == "error") {
    return kind;
  }
  const json::value* type = member(object, "type");
  return type != nullptr && type->is_string() && type->get_string() == "error" ? type : nullptr;
}

std::string words_of(const json::object& object) {
  const json::value* error = member(object, "error");
  const json::value* message = nullptr;
  if (error != nullptr && error->is_object()) {
    message = member(error->get_object(), "message");
  } else if (error != nullptr && error->is_string()) {
    message = error;
  } else {
    message = member(object, "message");
  }
  std::string words;
  append_text(words, message);
  return "error object: " + mend_utf8(words.substr(0, kMaxWords));
}

void take_usage(Reply& reply, const json::object& object) {
  const json::value* usage = member(object, "usage");
  if (usage == nullptr || !usage->is_object()) {
    return;
  }
  const json::object& counts = usage->get_object();
  const auto keep = [](std::optional<std::int64_t>& to, std::optional<std::int64_t> from) {
    if (from) {
      to = from;
    }
  };
  keep(reply.usage.prompt_tokens, token_count(counts, "prompt_tokens"));
  keep(reply.usage.completion_tokens, token_count(counts, "completion_tokens"));
  const json::value* prompt = member(counts, "prompt_tokens_details");
  if (prompt != nullptr && prompt->is_object()) {
    keep(reply.usage.cached_tokens, token_count(prompt->get_object(), "cached_tokens"));
  }
  const json::value* completion = member(counts, "completion_tokens_details");
  if (completion != nullptr && completion->is_object()) {
    keep(reply.usage.reasoning_tokens, token_count(completion->get_object(), "reasoning_tokens"));
  }
}

void take_logprobs(Reply& reply, const json::object& choice) {
  const json::value* logprobs = member(choice, "logprobs");
  if (logprobs == nullptr || !logprobs->is_object()) {
    return;
  }
  const json::value* content = member(logprobs->get_object(), "content");
  if (content == nullptr || !content->is_array()) {
    return;
  }
  for (const json::value& entry : content->get_array()) {
    if (entry.is_object()) {
      const json::value* value = entry.get_object().if_contains("logprob");
      reply.logprob_null = reply.logprob_null || value == nullptr || !value->is_number();
    }
  }
}

// Gathers tool calls; a fragment names its call by index, else it belongs to the last one unless it has an id
// of its own.
class Gatherer {
 public:
  explicit Gatherer(Reply& reply) : reply_(reply) {}

  void message(const json::object& message) {
    append_text(reply_.content, member(message, "content"));
    append_text(reply_.refusal, member(message, "refusal"));
    const json::value* reasoning = member(message, "reasoning_content");
    append_text(reply_.reasoning, reasoning != nullptr ? reasoning : member(message, "reasoning"));
    reply_.legacy_function_call = reply_.legacy_function_call || member(message, "function_call") != nullptr;
    const json::value* calls = member(message, "tool_calls");
    if (calls == nullptr || !calls->is_array()) {
      return;
    }
    for (const json::value& call : calls->get_array()) {
      if (call.is_object()) {
        fragment(call.get_object());
      }
    }
  }

 private:
  void fragment(const json::object& part) {
    const std::optional<std::int64_t> index = integer(part, "index");
    const bool has_id = member(part, "id") != nullptr;
    std::size_t at = 0;
    if (index) {
      at = static_cast<std::size_t>(std::find(indices_.begin(), indices_.end(), *index) - indices_.begin());
    } else {
      at = has_id || indices_.empty() ? indices_.size() : indices_.size() - 1;
    }
    if (at == indices_.size()) {
      if (at == kMaxToolCalls) {
        return;
      }
      indices_.push_back(index.value_or(-1));
      reply_.tool_calls.emplace_back();
    }
    const json::value* function = member(part, "function");
    if (function == nullptr || !function->is_object()) {
      return;
    }
    ToolCall& call = reply_.tool_calls[at];
    append_text(call.name, member(function->get_object(), "name"));
    const json::value* arguments = member(function->get_object(), "arguments");
    if (arguments == nullptr) {
      return;
    }
    if (arguments->is_string()) {
      append_text(call.arguments, arguments);
    } else {
      call.arguments_are_text = false;
      call.arguments += json::serialize(*arguments);
    }
  }

  Reply& reply_;
  std::vector<std::int64_t> indices_;
};

const json::object* first_choice(const json::array& choices) {
  const json::object* first = nullptr;
  for (const json::value& choice : choices) {
    if (!choice.is_object()) {
      continue;
    }
    const std::optional<std::int64_t> index = integer(choice.get_object(), "index");
    if (!index || *index == 0) {
      return &choice.get_object();
    }
    first = first != nullptr ? first : &choice.get_object();
  }
  return first;
}

// One chat.completion or one chunk of it. Returns the fault that it carries.
std::optional<TransportFault> take(Reply& reply, Gatherer& gatherer, const json::value& value, bool chunk) {
  if (!value.is_object()) {
    return failed("the body is JSON but no object");
  }
  const json::object& object = value.get_object();
  if (error_object(object) != nullptr) {
    return failed(words_of(object));
  }
  take_usage(reply, object);
  if (const json::value* model = member(object, "model"); model != nullptr && reply.model.empty()) {
    append_text(reply.model, model);
  }
  if (const json::value* print = member(object, "system_fingerprint");
      print != nullptr && reply.system_fingerprint.empty()) {
    append_text(reply.system_fingerprint, print);
  }
  const json::value* choices = member(object, "choices");
  if (choices == nullptr || !choices->is_array()) {
    return chunk ? std::nullopt : std::optional(failed("the body has no choices"));
  }
  const json::object* choice = first_choice(choices->get_array());
  if (choice == nullptr || (chunk && integer(*choice, "index").value_or(0) != 0)) {
    return std::nullopt;  // a usage-only chunk, or an answer that was not asked for
  }
  if (error_object(*choice) != nullptr) {
    return failed(words_of(*choice));
  }
  take_logprobs(reply, *choice);
  const json::value* message = member(*choice, chunk ? "delta" : "message");
  if (message != nullptr && message->is_object()) {
    gatherer.message(message->get_object());
  }
  const json::value* finish = member(*choice, "finish_reason");
  if (finish != nullptr && finish->is_string() && !finish->get_string().empty()) {
    reply.finish_reason.assign(finish->get_string().data(), finish->get_string().size());
  }
  return std::nullopt;
}

std::optional<TransportFault> end_fault(const Reply& reply) {
  if (reply.finish_reason == "error") {
    return failed("finish_reason error");
  }
  if (reply.finish_reason == "abort") {
    return truncated("the engine aborted the reply");
  }
  if (reply.finish_reason.empty()) {
    return truncated("no finish_reason");
  }
  return std::nullopt;
}

std::optional<TransportFault> read_body(const Response& response, Reply& reply) {
  if (trim(response.body).empty()) {
    return truncated("status 200 and no body");
  }
  json::monotonic_resource memory;
  boost::system::error_code error;
  const std::optional<json::value> value = parse_lenient(response.body, error, &memory);
  if (!value) {
    return is_cut_off(error) ? truncated("the body ends in the middle")
                             : failed("the body is no JSON: " + error.message());
  }
  Gatherer gatherer(reply);
  if (auto fault = take(reply, gatherer, *value, false)) {
    return fault;
  }
  if (response.fault == Fault::kReset) {
    return truncated("the connection broke before the body's end");
  }
  return end_fault(reply);
}

std::optional<TransportFault> read_stream(const Response& response, Reply& reply, bool& done) {
  Gatherer gatherer(reply);
  SseReader reader(response.body);
  while (const std::optional<SseEvent> event = reader.next()) {
    if (trim(event->data) == "[DONE]") {
      done = true;
      break;
    }
    json::monotonic_resource memory;
    boost::system::error_code error;
    const std::optional<json::value> value = parse_lenient(event->data, error, &memory);
    if (event->is_error) {
      return failed(value && value->is_object() ? words_of(value->get_object()) : "error event");
    }
    if (!value) {
      return is_cut_off(error) || event->at_end ? truncated("the stream ends in the middle of a chunk")
                                                : failed("a chunk is no JSON: " + error.message());
    }
    if (auto fault = take(reply, gatherer, *value, true)) {
      return fault;
    }
  }
  if (auto fault = end_fault(reply)) {
    return fault;
  }
  return done ? std::nullopt : std::optional(truncated("the stream ends without [DONE]"));
}

TransportFault of_status(int status, std::string_view body) {
  const std::string text = "status " + std::to_string(status);
  if ((status == 503 || (status >= 400 && status < 500)) && contains(body, "sleep")) {
    return inconclusive(Verdict::kHttpError, "asleep");
  }
  if (status == 503) {
    const bool loading =
        contains(body, "loading") || contains(body, "starting") || contains(body, "not ready");
    return inconclusive(Verdict::kHttpError, loading ? "loading" : "busy");
  }
  if (status == 429) {
    return inconclusive(Verdict::kHttpError, "busy");
  }
  if (status >= 300 && status < 500) {
    return inconclusive(Verdict::kHttpError, "request_refused");
  }
  return failed(text);
}

std::optional<TransportFault> of_fault(Fault fault) {
  switch (fault) {
    case Fault::kNone:
    case Fault::kReset:
      return std::nullopt;
    case Fault::kTimeout:
    case Fault::kCanceled:
    case Fault::kRefused:
    case Fault::kUnreachable:
      return inconclusive(Verdict::kTimeout, to_string(fault));
    case Fault::kDns:
    case Fault::kTls:
    case Fault::kNotSent:
      return inconclusive(Verdict::kHttpError, "request_refused");
    case Fault::kTooLarge:
    case Fault::kNotHttp:
    case Fault::kPortInUse:
      return inconclusive(Verdict::kHttpError, to_string(fault));
    case Fault::kUnchecked:
      return inconclusive(Verdict::kHttpError, "own_fault");
  }
  return std::nullopt;
}

}  // namespace

Assembled assemble(const Response& response) {
  Assembled result;
  if (response.body.size() > kMaxBody) {
    result.fault = inconclusive(Verdict::kHttpError, to_string(Fault::kTooLarge));
    return result;
  }
  if (!response.http_status) {
    // Nothing came. A connection that broke says as little about the answer as one that hung.
    result.fault = of_fault(response.fault);
    if (!result.fault) {
      result.fault = inconclusive(Verdict::kTimeout,
                                  response.fault == Fault::kReset ? to_string(Fault::kReset) : "no_answer");
    }
    return result;
  }
  if (*response.http_status != 200) {
    result.fault = of_status(*response.http_status, response.body);
    return result;
  }
  bool done = false;
  result.fault =
      response.stream ? read_stream(response, result.reply, done) : read_body(response, result.reply);
  // What broke off counts before what it broke in the middle; a stream that said [DONE] was whole.
  if (auto broken = of_fault(response.fault); broken && !(response.stream && done && !result.fault)) {
    result.fault = std::move(broken);
    if (result.fault->verdict == Verdict::kTimeout && !response.body.empty()) {
      result.fault->verdict = Verdict::kTruncated;  // something came; it is inconclusive all the same
    }
  }
  return result;
}

}  // namespace fireboss::canary
