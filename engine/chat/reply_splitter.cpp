#include "engine/chat/reply_splitter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <boost/json.hpp>

namespace fireboss::engine {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";

// JSON has no infinity, though 1e400 is read as one: it could not be written again.
bool is_finite(const boost::json::value& value) {
  if (const auto* number = value.if_double()) {
    return std::isfinite(*number);
  }
  if (const auto* array = value.if_array()) {
    return std::ranges::all_of(*array, is_finite);
  }
  const auto* object = value.if_object();
  return object == nullptr ||
         std::ranges::all_of(*object, [](const auto& member) { return is_finite(member.value()); });
}

std::optional<ToolCall> read_call(std::string_view text) {
  boost::system::error_code error;
  const auto value = boost::json::parse(text, error);
  const auto* object = error ? nullptr : value.if_object();
  const auto* name = object == nullptr ? nullptr : object->if_contains("name");
  const auto* arguments = object == nullptr ? nullptr : object->if_contains("arguments");
  if (name == nullptr || !name->is_string() || arguments == nullptr || !arguments->is_object() ||
      !is_finite(*arguments)) {
    return std::nullopt;
  }
  return ToolCall{.name = std::string(name->get_string()), .arguments = boost::json::serialize(*arguments)};
}

// Size of the longest end of `text` that may be the beginning of `tag`.
std::size_t possible_tag(std::string_view text, std::string_view tag) {
  for (std::size_t size = std::min(tag.size() - 1, text.size()); size > 0; --size) {
    if (text.ends_with(tag.substr(0, size))) {
      return size;
    }
  }
  return 0;
}

}  // namespace

ReplyPart ReplySplitter::push(std::string_view bytes) {
  return split(utf8_.push(bytes));
}

ReplyPart ReplySplitter::split(std::string_view text) {
  if (!tools_) {
    return {.content = std::string(text), .calls = {}};
  }
  held_ += text;
  ReplyPart out;
  for (;;) {
    const auto tag = inside_ ? kClose : kOpen;
    const auto at = held_.find(tag);
    if (at == std::string::npos) {
      break;
    }
    auto before = held_.substr(0, at);
    held_.erase(0, at + tag.size());
    if (!inside_) {
      out.content += before;
    } else if (auto call = read_call(before)) {
      out.calls.push_back(std::move(*call));
    } else {
      out.content.append(kOpen).append(before).append(kClose);
    }
    inside_ = !inside_;
  }
  if (!inside_) {
    const auto sure = held_.size() - possible_tag(held_, kOpen);
    out.content += held_.substr(0, sure);
    held_.erase(0, sure);
  }
  return out;
}

ReplyPart ReplySplitter::finish() {
  auto out = split(utf8_.finish());
  if (inside_) {
    out.content += kOpen;
  }
  out.content += std::exchange(held_, {});
  inside_ = false;
  return out;
}

}  // namespace fireboss::engine
