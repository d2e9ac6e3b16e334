// fireboss journal scan: an engine's or the kernel's log in, the signatures that are in it out, a JSON line
// each.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/os/file_descriptor.h"
#include "probes/journal/scanner.h"
#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/progress.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
constexpr std::size_t kMaxSignatureFile = 4 * 1024 * 1024;

struct Options {
  std::string file, signatures;
  probes::Whose whose;
};

FileDescriptor open_input(const std::string& path) {
  return FileDescriptor(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Error file_error(const std::string& path, int number) {
  const char* words = strerrordesc_np(number);
  return {number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
          path + ": " + (words != nullptr ? words : "cannot be read") +
              ": give a readable file, or - for standard input"};
}

Result<probes::SignatureSet> load_signatures(const std::string& path) {
  if (path.empty())
    return probes::SignatureSet::builtin();
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxSignatureFile + 1, '\0');
  if (!file)
    return fail(ErrorCode::kNotFound, path + ": cannot be opened");
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxSignatureFile)
    return fail(ErrorCode::kInvalid, path + ": larger than " + format_size(kMaxSignatureFile));
  return probes::SignatureSet::parse(text, path);
}

Result<std::vector<probes::Finding>> scan(const Options& options, const probes::SignatureSet& signatures) {
  const auto input = open_input(options.file);
  if (!input)
    return fail(file_error(options.file, errno));
  probes::Scanner scanner(signatures, options.whose);
  const clock::SystemClock clock;
  Progress progress(clock, progress_can_be_seen(false));
  std::uint64_t bytes = 0;
  std::string buffer(kChunk, '\0');
  for (;;) {
    const ssize_t got = read(input.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(file_error(options.file, errno));
    if (got == 0)
      break;
    scanner.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
    bytes += static_cast<std::uint64_t>(got);
    if (progress.due())
      progress.print("read " + format_size(bytes >> 20 << 20));
  }
  return scanner.finish();
}

void run(Context& context, const Options& options) {
  const auto signatures = load_signatures(options.signatures);
  const auto findings = signatures ? scan(options, *signatures) : fail(signatures.error());
  if (!findings)
    return report(context, findings.error());
  for (const auto& finding : *findings) {
    const auto& signature = signatures->all()[finding.signature];
    const boost::json::object line{{"signature", signature.name},
                                   {"class", signature.signature_class},
                                   {"count", finding.count},
                                   {"first_line", finding.first_line},
                                   {"text", escape(finding.first_text)}};
    std::puts(boost::json::serialize(line).c_str());
  }
}

}  // namespace

void add_journal(CLI::App& app, Context& context) {
  auto* journal = app.add_subcommand("journal", "What an engine's log says");
  journal->require_subcommand(1);
  auto* verb = journal->add_subcommand("scan",
                                       "Look for signatures of death in a log of an engine or the kernel. "
                                       "Prints {\"signature\", \"class\", \"count\", "
                                       "\"first_line\", \"text\"} a line, in the order of their first lines: "
                                       "first_line is that line's number (from 1), text "
                                       "its text, escaped. Nothing found: no output. Exit status 0, also "
                                       "with findings; 3 if the log cannot be read");
  auto options = std::make_shared<Options>();
  verb->add_option("file", options->file, "The log, or - for standard input")->required();
  verb->add_option("--signatures", options->signatures, "Use this file instead of the built-in signatures");
  verb->add_option(
      "--pid", options->whose.pids,
      "The engine's processes: kernel lines that name another one are left out (may be repeated)");
  verb->add_option("--unit", options->whose.unit,
                   "The engine's unit: systemd's lines about another one are left out");
  verb->callback([&context, options] { run(context, *options); });
}

}  // namespace fireboss::ctl
