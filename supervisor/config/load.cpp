#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "supervisor/config/build.h"
#include "supervisor/config/config.h"
#include "supervisor/config/raw.h"
#include "supervisor/config/read_file.h"

namespace fireboss::config {
namespace {

constexpr std::size_t kMaxFiles = 256;

// conf.d/*.toml beside the main file, sorted by name; none if there is no such folder.
std::vector<std::string> drop_ins(const std::string& path, Findings& findings) {
  const auto folder = std::filesystem::path(path).parent_path() / "conf.d";
  std::vector<std::string> out;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory)
    return out;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    if (const auto& file = entries->path();
        file.extension() == ".toml" && !file.filename().string().starts_with('.'))
      out.push_back(file.string());
  if (error)
    findings.error({folder.string()}, "cannot read the folder: " + error.message());
  std::sort(out.begin(), out.end());
  if (out.size() > kMaxFiles) {
    findings.error({folder.string()}, "holds more than " + std::to_string(kMaxFiles) + " files");
    out.resize(kMaxFiles);
  }
  return out;
}

// By file in the order of reading (files that those name come last), then by place.
std::vector<Diagnostic> in_order(std::vector<Diagnostic> diagnostics, const std::vector<std::string>& files) {
  const auto key = [&](const Diagnostic& d) {
    return std::tuple(std::find(files.begin(), files.end(), d.file) - files.begin(), d.file, d.line,
                      d.column);
  };
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  return diagnostics;
}

// The place of the finding names the file already.
std::string without_path(std::string message, const std::string& path) {
  if (const auto at = message.find(path); at != std::string::npos) {
    message.erase(at, path.size());
    if (at < message.size() && message[at] == ' ')
      message.erase(at, 1);
    else if (at > 0 && message[at - 1] == ' ')
      message.erase(at - 1, 1);
  }
  return message;
}

}  // namespace

Loaded load(const std::string& path) {
  Findings findings;
  RawConfig raw;
  std::vector<std::string> files{path};
  for (auto& file : drop_ins(path, findings))
    files.push_back(std::move(file));
  for (const auto& file : files) {
    bool writable_by_others = false;
    const auto text = read_file(file, &writable_by_others);
    if (!text) {
      const bool missing = text.error().code == ErrorCode::kNotFound;
      findings.error({file}, without_path(text.error().message, file) +
                                 (missing ? "; begin with the commented example, "
                                            "/usr/share/doc/fireboss/examples/fireboss.toml"
                                          : ""));
      continue;
    }
    if (writable_by_others)
      findings.warn({file}, "may be written by group or others; run `chmod go-w` on it");
    parse_config(*text, file, raw, findings);
  }
  const bool none = raw.engines.empty() && findings.errors().empty();
  auto config = build(std::move(raw), findings);
  if (none)
    findings.warn({path}, "no engine is configured: add an [engine.NAME] here or in conf.d/");
  config.files = std::move(files);
  Loaded loaded;
  loaded.errors = in_order(findings.errors(), config.files);
  loaded.warnings = in_order(findings.warnings(), config.files);
  if (loaded.errors.empty())
    loaded.config = std::move(config);
  return loaded;
}

}  // namespace fireboss::config
