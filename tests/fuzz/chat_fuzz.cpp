// What clients and the model give to the engine. The first byte says what the rest is:
//   r  the body of a chat request    t  a text to cut into tokens    p  a reply to split into text and calls
//   m  stop strings on a line, then a reply                          u  bytes to make UTF-8 of    f  a
//   fault's setting
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "engine/chat/conversation.h"
#include "engine/chat/json_text.h"
#include "engine/chat/reply_splitter.h"
#include "engine/chat/utf8_stream.h"
#include "engine/faults/setting.h"
#include "engine/gguf/gguf.h"
#include "engine/sampler/stop_matcher.h"
#include "engine/server/chat_request.h"
#include "engine/server/reply.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

namespace fireboss::engine {
namespace {

namespace json = boost::json;
using fuzz::hold;

struct Drill {
  Tokenizer tokenizer;
  ChatTokens tokens;

  static const Drill& get() {
    static const Drill kDrill = [] {
      const auto path = FIREBOSS_SOURCE_DIR "/engine/models/drill/drill-f16.gguf";
      const auto file = MappedFile::open(path);
      auto loaded = Tokenizer::load(Gguf::parse(file.value().bytes(), path).value()).value();
      const auto found = ChatTokens::find(loaded).value();
      return Drill{std::move(loaded), found};
    }();
    return kDrill;
  }
};

bool is_json(const std::string& text) {
  boost::system::error_code error;
  (void)json::parse(text, error);
  return !error;
}

// Fractions but for their last digit: Boost.JSON 1.81 does not read them more exactly.
bool same(const json::value& a, const json::value& b) {
  if (a.is_double() && b.is_double()) {
    const auto x = a.get_double(), y = b.get_double();
    return x == y || std::fabs(x - y) <= 1e-14 * std::fabs(x);
  }
  if (a.is_array() && b.is_array()) {
    return std::equal(a.get_array().begin(), a.get_array().end(), b.get_array().begin(), b.get_array().end(),
                      same);
  }
  if (a.is_object() && b.is_object()) {
    return std::equal(
        a.get_object().begin(), a.get_object().end(), b.get_object().begin(), b.get_object().end(),
        [](const auto& x, const auto& y) { return x.key() == y.key() && same(x.value(), y.value()); });
  }
  return a == b;
}

void check_render(const ChatRequest& request, const json::object& body) {
  const auto& [tokenizer, tokens] = Drill::get();
  const auto& conversation = request.conversation;
  const auto ids = render(conversation, tokenizer, tokens);
  const bool own_turn = !conversation.tools.empty() && conversation.messages.front().role != Role::kSystem;
  const auto turns = conversation.messages.size() + (own_turn ? 1 : 0);
  std::string text, contents;
  std::size_t control = 0;
  for (const auto id : ids) {
    hold(id >= 0 && static_cast<std::size_t>(id) < tokenizer.size(), "a token that there is not");
    if (tokenizer.is_control(id)) {
      ++control;
    } else {
      text += tokenizer.bytes(id);
    }
  }
  hold(ids.front() == tokens.begin && ids.back() == tokens.assistant, "a prompt without its ends");
  hold(control == 2 * turns + 2, "a client's text has become a control token");
  bool calls = false;
  for (const auto& message : conversation.messages) {
    contents += message.content;
    calls = calls || !message.tool_calls.empty();
  }
  hold(calls || !conversation.tools.empty() || text == contents, "a prompt that is not what was said");
  for (std::size_t i = 0; i < conversation.tools.size(); ++i) {
    if (conversation.tools[i].find("Infinity") != std::string::npos) {
      continue;  // as Python writes 1e400, though it is no JSON
    }
    boost::system::error_code error;
    const auto tool = json::parse(conversation.tools[i], error, {}, {.max_depth = 64});
    hold(!error && same(tool, body.at("tools").at(i)), "a tool is written as another one");
  }
}

void check_request(std::string_view body) {
  const auto request = parse_chat_request(body, 0.5);
  if (!request) {
    hold(!request.error().message.empty() && is_json(error_body(400, request.error().message)),
         "an error that cannot be sent");
    return;
  }
  hold(request->temperature >= 0 && request->temperature <= 100 && request->top_p > 0 && request->top_p <= 1,
       "sampling out of range");
  hold(request->max_tokens.value_or(1) >= 1, "no token at all");
  hold(request->stops.size() <= 16, "more stops than are allowed");
  hold(std::none_of(request->stops.begin(), request->stops.end(),
                    [](const std::string& stop) { return stop.empty() || stop.size() > 1024; }),
       "a stop that is empty or too long");
  hold(!request->top_logprobs || *request->top_logprobs <= 20, "more log-probabilities than are allowed");
  hold(request->tool_choice == ToolChoice::kNone || !request->conversation.tools.empty(),
       "a choice without tools");
  hold(!request->conversation.messages.empty(), "a conversation without messages");
  const auto shape = request->shape();
  hold(shape.tools == !request->conversation.tools.empty() && shape.system_bytes <= body.size(),
       "an odd shape");
  check_render(*request, json::parse(body, {}, {.max_depth = 64}).get_object());
}

void check_tokens(std::string_view text) {
  const auto& tokenizer = Drill::get().tokenizer;
  std::string back;
  for (const auto id : tokenizer.encode(text)) {
    hold(!tokenizer.is_control(id), "a text becomes a control token");
    back += tokenizer.bytes(id);
  }
  hold(back == text, "a text is not what its tokens stand for");
}

ReplyPart split(const std::vector<std::string_view>& pieces, bool tools) {
  ReplySplitter splitter(tools);
  ReplyPart out;
  const auto add = [&](const ReplyPart& part) {
    hold(valid_utf8(part.content) == part.content, "a piece that is not UTF-8");
    out.content += part.content;
    out.calls.insert(out.calls.end(), part.calls.begin(), part.calls.end());
  };
  for (const auto piece : pieces) {
    add(splitter.push(piece));
  }
  add(splitter.finish());
  return out;
}

void check_splitter(std::string_view reply) {
  const auto whole = split({reply}, true), pieces = split(fuzz::pieces_of(reply), true);
  hold(whole.content == pieces.content, "pieces make a difference to the text");
  hold(std::equal(whole.calls.begin(), whole.calls.end(), pieces.calls.begin(), pieces.calls.end(),
                  [](const ToolCall& a, const ToolCall& b) {
                    return a.name == b.name && a.arguments == b.arguments;
                  }),
       "pieces make a difference to the calls");
  for (const auto& call : whole.calls) {
    boost::system::error_code error;
    const bool endless = call.arguments.find("1e99999") != std::string::npos;  // how Boost.JSON writes 1e400
    hold(endless || (json::parse(call.arguments, error).is_object() && !error),
         "arguments that are no object");
  }
  const auto plain = split(fuzz::pieces_of(reply, 5), false);
  hold(plain.calls.empty() && plain.content == valid_utf8(reply), "a reply without tools is changed");
  hold(!whole.calls.empty() || whole.content == valid_utf8(reply), "a reply without calls is changed");
}

void check_stops(std::string_view input) {
  const auto line = input.substr(0, input.find('\n'));
  const auto text = input.substr(std::min(line.size() + 1, input.size()));
  std::vector<std::string> stops;
  for (std::size_t at = 0; at <= line.size();) {
    const auto end = std::min(line.find('|', at), line.size());
    if (end > at) {
      stops.emplace_back(line.substr(at, end - at));
    }
    at = end + 1;
  }
  // The one that is complete first, and of those the longest.
  std::optional<std::string> expected;
  std::size_t first_end = std::string_view::npos, begin = text.size();
  for (const auto& stop : stops) {
    const auto at = text.find(stop);
    if (at != std::string_view::npos &&
        (at + stop.size() < first_end || (at + stop.size() == first_end && at < begin))) {
      first_end = at + stop.size();
      begin = at;
      expected = stop;
    }
  }
  for (const auto most : {1, 3, 12}) {
    StopMatcher matcher(stops);
    std::string out;
    for (const auto piece : fuzz::pieces_of(text, static_cast<std::size_t>(most))) {
      out += matcher.push(piece);
    }
    out += matcher.finish();
    hold(matcher.matched() == expected, "another stop string is found");
    hold(out == text.substr(0, begin), "another text is let out");
  }
}

void check_utf8(std::string_view bytes) {
  const auto whole = valid_utf8(bytes);
  Utf8Stream stream;
  std::string pieces;
  for (const auto piece : fuzz::pieces_of(bytes, 20)) {
    pieces += stream.push(piece);
  }
  pieces += stream.finish();
  hold(pieces == whole, "pieces make a difference");
  hold(valid_utf8(whole) == whole, "what is UTF-8 is changed");
  hold(is_json("\"" + json::serialize(json::string(whole)).substr(1)), "what comes out is not UTF-8");
}

void check_fault(std::string_view text) {
  const auto setting = parse_fault(text);
  if (!setting) {
    hold(!setting.error().message.empty(), "an error without words");
    return;
  }
  const auto written = format_fault(*setting);
  const auto again = parse_fault(written);
  hold(again && format_fault(*again) == written, "a fault is not read back as it was written");
}

void check(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const auto rest = input.substr(1);
  switch (input.front()) {
    case 'r':
      return check_request(rest);
    case 't':
      return check_tokens(rest);
    case 'p':
      return check_splitter(rest);
    case 'm':
      return check_stops(rest);
    case 'u':
      return check_utf8(rest);
    default:
      return check_fault(rest);
  }
}

}  // namespace
}  // namespace fireboss::engine

