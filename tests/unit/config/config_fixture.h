#pragma once
// A folder with configuration files that vanishes with the test.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "supervisor/config/config.h"

namespace fireboss::config {

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fireboss-config-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      std::abort();
    folder_ = name;
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  }
  ~ConfigTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Relative to the folder; folders on the way are made.
  std::string put(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    std::filesystem::permissions(path,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path.string();
  }
  std::string main_file() { return folder_ + "/fireboss.toml"; }

  Loaded load_text(const std::string& text) {
    put("fireboss.toml", text);
    return load(main_file());
  }
  // Of one engine with these lines below unit and port.
  Loaded load_engine(const std::string& lines) {
    return load_text("[engine.vllm]\nunit = \"vllm.service\"\nport = 8000\n" + lines);
  }
  // The errors of one engine with these lines below unit and port, without the file's name: "LINE:COLUMN:
  // TEXT".
  std::vector<std::string> errors(const std::string& lines) { return short_errors(load_engine(lines)); }
  std::vector<std::string> short_errors(const Loaded& loaded) {
    EXPECT_EQ(loaded.config.has_value(), loaded.errors.empty());
    std::vector<std::string> out;
    for (const auto& error : loaded.errors)
      out.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + ": " + error.message);
    return out;
  }
  // The one engine of a configuration that must be right.
  Engine engine_of(const Loaded& loaded) {
    for (const auto& error : loaded.errors)
      ADD_FAILURE() << error.text();
    if (!loaded.config || loaded.config->engines.empty()) {
      ADD_FAILURE() << "no engine";
      return {};
    }
    return loaded.config->engines.front();
  }

  std::string folder_;
};

}  // namespace fireboss::config
