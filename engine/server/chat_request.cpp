#include "engine/server/chat_request.h"

#include <cmath>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace fireboss::engine {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxStops = 16;
constexpr std::size_t kMaxStopSize = 1024;
constexpr std::int64_t kMaxTopLogprobs = 20;

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

// Reads the fields of one object; the first error stays, later reads return what they were given.
class Fields {
 public:
  explicit Fields(const json::object& object) : object_(object) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  const json::value* find(std::string_view name) const {
    const auto* value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  bool boolean(std::string_view name) {
    const auto* value = find(name);
    if (value != nullptr && !value->is_bool()) {
      refuse(name, "must be true or false");
    }
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const auto* value = find(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    const auto* number = value->if_int64();
    if (number == nullptr || *number < least || *number > most) {
      refuse(name, fmt::format("must be an integer from {} to {}", least, most));
      return std::nullopt;
    }
    return *number;
  }
  double real(std::string_view name, double least, double most, double otherwise) {
    const auto* value = find(name);
    if (value == nullptr) {
      return otherwise;
    }
    boost::system::error_code wrong;
    const double number = value->to_number<double>(wrong);
    if (wrong || !(number >= least) || !(number <= most)) {
      refuse(name, fmt::format("must be a number from {} to {}", least, most));
      return otherwise;
    }
    return number;
  }
  std::string text(std::string_view name, std::size_t most) {
    const auto* value = find(name);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string() || value->get_string().size() > most) {
      refuse(name, fmt::format("must be a string of at most {} bytes", most));
      return {};
    }
    return std::string(value->get_string());
  }
  void refuse(std::string_view name, std::string_view why) {
    if (!error_) {
      error_ = Error{ErrorCode::kInvalid, fmt::format("{} {}", name, why)};
    }
  }

 private:
  const json::object& object_;
  std::optional<Error> error_;
};

void read_stops(Fields& fields, ChatRequest& request) {
  const auto* stop = fields.find("stop");
  if (stop == nullptr) {
    return;
  }
  const json::array list = stop->is_array() ? stop->get_array() : json::array{*stop};
  for (const auto& one : list) {
    if (!one.is_string() || one.get_string().empty() || one.get_string().size() > kMaxStopSize ||
        request.stops.size() == kMaxStops) {
      fields.refuse("stop",
                    fmt::format("must be a non-empty string or up to {} of them, each of at most {} bytes",
                                kMaxStops, kMaxStopSize));
      return;
    }
    request.stops.emplace_back(one.get_string());
  }
}

void read_logprobs(Fields& fields, ChatRequest& request) {
  const bool wanted = fields.boolean("logprobs");
  const auto top = fields.integer("top_logprobs", 0, kMaxTopLogprobs);
  if (top && !wanted) {
    fields.refuse("top_logprobs", "needs logprobs to be true");
  }
  if (wanted) {
    request.top_logprobs = static_cast<std::size_t>(top.value_or(0));
  }
}

void read_tool_choice(Fields& fields, ChatRequest& request, const json::object& object) {
  const auto* choice = fields.find("tool_choice");
  const bool tools = !request.conversation.tools.empty();
  request.tool_choice = tools ? ToolChoice::kAuto : ToolChoice::kNone;
  if (choice == nullptr) {
    return;
  }
  if (*choice == "none") {
    request.tool_choice = ToolChoice::kNone;
    return;
  }
  if (!tools) {
    fields.refuse("tool_choice", "needs tools");
    return;
  }
  if (*choice == "auto" || *choice == "required") {
    request.tool_choice = *choice == "auto" ? ToolChoice::kAuto : ToolChoice::kRequired;
    return;
  }
  const auto* function = choice->is_object() ? choice->get_object().if_contains("function") : nullptr;
  const auto* name =
      function != nullptr && function->is_object() ? function->get_object().if_contains("name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    fields.refuse("tool_choice",
                  "must be none, auto, required or {\"type\":\"function\",\"function\":{\"name\":...}}");
    return;
  }
  for (const auto& tool : object.at("tools").get_array()) {
    if (tool.at("function").at("name") == *name) {
      request.tool_choice = ToolChoice::kNamed;
      request.tool_name = std::string(name->get_string());
      return;
    }
  }
  fields.refuse("tool_choice", "names a function that tools does not have");
}

