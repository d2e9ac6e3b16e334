#include "engine/chat/conversation.h"

#include <optional>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "engine/chat/json_text.h"

namespace fireboss::engine {
namespace {

namespace json = boost::json;

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

std::optional<Role> role_of(std::string_view name) {
  if (name == "system" || name == "developer") {
    return Role::kSystem;
  }
  if (name == "user") {
    return Role::kUser;
  }
  if (name == "assistant") {
    return Role::kAssistant;
  }
  if (name == "tool") {
    return Role::kTool;
  }
  return std::nullopt;
}

// A string, null, or a list of {"type": "text", "text": ...} parts.
Result<std::string> parse_content(const json::value* content, std::string_view where) {
  if (content == nullptr || content->is_null()) {
    return std::string();
  }
  if (const auto* text = content->if_string()) {
    return std::string(*text);
  }
  const auto* parts = content->if_array();
  if (parts == nullptr) {
    return invalid(fmt::format("{} must be a string or a list of text parts", where));
  }
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const auto* part = (*parts)[i].if_object();
    const auto* type = part == nullptr ? nullptr : part->if_contains("type");
    const auto* text = part == nullptr ? nullptr : part->if_contains("text");
    if (type == nullptr || *type != "text" || text == nullptr || !text->is_string()) {
      return invalid(fmt::format("{}[{}] must be a text part; this model reads text only", where, i));
    }
    joined += std::string_view(text->get_string());
  }
  return joined;
}

Result<ToolCall> parse_tool_call(const json::value& value, std::string_view where) {
  const auto* call = value.if_object();
  const auto* function = call == nullptr ? nullptr : call->if_contains("function");
  if (function == nullptr || !function->is_object()) {
    return invalid(fmt::format("{}.function must be an object", where));
  }
  const auto* name = function->get_object().if_contains("name");
  if (name == nullptr || !name->is_string()) {
    return invalid(fmt::format("{}.function.name must be a string", where));
  }
  ToolCall out{.name = std::string(name->get_string()), .arguments = "{}"};
  if (const auto* arguments = function->get_object().if_contains("arguments")) {
    // Text is kept as it is: it is what the model wrote, so the cached prefix still fits.
    out.arguments = arguments->is_string() ? std::string(arguments->get_string()) : python_json(*arguments);
  }
  return out;
}

Result<Message> parse_message(const json::value& value, std::string_view where) {
  const auto* object = value.if_object();
  if (object == nullptr) {
    return invalid(fmt::format("{} must be an object", where));
  }
  const auto* role = object->if_contains("role");
  const auto known = role == nullptr || !role->is_string() ? std::nullopt : role_of(role->get_string());
  if (!known) {
    return invalid(fmt::format("{}.role must be one of system, developer, user, assistant, tool", where));
  }
  Message message{.role = *known, .content = {}, .tool_calls = {}};
  auto content = parse_content(object->if_contains("content"), fmt::format("{}.content", where));
  if (!content) {
    return fail(std::move(content.error()));
  }
  message.content = std::move(*content);
  const auto* calls = object->if_contains("tool_calls");
  if (calls == nullptr || calls->is_null()) {
    return message;
  }
  if (!calls->is_array()) {
    return invalid(fmt::format("{}.tool_calls must be a list", where));
  }
  for (std::size_t i = 0; i < calls->get_array().size(); ++i) {
    auto call = parse_tool_call(calls->get_array()[i], fmt::format("{}.tool_calls[{}]", where, i));
    if (!call) {
      return fail(std::move(call.error()));
    }
    message.tool_calls.push_back(std::move(*call));
  }
  return message;
}

std::string tool_list(const std::vector<std::string>& tools) {
  return "# Tools\n" + fmt::format("{}", fmt::join(tools, "\n"));
}

}  // namespace

Result<Conversation> parse_conversation(const json::object& request) {
  const auto* messages = request.if_contains("messages");
  if (messages == nullptr || !messages->is_array() || messages->get_array().empty()) {
    return invalid("messages must be a list with at least one message");
  }
  Conversation conversation;
  for (std::size_t i = 0; i < messages->get_array().size(); ++i) {
    auto message = parse_message(messages->get_array()[i], fmt::format("messages[{}]", i));
    if (!message) {
      return fail(std::move(message.error()));
    }
    conversation.messages.push_back(std::move(*message));
  }
  const auto* tools = request.if_contains("tools");
  if (tools == nullptr || tools->is_null()) {
    return conversation;
  }
  if (!tools->is_array()) {
    return invalid("tools must be a list");
  }
  for (std::size_t i = 0; i < tools->get_array().size(); ++i) {
    const auto& tool = tools->get_array()[i];
    const auto* object = tool.if_object();
    const auto* function = object == nullptr ? nullptr : object->if_contains("function");
    const auto* name =
        function == nullptr || !function->is_object() ? nullptr : function->get_object().if_contains("name");
    if (name == nullptr || !name->is_string()) {
      return invalid(fmt::format("tools[{}].function.name must be a string", i));
    }
    conversation.tools.push_back(python_json(tool));
  }
  return conversation;
}

Result<ChatTokens> ChatTokens::find(const Tokenizer& tokenizer) {
  ChatTokens tokens{};
  const std::pair<const char*, TokenId*> wanted[] = {
      {"<|begin|>", &tokens.begin},         {"<|end|>", &tokens.end},
      {"<|system|>", &tokens.system},       {"<|user|>", &tokens.user},
      {"<|assistant|>", &tokens.assistant}, {"<|tool|>", &tokens.tool}};
  for (const auto& [name, place] : wanted) {
    const auto id = tokenizer.special(name);
    if (!id || !tokenizer.is_control(*id)) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("the vocabulary has no control token {}: the model was made for another chat "
                              "template than the one this engine knows",
                              name));
    }
    *place = *id;
  }
  return tokens;
}

std::vector<TokenId> render(const Conversation& conversation, const Tokenizer& tokenizer,
                            const ChatTokens& tokens) {
  std::vector<TokenId> out{tokens.begin};
  const auto turn = [&](TokenId role, std::string_view text) {
    out.push_back(role);
    const auto ids = tokenizer.encode(text);
    out.insert(out.end(), ids.begin(), ids.end());
    out.push_back(tokens.end);
  };
  const auto& messages = conversation.messages;
  const bool tools = !conversation.tools.empty();
  if (tools && (messages.empty() || messages.front().role != Role::kSystem)) {
    turn(tokens.system, tool_list(conversation.tools));
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& message = messages[i];
    std::string text = message.content;
    if (i == 0 && tools && message.role == Role::kSystem) {
      text += (text.empty() ? "" : "\n\n") + tool_list(conversation.tools);
    }
    for (const auto& call : message.tool_calls) {
      text += fmt::format("<tool_call>{{\"name\":{},\"arguments\":{}}}</tool_call>",
                          python_json(json::value(call.name)), call.arguments);
    }
    switch (message.role) {
      case Role::kSystem:
        turn(tokens.system, text);
        break;
      case Role::kUser:
        turn(tokens.user, text);
        break;
      case Role::kAssistant:
        turn(tokens.assistant, text);
        break;
      case Role::kTool:
        turn(tokens.tool, text);
        break;
    }
  }
  out.push_back(tokens.assistant);
  return out;
}

}  // namespace fireboss::engine
