#include "engine/server/service.h"

#include <algorithm>
#include <random>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "engine/server/metrics.h"
#include "engine/server/reply.h"

namespace fireboss::engine {
namespace {

namespace json = boost::json;

tl::unexpected<Refusal> refuse(unsigned status, std::string message) {
  return tl::unexpected(Refusal{status, std::move(message)});
}

std::uint64_t random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

// The tokens that make the model call a tool, whatever it would have said.
std::string forced_head(const ChatRequest& chat) {
  switch (chat.tool_choice) {
    case ToolChoice::kNone:
    case ToolChoice::kAuto:
      return {};
    case ToolChoice::kRequired:
      return "<tool_call>{\"name\":\"";
    case ToolChoice::kNamed:
      return fmt::format("<tool_call>{{\"name\":{},\"arguments\":{{",
                         json::serialize(json::value(chat.tool_name)));
  }
  return {};
}

}  // namespace

tl::expected<Prepared, Refusal> Service::prepare(std::string_view body) const {
  auto chat = parse_chat_request(body, options_.temperature);
  if (!chat) {
    return refuse(400, std::move(chat.error().message));
  }
  if (!chat->model.empty() &&
      std::ranges::find(options_.model_names, chat->model) == options_.model_names.end()) {
    return refuse(404, fmt::format("the model '{}' does not exist; this engine serves {}", chat->model,
                                   fmt::join(options_.model_names, ", ")));
  }
  Prepared out;
  out.generate.prompt = render(chat->conversation, tokenizer_, chat_tokens_);
  out.prompt_tokens = out.generate.prompt.size();
  const auto context = scheduler_.options().context;
  if (out.prompt_tokens >= context) {
    return refuse(400,
                  fmt::format("the prompt has {} tokens, which leaves no room for a reply in the context of "
                              "{}",
                              out.prompt_tokens, context));
  }
  const auto room = context - out.prompt_tokens;
  out.generate.max_tokens = std::min(chat->max_tokens.value_or(room), room);
  out.generate.reply_head = tokenizer_.encode(forced_head(*chat));
  out.generate.sampling = {.temperature = chat->temperature,
                           .top_p = chat->top_p,
                           .top_k = chat->top_k,
                           .seed = chat->seed ? *chat->seed : random_seed()};
  out.generate.stops = chat->stops;
  out.generate.top_logprobs = chat->top_logprobs;
  out.generate.cache_salt = chat->cache_salt;
  out.generate.ignore_end = chat->ignore_end;
  out.chat = std::move(*chat);
  return out;
}

std::string Service::next_id() {
  return fmt::format("chatcmpl-{:x}-{}", options_.started, ++ids_);
}

bool Service::authorised(std::string_view authorization) const {
  if (options_.api_key.empty()) {
    return true;
  }
  const auto expected = "Bearer " + options_.api_key;
  unsigned difference = authorization.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const char given = i < authorization.size() ? authorization[i] : '\0';
    difference |= static_cast<unsigned char>(given ^ expected[i]);
  }
  return difference == 0;
}

std::string Service::models() const {
  return models_body(options_.model_names, options_.started, scheduler_.options().context);
}

std::string Service::metrics() const {
  return metrics_page(scheduler_.counters(), {.model = options_.model_names.front(),
                                              .implementation = options_.implementation,
                                              .fingerprint = options_.fingerprint,
                                              .started = options_.started});
}

std::string Service::fault_list() const {
  json::array set;
  for (const auto& [text, applies] : faults_.list()) {
    set.push_back(json::object{{"fault", text}, {"applies", applies}});
  }
  json::array known;
  for (const auto fault : all_faults()) {
    known.push_back(json::value(to_string(fault)));
  }
  return json::serialize(json::object{{"set", std::move(set)}, {"known", std::move(known)}});
}

tl::expected<std::string, Refusal> Service::change_faults(std::string_view body) {
  boost::system::error_code wrong;
  const auto value = json::parse(body, wrong);
  const auto* object = wrong ? nullptr : value.if_object();
  if (object == nullptr) {
    return refuse(
        400, "the body must be a JSON object like {\"set\":[\"error500=count=1\"],\"clear\":[\"slow\"]}");
  }
  std::vector<FaultSetting> settings;
  std::vector<std::optional<Fault>> cleared;  // nullopt: all
  for (const auto& member : *object) {
    const bool set = member.key() == "set";
    if ((!set && member.key() != "clear") || !member.value().is_array()) {
      return refuse(400, "only the lists \"set\" and \"clear\" are known here");
    }
    for (const auto& one : member.value().get_array()) {
      if (!one.is_string()) {
        return refuse(400, fmt::format("{} must hold strings", std::string_view(member.key())));
      }
      const std::string_view text = one.get_string();
      if (set) {
        auto setting = parse_fault(text);
        if (!setting) {
          return refuse(400, std::move(setting.error().message));
        }
        settings.push_back(*setting);
      } else if (text == "*") {
        cleared.emplace_back(std::nullopt);
      } else if (const auto fault = fault_named(text)) {
        cleared.push_back(fault);
      } else {
        return refuse(400, fmt::format("fault '{}' is not known", text));
      }
    }
  }
  // Nothing changes unless all of it could be read.
  for (const auto& fault : cleared) {
    if (fault) {
      faults_.clear(*fault);
    } else {
      faults_.clear_all();
    }
  }
  for (const auto& setting : settings) {
    faults_.set(setting);
  }
  return fault_list();
}

}  // namespace fireboss::engine