// Fields that ask for something this engine cannot do; silence would be a wrong answer.
void refuse_unserved(Fields& fields) {
  if (const auto n = fields.integer("n", 1, 128); n && *n != 1) {
    fields.refuse("n", "must be 1: this engine gives one choice");
  }
  for (const auto* name : {"presence_penalty", "frequency_penalty"}) {
    if (fields.real(name, -2, 2, 0) != 0) {
      fields.refuse(name, "is not supported; leave it out or set it to 0");
    }
  }
  if (fields.real("repetition_penalty", 0, 10, 1) != 1) {
    fields.refuse("repetition_penalty", "is not supported; leave it out or set it to 1");
  }
  if (const auto* bias = fields.find("logit_bias"); bias != nullptr && *bias != json::object{}) {
    fields.refuse("logit_bias", "is not supported; leave it out");
  }
  if (const auto* format = fields.find("response_format");
      format != nullptr && (!format->is_object() || format->get_object().if_contains("type") == nullptr ||
                            format->get_object().at("type") != "text")) {
    fields.refuse("response_format", "must be {\"type\":\"text\"}: this engine has no constrained decoding");
  }
}

}  // namespace

PromptShape ChatRequest::shape() const {
  PromptShape shape{.system_bytes = 0, .tools = !conversation.tools.empty()};
  for (const auto& message : conversation.messages) {
    shape.system_bytes += message.role == Role::kSystem ? message.content.size() : 0;
  }
  return shape;
}

Result<ChatRequest> parse_chat_request(std::string_view body, double temperature) {
  boost::system::error_code wrong;
  json::parse_options options;
  options.max_depth = 64;
  const auto value = json::parse(body, wrong, {}, options);
  if (wrong) {
    return invalid(fmt::format("the body is not JSON in UTF-8: {}", wrong.message()));
  }
  const auto* object = value.if_object();
  if (object == nullptr) {
    return invalid("the body must be a JSON object");
  }
  auto conversation = parse_conversation(*object);
  if (!conversation) {
    return fail(std::move(conversation.error()));
  }
  ChatRequest request;
  request.conversation = std::move(*conversation);
  Fields fields(*object);
  request.model = fields.text("model", 1024);
  request.stream = fields.boolean("stream");
  if (const auto* stream_options = fields.find("stream_options")) {
    if (!stream_options->is_object()) {
      fields.refuse("stream_options", "must be an object");
    } else {
      Fields inner(stream_options->get_object());
      request.include_usage = inner.boolean("include_usage");
      if (inner.error()) {
        fields.refuse("stream_options", inner.error()->message);
      }
    }
  }
  constexpr std::int64_t kMost = 1 << 30;
  const auto deprecated = fields.integer("max_tokens", 1, kMost);
  if (const auto limit = fields.integer("max_completion_tokens", 1, kMost); limit || deprecated) {
    request.max_tokens = static_cast<std::size_t>(limit ? *limit : *deprecated);
  }
  request.temperature = fields.real("temperature", 0, 100, temperature);
  request.top_p = fields.real("top_p", 0, 1, 1);
  if (request.top_p <= 0) {
    fields.refuse("top_p", "must be above 0");
  }
  // vLLM writes "no limit" as -1.
  const auto top_k = fields.integer("top_k", -1, kMost).value_or(0);
  request.top_k = top_k > 0 ? static_cast<std::size_t>(top_k) : 0;
  if (const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX)) {
    request.seed = static_cast<std::uint64_t>(*seed);
  }
  request.cache_salt = fields.text("cache_salt", 1024);
  request.ignore_end = fields.boolean("ignore_eos");
  read_stops(fields, request);
  read_logprobs(fields, request);
  read_tool_choice(fields, request, *object);
  refuse_unserved(fields);
  if (fields.error()) {
    return fail(*fields.error());
  }
  return request;
}

}  // namespace fireboss::engine
