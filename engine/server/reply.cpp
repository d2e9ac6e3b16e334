#include "engine/server/reply.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "engine/chat/utf8_stream.h"

namespace fireboss::engine {
namespace {

namespace json = boost::json;

// Lower values, minus infinity among them, are written as this, which is what vLLM does.
constexpr double kLowestLogprob = -9999.0;

std::string_view error_type(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
    case 405:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

json::object logprob_json(const Logprob& logprob, const Tokenizer& tokenizer) {
  const auto& raw = tokenizer.bytes(logprob.token);
  json::array bytes;
  for (const char byte : raw) {
    bytes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", valid_utf8(raw)},
          {"logprob", std::max(logprob.value, kLowestLogprob)},
          {"bytes", std::move(bytes)}};
}

json::array calls_json(const ReplyHead& head, const std::vector<ToolCall>& calls, std::size_t first,
                       bool with_index) {
  json::array out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    json::object call;
    if (with_index) {
      call["index"] = first + i;
    }
    call["id"] = fmt::format("call-{}-{}", head.id, first + i);
    call["type"] = "function";
    call["function"] = {{"name", calls[i].name}, {"arguments", calls[i].arguments}};
    out.push_back(std::move(call));
  }
  return out;
}

json::object usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

json::object head_json(const ReplyHead& head, std::string_view object) {
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint}};
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

std::string chunk(const ReplyHead& head, json::object delta, const Choice& choice) {
  auto out = head_json(head, "chat.completion.chunk");
  json::object one{{"index", 0},
                   {"delta", std::move(delta)},
                   {"logprobs", choice.logprobs.value_or(nullptr)},
                   {"finish_reason", text_or_null(choice.finish_reason)}};
  if (choice.stop) {
    one["stop_reason"] = *choice.stop;
  }
  out["choices"] = json::array{std::move(one)};
  return json::serialize(out);
}

}  // namespace

std::string error_body(unsigned status, std::string_view message) {
  return json::serialize(json::object{{"error",
                                       {{"message", valid_utf8(message)},
                                        {"type", error_type(status)},
                                        {"param", nullptr},
                                        {"code", status}}}});
}

json::value logprobs_json(const std::vector<TokenLogprobs>& tokens, const Tokenizer& tokenizer) {
  json::array content;
  for (const auto& token : tokens) {
    auto entry = logprob_json(token.chosen, tokenizer);
    json::array top;
    for (const auto& other : token.top) {
      top.push_back(logprob_json(other, tokenizer));
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return json::object{{"content", std::move(content)}};
}

std::string completion_body(const ReplyHead& head, const Choice& choice, const Usage& usage) {
  json::object message{{"role", "assistant"}};
  message["content"] = choice.calls.empty() ? json::value(choice.content) : text_or_null(choice.content);
  if (!choice.calls.empty()) {
    message["tool_calls"] = calls_json(head, choice.calls, 0, false);
  }
  auto out = head_json(head, "chat.completion");
  out["choices"] = json::array{
      json::object{{"index", 0},
                   {"message", std::move(message)},
                   {"logprobs", choice.logprobs.value_or(nullptr)},
                   {"finish_reason", choice.finish_reason},
                   {"stop_reason", choice.stop ? json::value(*choice.stop) : json::value(nullptr)}}};
  out["usage"] = usage_json(usage);
  return json::serialize(out);
}

std::string role_chunk(const ReplyHead& head) {
  return chunk(head, {{"role", "assistant"}, {"content", ""}}, {});
}

std::string delta_chunk(const ReplyHead& head, const Choice& delta, std::size_t first_call) {
  json::object body;
  if (!delta.content.empty()) {
    body["content"] = delta.content;
  }
  if (!delta.calls.empty()) {
    body["tool_calls"] = calls_json(head, delta.calls, first_call, true);
  }
  return chunk(head, std::move(body), delta);
}

std::string usage_chunk(const ReplyHead& head, const Usage& usage) {
  auto out = head_json(head, "chat.completion.chunk");
  out["choices"] = json::array{};
  out["usage"] = usage_json(usage);
  return json::serialize(out);
}

std::string models_body(const std::vector<std::string>& names, std::int64_t created, std::size_t context) {
  json::array data;
  for (const auto& name : names) {
    data.push_back(json::object{{"id", name},
                                {"object", "model"},
                                {"created", created},
                                {"owned_by", "fireboss-engine"},
                                {"max_model_len", context}});
  }
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}});
}

}  // namespace fireboss::engine
