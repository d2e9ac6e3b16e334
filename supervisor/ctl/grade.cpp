// fireboss grade: written cases in, verdicts out, a line each.
#include "canary/grade/grade.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/clock/system_clock.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/progress.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace {

// Far above any case; a line without an end must not take all memory.
constexpr std::size_t kMaxLine = 16 * 1024 * 1024;

enum class Read { kLine, kTooLong, kEnd };

Read read_line(std::istream& in, std::string& line) {
  line.clear();
  bool too_long = false;
  std::streambuf& bytes = *in.rdbuf();
  constexpr int kEof = std::char_traits<char>::eof();
  for (int byte = bytes.sbumpc();; byte = bytes.sbumpc()) {
    if (byte == kEof && line.empty() && !too_long) {
      return Read::kEnd;
    }
    if (byte == kEof || byte == '\n') {
      return too_long ? Read::kTooLong : Read::kLine;
    }
    too_long = too_long || line.size() == kMaxLine;
    if (!too_long) {
      line.push_back(static_cast<char>(byte));
    }
  }
}

void complain(Context& context, const std::string& name, std::size_t number, const std::string& what) {
  if (context.json)
    return report(context, {ErrorCode::kInvalid, name + ":" + std::to_string(number) + ": " + what});
  std::fprintf(stderr, "%s:%zu: %s\n", escape(name).c_str(), number, escape(what).c_str());
}

// True if every line could be graded. A bad line is reported and the others are graded all the same.
bool grade_lines(Context& context, std::istream& in, const std::string& name) {
  bool all = true, any = false;
  std::string line;
  std::size_t number = 1;
  const clock::SystemClock clock;
  Progress progress(clock, progress_can_be_seen(true));
  for (Read read = read_line(in, line); read != Read::kEnd; read = read_line(in, line), ++number) {
    if (read == Read::kTooLong) {
      complain(context, name, number, "the line is longer than " + format_size(kMaxLine));
      all = false;
      continue;
    }
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    any = true;
    if (progress.due()) {
      progress.print("graded up to line " + std::to_string(number));
    }
    const auto graded = canary::grade_case(line);
    if (!graded) {
      complain(context, name, number, graded.error().message);
      all = false;
      continue;
    }
    std::printf("%s\n", boost::json::serialize(*graded).c_str());
  }
  if (all && !any) {
    report(context, {ErrorCode::kInvalid,
                     name + ": no case in it: give lines {\"id\": ..., \"task\": ..., \"response\": ...}"});
    return false;
  }
  return all && !in.bad();
}

void run_grade(Context& context, const std::string& path) {
  bool all = false;
  if (path == "-") {
    all = grade_lines(context, std::cin, "stdin");
  } else {
    std::ifstream file(path, std::ios::binary);
    // A directory opens, too, and then reads nothing.
    if (!file || (file.peek() == std::ifstream::traits_type::eof() && file.bad())) {
      report(context, {ErrorCode::kNotFound,
                       "cannot read " + path + "; name a file of cases, or - for standard input"});
    } else {
      all = grade_lines(context, file, path);
    }
  }
  if (std::fflush(stdout) != 0) {
    report(context, {ErrorCode::kFull, "the verdicts could not be written"});
    all = false;
  }
  context.exit_code = all ? kOk : kUnknown;
}

}  // namespace

void add_grade(CLI::App& app, Context& context) {
  auto* grade = app.add_subcommand(
      "grade", "Grade written replies: lines {\"id\",\"task\",\"response\"} in, a verdict a line out");
  const auto path = std::make_shared<std::string>();
  grade->add_option("file", *path, "JSON lines, or - for standard input")->required();
  grade->callback([&context, path] { run_grade(context, *path); });
}

}  // namespace fireboss::ctl
