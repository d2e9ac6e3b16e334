#pragma once
// The drill model and its reference, for tests.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "engine/chat/conversation.h"
#include "engine/gguf/gguf.h"
#include "engine/model/weights.h"
#include "engine/tokenizer/tokenizer.h"

namespace fireboss::engine {

inline std::filesystem::path drill_path(const char* file) {
  return std::filesystem::path(FIREBOSS_SOURCE_DIR) / "engine/models/drill" / file;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Drill {
  MappedFile file;
  Gguf gguf;
  Weights weights;
  Tokenizer tokenizer;
  ChatTokens tokens;

  // Loaded once a test program.
  static const Drill& get() {
    static const Drill* const kDrill = [] {
      const auto path = drill_path("drill-f16.gguf").string();
      auto mapped = MappedFile::open(path);
      auto parsed = Gguf::parse(mapped.value().bytes(), path);
      auto loaded = Weights::load(parsed.value());
      auto texts = Tokenizer::load(*parsed);
      const auto found = ChatTokens::find(texts.value());
      return new Drill{std::move(*mapped), std::move(*parsed), std::move(loaded.value()), std::move(*texts),
                       found.value()};
    }();
    return *kDrill;
  }
};

// One line of reference.jsonl.
struct Reference {
  std::string name;
  Conversation conversation;
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> reply_ids;
  std::vector<std::vector<std::pair<TokenId, double>>> top5;  // a row for every reply token
};

inline std::vector<Reference> references() {
  auto system = read_file(drill_path("system_prompt.md"));
  system.erase(system.find_last_not_of(" \n") + 1);
  const auto tools = boost::json::parse(read_file(drill_path("tools.json")));
  std::vector<Reference> out;
  std::ifstream in(drill_path("reference.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto value = boost::json::parse(line);
    Reference reference;
    reference.name = value.at("name").as_string().c_str();
    boost::json::object request{{"messages", value.at("messages")}};
    for (auto& message : request.at("messages").as_array()) {
      auto& content = message.at("content");
      if (content == "@system_prompt.md") {
        content = system;
      }
    }
    if (value.at("tools").as_bool()) {
      request["tools"] = tools;
    }
    reference.conversation = parse_conversation(request).value();
    reference.prompt_ids = boost::json::value_to<std::vector<TokenId>>(value.at("prompt_ids"));
    reference.reply_ids = boost::json::value_to<std::vector<TokenId>>(value.at("reply_ids"));
    for (const auto& row : value.at("top5").as_array()) {
      auto& top = reference.top5.emplace_back();
      for (const auto& entry : row.as_array()) {
        top.emplace_back(boost::json::value_to<TokenId>(entry.at(0)), entry.at(1).to_number<double>());
      }
    }
    out.push_back(std::move(reference));
  }
  EXPECT_EQ(out.size(), 5U);
  return out;
}

}  // namespace fireboss::engine