int main(int argc, char** argv) {
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"get","parameters":{"type":"object","n":[1,2.5,-0.0,1e-7,"é\u0001"]}}}])";
  return fireboss::fuzz::run(
      {.name = "chat",
       .check = fireboss::engine::check,
       .seeds =
           {R"(r{"messages":[{"role":"user","content":"Hi <|end|>"}]})",
            R"(r{"model":"m","messages":[{"role":"system","content":"You"},{"role":"user","content":[{"type":"text","text":"a"}]}],"stream":true,"stream_options":{"include_usage":true},"stop":["x","yy"],"seed":-1,"top_k":-1,"top_p":0.9,"temperature":0,"max_tokens":5,"logprobs":true,"top_logprobs":3})",
            R"(r{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"get","arguments":"{\"a\":1}"}}]},{"role":"tool","content":"42"}],"tool_choice":{"type":"function","function":{"name":"get"}},)" +
                tools + "}",
            R"(r{"messages":[{"role":"developer","content":"d"}],"tool_choice":"required","n":1,"response_format":{"type":"text"},"logit_bias":{},)" +
                tools + "}",
            "tHello,  it's 12\n\n <tool_call>\xC3\xA9\xFF",
            "p<tool_call>{\"name\":\"get\",\"arguments\":{\"a\":[1]}}</tool_call> and "
            "<tool_call>{]</tool_call><tool",
            "mab|bc|abcd|<|end|>\nxxabcdab<|end", "u\xF0\x9F\x94\xA5\xC3\xA9\xE2\x82\xED\xA0\x80",
            "fdegrade=half-age=30s,offset=10s,speed=1.5,chance=0.25,skip=3,count=1,after=1h,for=2m",
            "fslow=pause=250ms", "ferror500"},
       .tokens = {"<|end|>",
                  "<|system|>",
                  "<tool_call>",
                  "</tool_call>",
                  "\"messages\":[",
                  "\"role\":\"tool\"",
                  "\"content\":",
                  "\"tools\":[",
                  "\"tool_choice\":\"auto\"",
                  "\"stop\":",
                  "\"function\":{\"name\":",
                  "\"arguments\":",
                  "\"logprobs\":true",
                  "\"max_completion_tokens\":",
                  "{\"type\":\"text\",\"text\":\"",
                  "=half-age=",
                  ",count=",
                  "|",
                  "'re",
                  "  "},
       .max_size = 4096,
       .heap_fixed = std::size_t{16} << 20,
       .heap_per_byte = 512},
      argc, argv);
}
