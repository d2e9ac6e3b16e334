#include "supervisor/config/load_suite.h"

#include <filesystem>

#include "canary/suite/make_suite.h"
#include "supervisor/config/read_file.h"

namespace fireboss::config {
namespace {

// A relative path belongs to the folder of the file that names it.
std::string resolve(const std::string& path, const Place& named_at) {
  const std::filesystem::path given(path);
  if (given.is_absolute())
    return path;
  return (std::filesystem::path(named_at.file).parent_path() / given).lexically_normal().string();
}

// Text of `KEY` or of the file that `KEY_file` names.
canary::SuiteText text_of(const RawSection& section, const std::string& key, Findings& findings) {
  const auto* in_place = section.text(key);
  const auto* path = section.text(key + "_file");
  if (in_place != nullptr && path != nullptr) {
    findings.error(section.where(key + "_file"),
                   "'" + key + "' and '" + key + "_file' are both set: keep one");
    return {};
  }
  if (in_place != nullptr)
    return {"", *in_place};
  if (path == nullptr)
    return {};
  const auto& place = section.where(key + "_file");
  if (path->empty()) {
    findings.error(place, "'" + key + "_file' is empty: name a file or leave the key out");
    return {};
  }
  const auto file = resolve(*path, place);
  auto text = read_file(file);
  if (!text) {
    findings.error(place, "'" + key + "_file': " + text.error().message);
    return {};
  }
  if (const auto valid = utf8_valid_length(*text); valid != text->size()) {
    findings.error(place, "'" + key + "_file': " + file + " is not UTF-8: first bad byte at offset " +
                              std::to_string(valid));
    return {};
  }
  return {file, std::move(*text)};
}

void read_own_file(RawEngine& engine, Findings& findings) {
  const auto* path = engine.section.text("suite");
  if (path == nullptr)
    return;
  const Place place = engine.section.where("suite");
  const auto file = resolve(*path, place);
  auto text = read_file(file);
  if (!text) {
    findings.error(place, "'suite': " + text.error().message);
    return;
  }
  parse_suite(*text, file, engine.section, findings);
}

}  // namespace

std::optional<canary::Suite> load_suite(RawEngine& engine, Findings& findings) {
  const auto errors_before = findings.errors().size();
  read_own_file(engine, findings);
  const auto& section = engine.section;
  canary::SuiteSource source;
  const auto text = [&](const char* key, std::string& into) {
    if (const auto* value = section.text(key))
      into = *value;
  };
  source.name = engine.name;
  text("suite.name", source.name);
  text("suite.api", source.api);
  text("suite.model", source.model);
  text("suite.base_path", source.base_path);
  text("suite.api_key_credential", source.api_key_credential);
  text("suite.extra_body", source.extra_body);
  text("suite.reasoning", source.reasoning);
  text("suite.cold_by", source.cold_by);
  if (const auto* value = section.integer("suite.max_tokens"))
    source.max_tokens = *value;
  if (const auto* value = section.map("suite.headers"))
    source.headers = *value;
  if (const auto* value = section.list("suite.special_tokens"))
    source.special_tokens = *value;
  if (const auto* value = section.list("suite.variants"))
    source.variants = *value;
  else if (const auto* chosen = section.list("canary.variants"))
    source.variants = *chosen;
  source.system_prompt = text_of(section, "suite.system_prompt", findings);
  source.tools = text_of(section, "suite.tools", findings);

  auto suite = canary::make_suite(source);
  if (suite && suite->system_prompt.empty() && suite->tools.empty())
    findings.warn(
        section.where("suite.system_prompt"),
        "engine '" + engine.name +
            "': its suite has no system prompt and no tools: the bare prompt is the shape that stays "
            "green while what your callers send fails; give suite.system_prompt_file and "
            "suite.tools_file");
  if (suite && findings.errors().size() == errors_before)
    return std::move(*suite);
  if (!suite) {
    for (const auto& problem : suite.error()) {
      auto key = "suite." + problem.key;
      if (section.find(key) == nullptr && section.find(key + "_file") != nullptr)
        key += "_file";
      // Variants that came from [canary] are blamed there.
      if (problem.key == "variants" && section.find(key) == nullptr)
        key = "canary.variants";
      findings.error(section.where(key),
                     problem.key.empty() ? problem.message : "'" + key + "': " + problem.message);
    }
  }
  return std::nullopt;
}

}  // namespace fireboss::config
