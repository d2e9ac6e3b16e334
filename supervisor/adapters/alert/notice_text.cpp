#include "supervisor/adapters/alert/notice_text.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/one_line.h"
#include "supervisor/config/read_file.h"

namespace fireboss::alert {
namespace json = boost::json;
namespace {

constexpr std::size_t kMostText = 4096, kMostName = 256;
constexpr int kWebhookVersion = 1;
// Of sd_journal_send(3): random, fixed; raised and resolved.
constexpr std::string_view kRaisedId = "7d1c1f0a3f5b4d0f9b9c8e6a0f2d4b61",
                           kResolvedId = "c2a4e9b85d0e4a7c8f3b1d6e7a905c32";

std::string_view state_of(const ports::Notice& notice) {
  return notice.test ? "test" : notice.resolved ? "resolved" : "firing";
}

std::string line(std::string_view text, std::size_t most) {
  return one_line(clean(text, most), most);
}

// syslog(3).
int priority(const ports::Notice& notice) {
  if (notice.test || notice.resolved)
    return 5;
  return notice.severity == "critical" ? 2 : notice.severity == "warning" ? 4 : 6;
}

}  // namespace

std::string clean(std::string_view text, std::size_t most) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  const bool cut = text.size() > most;
  if (cut)
    text = text.substr(0, most);
  std::string out;
  while (!text.empty()) {
    const auto valid = config::utf8_valid_length(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    // The beginning of a character whose rest was cut off is no rubbish.
    const bool torn =
        cut && text.size() < 4 && !text.empty() && static_cast<unsigned char>(text.front()) >= 0xc2;
    if (torn)
      break;
    if (!text.empty()) {
      out += kReplacement;
      text.remove_prefix(1);
    }
  }
  return cut ? out + "..." : out;
}

std::string summary(const ports::Notice& notice) {
  auto whose = notice.engine.empty() ? notice.host : notice.engine + " on " + notice.host;
  return line(
      "[" + std::string(state_of(notice)) + "] " + notice.severity + ": " + whose + ": " + notice.text,
      kMostText);
}

std::string webhook_body(const ports::Notice& notice, const std::string& link) {
  json::object body;
  body["version"] = kWebhookVersion;
  body["text"] = summary(notice);
  body["id"] = notice.id;
  body["status"] = notice.resolved ? "resolved" : "firing";
  body["severity"] = clean(notice.severity, kMostName);
  body["host"] = clean(notice.host, kMostName);
  body["engine"] = clean(notice.engine, kMostName);
  body["key"] = clean(notice.key, kMostName);
  body["reason"] = clean(notice.text, kMostText);
  body["raised"] = format_wall(notice.raised);
  body["resolved"] = notice.resolved ? json::value(format_wall(*notice.resolved)) : json::value(nullptr);
  body["test"] = notice.test;
  if (!link.empty())
    body["link"] = link;
  return json::serialize(body);
}

std::string alertmanager_body(const ports::Notice& notice, const std::string& link, WallTime now) {
  json::object labels;
  labels["alertname"] = notice.test ? "FirebossTest" : "Fireboss";
  // An empty label is no label.
  const auto label = [&](const char* name, const std::string& value) {
    if (!value.empty())
      labels[name] = clean(value, kMostName);
  };
  label("severity", notice.severity);
  label("host", notice.host);
  label("engine", notice.engine);
  label("key", notice.key);
  json::object alert;
  alert["labels"] = std::move(labels);
  alert["annotations"] = json::object{
      {"summary", summary(notice)}, {"description", clean(notice.text, kMostText)}, {"id", notice.id}};
  alert["startsAt"] = format_wall(notice.raised);
  alert["endsAt"] =
      format_wall(notice.resolved ? *notice.resolved : now + (notice.test ? kTestFor : kFiringFor));
  if (!link.empty())
    alert["generatorURL"] = link;
  return json::serialize(json::array{std::move(alert)});
}

std::string exec_text(const ports::Notice& notice, const std::string& link) {
  std::string out = summary(notice) + "\n";
  const auto field = [&](const char* name, const std::string& value) {
    out += std::string(name) + ": " + line(value, kMostText) + "\n";
  };
  field("status", notice.resolved ? "resolved" : "firing");
  field("severity", notice.severity);
  field("host", notice.host);
  field("engine", notice.engine);
  field("key", notice.key);
  field("raised", format_wall(notice.raised));
  field("resolved", notice.resolved ? format_wall(*notice.resolved) : "");
  field("id", notice.id);
  field("test", notice.test ? "true" : "false");
  field("link", link);
  field("reason", notice.text);
  return out;
}

std::vector<std::pair<std::string, std::string>> journal_fields(const ports::Notice& notice,
                                                                const std::string& link) {
  std::vector<std::pair<std::string, std::string>> fields{
      {"MESSAGE", summary(notice)},
      {"PRIORITY", std::to_string(priority(notice))},
      {"MESSAGE_ID", std::string(notice.resolved ? kResolvedId : kRaisedId)},
      {"SYSLOG_IDENTIFIER", "fireboss"},
      {"FIREBOSS_ENGINE", line(notice.engine, kMostName)},
      {"FIREBOSS_ALERT_KEY", line(notice.key, kMostName)},
      {"FIREBOSS_ALERT_ID", notice.id},
      {"FIREBOSS_ALERT_STATE", std::string(state_of(notice))},
      {"FIREBOSS_ALERT_SEVERITY", line(notice.severity, kMostName)},
      {"FIREBOSS_ALERT_RAISED", format_wall(notice.raised)},
      {"FIREBOSS_HOST", line(notice.host, kMostName)},
  };
  if (!link.empty())
    fields.emplace_back("FIREBOSS_LINK", link);
  return fields;
}

}  // namespace fireboss::alert
