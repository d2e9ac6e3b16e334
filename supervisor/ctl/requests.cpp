// The verbs that ask firebossd to do something: mode, restart, canary run, canary calibrate.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "supervisor/adapters/sqlite/reader.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/control_client.h"
#include "supervisor/ctl/escape.h"
#include "supervisor/ctl/settings.h"

namespace fireboss::ctl {
namespace json = boost::json;
namespace {

// A call of an engine may take its whole deadline; a step of an operation several minutes.
constexpr Millis kPatience{20 * 60'000};

std::string text_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? escape(std::string_view(value->get_string()))
                                                : std::string();
}

std::optional<json::object> ask_daemon(Context& context, const json::object& request) {
  const auto config = load_config(context);
  if (!config) {
    report(context, config.error());
    return std::nullopt;
  }
  const auto answer = ask(
      config->control_socket, request,
      [](std::string_view line) { std::fprintf(stderr, "%s\n", escape(line).c_str()); }, kPatience);
  if (!answer) {
    report(context, answer.error());
    return std::nullopt;
  }
  if (context.json)
    std::printf("%s\n", json::serialize(*answer).c_str());
  return answer->is_object() ? answer->get_object() : json::object();
}

void print_decisions(const json::object& answer) {
  if (const auto* decisions = answer.if_contains("decisions"); decisions != nullptr && decisions->is_array())
    for (const auto& decision : decisions->get_array())
      if (decision.is_object())
        std::printf("%s: %s\n", text_of(decision.get_object(), "decision").c_str(),
                    text_of(decision.get_object(), "reason").c_str());
}

void print_lines(const json::object& answer, std::string_view key) {
  if (const auto* lines = answer.if_contains(key); lines != nullptr && lines->is_array())
    for (const auto& line : lines->get_array())
      if (line.is_string())
        std::printf("%s\n", escape(std::string_view(line.get_string())).c_str());
}

void mode(Context& context, const std::string& engine, const std::string& to) {
  const auto answer = ask_daemon(context, {{"verb", "mode"}, {"engine", engine}, {"to", to}});
  if (answer && !context.json)
    std::printf("%s: mode %s\n", text_of(*answer, "engine").c_str(), text_of(*answer, "mode").c_str());
  if (answer && !context.json)
    print_lines(*answer, "notes");
}

// Nothing new was said: what was said last still stands.
void print_standing_decision(const Context& context, const std::string& engine) {
  const auto config = load_config(context);
  const auto reader = config ? sqlite::Reader::open(config->database) : fail(config.error());
  const auto rows = reader ? (*reader)->decisions(engine, 1) : fail(reader.error());
  if (rows && !rows->empty())
    std::printf("as before (#%lld): %s: %s\n", static_cast<long long>(rows->front().id),
                rows->front().kind.c_str(), escape(rows->front().reason).c_str());
  else
    std::printf("nothing was decided%s\n", rows ? "" : escape(": " + rows.error().message).c_str());
}

void restart(Context& context, const std::string& engine, const std::string& why) {
  const auto answer = ask_daemon(context, {{"verb", "restart"}, {"engine", engine}, {"why", why}});
  if (!answer)
    return;
  const auto outcome = text_of(*answer, "outcome");
  context.exit_code = outcome == "clean" ? kOk : kCritical;
  if (context.json)
    return;
  print_decisions(*answer);
  const auto* decisions = answer->if_contains("decisions");
  if (outcome.empty() && (decisions == nullptr || !decisions->is_array() || decisions->get_array().empty()))
    print_standing_decision(context, text_of(*answer, "engine"));
  std::printf("%s\n", outcome.empty() ? "not begun" : ("restart: " + outcome).c_str());
}

void canary_run(Context& context, const std::string& engine, const std::string& variant) {
  const auto answer = ask_daemon(context, {{"verb", "canary.run"}, {"engine", engine}, {"variant", variant}});
  if (!answer)
    return;
  int failed = 0, passed = 0, number = 0;
  const auto* calls = answer->if_contains("calls");
  if (calls != nullptr && calls->is_array())
    for (const auto& value : calls->get_array()) {
      if (!value.is_object())
        continue;
      const auto& call = value.get_object();
      const auto grade = text_of(call, "grade");
      failed += grade == "fail" ? 1 : 0;
      passed += grade == "pass" ? 1 : 0;
      if (!context.json)
        std::printf("call %d: %s (%s)%s%s\n", ++number, grade.c_str(), text_of(call, "verdict").c_str(),
                    text_of(call, "reason").empty() ? "" : ": ", text_of(call, "reason").c_str());
    }
  context.exit_code = failed > 0 ? kCritical : passed > 0 ? kOk : kUnknown;
  if (!context.json)
    print_decisions(*answer);
}

struct CalibrateOptions {
  std::string engine;
  std::vector<std::string> calls;
};

void calibrate(Context& context, const CalibrateOptions& options) {
  json::object calls;
  for (const auto& text : options.calls) {
    const auto equals = text.find('=');
    char* end = nullptr;
    const auto number = equals == std::string::npos ? 0 : std::strtol(text.c_str() + equals + 1, &end, 10);
    if (number < 1 || end == nullptr || *end != '\0')
      return report(context, {ErrorCode::kInvalid,
                              "--calls takes VARIANT=NUMBER, such as chat-cold=4, not '" + text + "'"});
    calls[text.substr(0, equals)] = number;
  }
  const auto answer = ask_daemon(
      context, {{"verb", "canary.calibrate"}, {"engine", options.engine}, {"calls", std::move(calls)}});
  if (!answer)
    return;
  const auto* allowed = answer->if_contains("enforce_allowed");
  context.exit_code = allowed != nullptr && allowed->is_bool() && allowed->get_bool() ? kOk : kWarning;
  if (!context.json)
    print_lines(*answer, "report");
}

}  // namespace

void add_requests(CLI::App& app, Context& context) {
  auto* to_mode =
      app.add_subcommand("mode", "Whether an engine is only observed or its restarts are carried out");
  const auto engine = std::make_shared<std::string>();
  const auto to = std::make_shared<std::string>();
  to_mode->add_option("engine", *engine, "Name in the configuration")->required();
  to_mode->add_option("to", *to, "observe or enforce")
      ->required()
      ->check(CLI::IsMember({"observe", "enforce"}));
  to_mode->callback([&context, engine, to] { mode(context, *engine, *to); });

  auto* again = app.add_subcommand("restart", "Restart an engine by the whole procedure, and verify it");
  const auto why = std::make_shared<std::string>();
  again->add_option("engine", *engine, "Name in the configuration")->required();
  again->add_option("--why", *why, "For the record");
  again->callback([&context, engine, why] { restart(context, *engine, *why); });
}

void add_canary(CLI::App& app, Context& context) {
  auto& canary = *app.add_subcommand("canary", "The questions that an engine is asked");
  canary.require_subcommand(1);
  canary.fallthrough();
  auto* once = canary.add_subcommand(
      "run", "Ask one run now; exit status 0 all right, 2 a call failed, 3 not measured");
  const auto engine = std::make_shared<std::string>();
  const auto variant = std::make_shared<std::string>();
  once->add_option("engine", *engine, "Name in the configuration")->required();
  once->add_option("--variant", *variant, "Default: the suite's first");
  once->callback([&context, engine, variant] { canary_run(context, *engine, *variant); });

  auto* measure = canary.add_subcommand("calibrate",
                                        "Measure the healthy engine's error rate and latency; enforce "
                                        "is refused before that. Exit status 0, or 1: too many wrong for "
                                        "enforce");
  const auto options = std::make_shared<CalibrateOptions>();
  measure->add_option("engine", options->engine, "Name in the configuration")->required();
  measure->add_option("--calls", options->calls, "VARIANT=NUMBER, repeatable; 40 a variant otherwise");
  measure->callback([&context, options] { calibrate(context, *options); });
}

}  // namespace fireboss::ctl
