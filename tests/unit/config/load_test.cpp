#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/config/config.h"
#include "tests/unit/config/config_fixture.h"

namespace fireboss::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using LoadTest = ConfigTest;

TEST_F(LoadTest, ReadsAMinimalEngineWithEveryDefault) {
  const auto engine = engine_of(load_engine(""));
  EXPECT_EQ(engine.name, "vllm");
  EXPECT_EQ(engine.unit, "vllm.service");
  EXPECT_EQ(engine.host, "127.0.0.1");
  EXPECT_EQ(engine.port, 8000);
  EXPECT_EQ(engine.listener, ListenerCheck::kScope);
  EXPECT_EQ(engine.adapter, Adapter::kAuto);
  EXPECT_EQ(engine.policy.mode, policy::Mode::kObserve);
  EXPECT_THAT(engine.policy.variants, ElementsAre("chat", "chat-stream", "chat-cold"));
  EXPECT_EQ(engine.suite.name, "vllm");
  EXPECT_EQ(engine.policy_hash.size(), 64U);
}

TEST_F(LoadTest, ReadsTheDaemonsKeys) {
  const auto loaded = load_text(R"([daemon]
database = "/srv/fb/record.db"
generation_file = "/srv/gen"
lock_directory = "/run/x"
control_socket = "/run/fb.sock"
control_users = ["root", "daemon"]
bus_address = "unix:path=/tmp/bus"
log_level = "debug"
raw_reply_bytes = "8KiB"
)");
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  const auto& config = *loaded.config;
  EXPECT_EQ(config.database, "/srv/fb/record.db");
  EXPECT_EQ(config.generation_file, "/srv/gen");
  EXPECT_EQ(config.lock_directory, "/run/x");
  EXPECT_EQ(config.control_socket, "/run/fb.sock");
  EXPECT_THAT(config.control_users, ElementsAre("root", "daemon"));
  EXPECT_EQ(config.bus_address, "unix:path=/tmp/bus");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.raw_reply_bytes, 8192U);
}

TEST_F(LoadTest, ReadsThePolicyOfAnEngine) {
  const auto engine = engine_of(load_engine(R"(mode = "enforce"
maintenance_grace = "2h"
[engine.vllm.canary]
every = "10m"
n = 8
k = 3
rule = "confirm"
variants = ["chat"]
[engine.vllm.restart]
budget = 3
on_exhausted = "keep_serving"
[engine.vllm.stall]
after = "4m"
[engine.vllm.recycle]
max_age = "1d"
[engine.vllm.traffic]
quiet_for = "2m"
quiet_tokens = 0
)"));
  const auto& policy = engine.policy;
  EXPECT_EQ(policy.mode, policy::Mode::kEnforce);
  EXPECT_EQ(policy.maintenance_grace, std::chrono::hours{2});
  EXPECT_EQ(policy.canary_every, std::chrono::minutes{10});
  EXPECT_EQ(policy.n, 8);
  EXPECT_EQ(policy.k, 3);
  EXPECT_EQ(policy.rule, policy::Rule::kConfirm);
  EXPECT_THAT(policy.variants, ElementsAre("chat"));
  EXPECT_EQ(policy.budget, 3);
  EXPECT_EQ(policy.on_exhausted, policy::OnExhausted::kKeepServing);
  EXPECT_EQ(policy.stall_after, std::chrono::minutes{4});
  EXPECT_EQ(policy.max_age, Millis{std::chrono::hours{24}});
  EXPECT_EQ(policy.quiet_for, std::chrono::minutes{2});
  EXPECT_EQ(policy.quiet_tokens, 0);
  EXPECT_NE(engine.policy_hash, engine_of(load_engine("")).policy_hash);
}

TEST_F(LoadTest, ReadsTheRestOfAnEngine) {
  const auto engine = engine_of(load_text(R"([engine.llama-1]
unit = "llama@0.service"
url = "http://127.0.0.2:8081/"
listener = "any"
adapter = "llama-server"
metrics_path = "/prom"
required_processes = ["worker"]
)"));
  EXPECT_EQ(engine.host, "127.0.0.2");
  EXPECT_EQ(engine.port, 8081);
  EXPECT_EQ(engine.listener, ListenerCheck::kAny);
  EXPECT_EQ(engine.adapter, Adapter::kLlamaServer);
  EXPECT_EQ(engine.metrics_path, "/prom");
  EXPECT_THAT(engine.required_processes, ElementsAre("worker"));
}

TEST_F(LoadTest, TellsEveryErrorOfEveryFileInOnePass) {
  put("fireboss.toml", "[daemon]\nlog_level = \"loud\"\n[engine.a]\nunit = \"a.service\"\nport = 99999\n");
  put("conf.d/20-b.toml", "[engine.b]\nunit = \"\"\nport = 2\n[engine.b.canary]\nn = 0\nk = \"two\"\n");
  put("conf.d/10-broken.toml", "[engine.c\n");
  put("conf.d/ignored.txt", "not = read");
  put("conf.d/.hidden.toml", "not = read");
  const auto loaded = load(main_file());
  EXPECT_FALSE(loaded.config);
  std::vector<std::string> texts;
  for (const auto& error : loaded.errors)
    texts.push_back(error.text().substr(folder_.size() + 1));
  ASSERT_EQ(texts.size(), 6U) << ::testing::PrintToString(texts);
  EXPECT_THAT(texts,
              ElementsAre("fireboss.toml:2:13: 'log_level' must be one of \"trace\", \"debug\", \"info\", "
                          "\"warning\", \"error\", not \"loud\"",
                          "fireboss.toml:5:8: 'port' = 99999 is out of range: 1 to 65535 is allowed",
                          HasSubstr("conf.d/10-broken.toml:1:10: not valid TOML: "),
                          HasSubstr("conf.d/20-b.toml:2:8: 'unit' is empty: name the engine's systemd unit"),
                          "conf.d/20-b.toml:5:5: 'canary.n' 0 is out of range: 1 to 64 is allowed",
                          "conf.d/20-b.toml:6:5: 'canary.k' must be a whole number 1 to 64, not a text"));
}

TEST_F(LoadTest, ReadsDropInsByNameAndSaysWhatWasRead) {
  put("fireboss.toml", "");
  put("conf.d/20.toml", "[engine.b]\nunit = \"b.service\"\nport = 2\n");
  put("conf.d/10.toml", "[engine.a]\nunit = \"a.service\"\nport = 1\n");
  const auto loaded = load(main_file());
  ASSERT_THAT(short_errors(loaded), IsEmpty());
  ASSERT_EQ(loaded.config->engines.size(), 2U);
  EXPECT_EQ(loaded.config->engines[0].name, "a");
  EXPECT_THAT(loaded.config->files,
              ElementsAre(main_file(), folder_ + "/conf.d/10.toml", folder_ + "/conf.d/20.toml"));
}

TEST_F(LoadTest, NamesTheNearestKeyOfTheSameTableFirst) {
  EXPECT_THAT(errors("[engine.vllm.recycle]\nmax_aeg = \"4h\"\n"),
              ElementsAre("5:1: unknown key 'max_aeg' (did you mean 'max_age'?)"));
}
TEST_F(LoadTest, FindsAKeyThatStandsInTheWrongTable) {
  EXPECT_THAT(errors("max_age = \"4h\"\n"),
              ElementsAre("4:1: unknown key 'max_age' (did you mean 'recycle.max_age'?)"));
}
TEST_F(LoadTest, NamesTheKeyOfWhichOnlyTheBeginningWasWritten) {
  EXPECT_THAT(errors("suite.api_key = \"sk-x\"\n"),
              ElementsAre("4:7: unknown key 'api_key' (did you mean 'api_key_credential'?)"));
}
TEST_F(LoadTest, OffersNothingForAKeyThatIsNearNone) {
  EXPECT_THAT(errors("xyzzy = 1\n"), ElementsAre("4:1: unknown key 'xyzzy'"));
}
TEST_F(LoadTest, NamesTheNearestSection) {
  EXPECT_THAT(
      short_errors(load_text("[engin.a]\nunit = \"a.service\"\n[deamon]\n[other]\n")),
      ::testing::UnorderedElementsAre(
          "1:2: unknown section 'engin' (did you mean 'engine'?)",
          "3:2: unknown section 'deamon' (did you mean 'daemon'?)",
          "4:2: unknown section 'other'; there are [daemon], [engine.NAME], [alerts], [alerts.sink.NAME], "
          "[heartbeat], [metrics] and [silence]"));
}

TEST_F(LoadTest, ReadsWhereTheMetricsAreServed) {
  const auto listen = [&](const std::string& at) {
    const auto loaded = load_text("[metrics]\nlisten = \"" + at + "\"\n");
    return loaded.config
               ? loaded.config->metrics.off
                     ? "off"
                     : loaded.config->metrics.address + " " + std::to_string(loaded.config->metrics.port)
               : loaded.errors.front().message;
  };
  EXPECT_EQ(listen("0.0.0.0:9100"), "0.0.0.0 9100");
  EXPECT_EQ(listen("[::1]:65535"), "::1 65535");
  EXPECT_EQ(listen("off"), "off");
  for (const auto* wrong :
       {"", "on", "9717", ":9717", "localhost:9717", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
        "127.0.0.1:65536", "127.0.0.1:97x", "::1:9717", "[::1]", "[]:9717", "[1.2.3.4]:9717"})
    EXPECT_THAT(listen(wrong), ::testing::HasSubstr("must be an IP address and a port")) << wrong;
  EXPECT_THAT(short_errors(load_text("[metrics]\nhosts = [\"gpu1:9717/x\"]\n")),
              ElementsAre(::testing::HasSubstr("2:9: 'hosts' must be host names")));
}
TEST_F(LoadTest, ReadsTheBoundsOfTheDeadManSwitch) {
  const auto loaded = load_text("[silence]\nafter = \"90m\"\ndaemon_after = \"1m\"\n");
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(loaded.config->silence.after, Millis{90 * 60'000});
  EXPECT_EQ(loaded.config->silence.daemon_after, Millis{60'000});
  EXPECT_FALSE(load_text("[silence]\n").config->silence.after);
  EXPECT_THAT(short_errors(load_text("[silence]\nafter = \"4m\"\ndaemon_after = \"soon\"\n"
                                     "state_file = \"x\"\n")),
              ElementsAre(::testing::HasSubstr("2:9: 'after' = 4m is out of range: 5m to 30d"),
                          ::testing::HasSubstr("3:16: 'daemon_after': "),
                          ::testing::HasSubstr("4:14: 'state_file' must be an absolute path")));
}

struct Wrong {
  const char* name;
  const char* lines;  // below unit and port of engine vllm
  const char* error;  // a part of the one error
};
class WrongValueTest : public ConfigTest, public ::testing::WithParamInterface<Wrong> {};

TEST_P(WrongValueTest, IsTheOnlyErrorAndSaysWhatIsAllowed) {
  EXPECT_THAT(errors(GetParam().lines), ElementsAre(HasSubstr(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    Engine, WrongValueTest,
    ::testing::Values(
        Wrong{"KMoreThanN", "[engine.vllm.canary]\nn = 4\nk = 5\n",
              "6:5: 'canary.k' k = 5 is more than n = 4"},
        Wrong{"NZero", "canary.n = 0\n", "4:12: 'canary.n' 0 is out of range: 1 to 64 is allowed"},
        Wrong{"EveryBelowAMinute", "canary.every = \"59s\"\n",
              "'canary.every' 59s is out of range: 1m to 1d"},
        Wrong{"EveryWithoutUnit", "canary.every = \"1800\"\n", "'canary.every' '1800' is not a duration"},
        Wrong{"EveryAsNumber", "canary.every = 1800\n", "'canary.every' must be a text (duration 1m to 1d)"},
        Wrong{"NegativeNumber", "restart.budget = -1\n", "'restart.budget' -1 is out of range: 0 to 100"},
        Wrong{"FractionForANumber", "canary.n = 4.0\n", "'canary.n' must be a whole number"},
        Wrong{"UnknownRule", "canary.rule = \"most\"\n",
              "'canary.rule' must be one of \"k_of_n\", \"confirm\""},
        Wrong{"UnknownMode", "mode = \"Enforce\"\n", "'mode' must be one of \"observe\", \"enforce\""},
        Wrong{"ConfirmNeedsConfirms", "canary.rule = \"confirm\"\ncanary.max_confirms = 0\n",
              "needs max_confirms of at least 1"},
        Wrong{"ConfirmFailuresUnreachable", "canary.rule = \"confirm\"\ncanary.confirm_failures = 9\n",
              "confirm_failures = 9 is more than the 8 calls"},
        Wrong{"UsefulLifeOverWindow", "restart.useful_life = \"7h\"\n", "longer than budget_window = 6h"},
        Wrong{"HookWithoutHooks", "restart.on_exhausted = \"hook\"\n",
              "4:24: 'restart.on_exhausted' = \"hook\": hooks are not supported yet"},
        Wrong{"VariantTwice", "canary.variants = [\"chat\", \"chat\"]\n", "names 'chat' twice"},
        Wrong{"NoVariant", "canary.variants = []\n", "'canary.variants' must not be empty"},
        Wrong{"UnknownVariant", "suite.variants = [\"chat\"]\ncanary.variants = [\"chat-cold\"]\n",
              "'canary.variants' names 'chat-cold', which suite.variants does not have"},
        Wrong{"TableForAValue", "mode = { a = 1 }\n", "'mode' must be a text"},
        Wrong{"ValueForATable", "canary = 4\n", "'canary' is a table, not a value"},
        Wrong{"UrlBesidePort", "url = \"http://127.0.0.1:1\"\n", "'url' is set beside host or port"},
        Wrong{"BadHost", "host = \"http://x\"\n", "'host' must be a host name or an IP address"},
        Wrong{"BadListener", "listener = \"all\"\n", "'listener' must be one of \"scope\", \"any\""},
        Wrong{"BadAdapter", "adapter = \"tgi\"\n", "'adapter' must be one of \"auto\", \"vllm\""},
        Wrong{"BadMetricsPath", "metrics_path = \"metrics\"\n", "'metrics_path' must begin with '/'"},
        Wrong{"EmptyRole", "required_processes = [\"\"]\n", "has an empty text"},
        Wrong{"ListOfNumbers", "required_processes = [1]\n", "'required_processes' must be a list of texts"},
        Wrong{"Scope", "scope = \"container\"\n", "unknown key 'scope'"},
        Wrong{"MissingPromptFile", "suite.system_prompt_file = \"none.txt\"\n",
              "4:28: 'suite.system_prompt_file': cannot read"},
        Wrong{"EmptyPromptFileName", "suite.system_prompt_file = \"\"\n", "is empty: name a file"},
        Wrong{"PromptTwice", "suite.system_prompt_file = \"a\"\nsuite.system_prompt = \"b\"\n",
              "are both set: keep one"},
        Wrong{"MissingSuiteFile", "suite = \"none.toml\"\n", "4:9: 'suite': cannot read"},
        Wrong{"PromptFileIsAFolder", "suite.system_prompt_file = \".\"\n", "not a regular file"}),
    [](const auto& wrong) { return std::string(wrong.param.name); });

TEST_F(LoadTest, RefusesUnitsThatAreNoServices) {
  const auto unit = [&](const std::string& name) {
    return short_errors(load_text("[engine.a]\nport = 1\nunit = '" + name + "'\n"));
  };
  EXPECT_THAT(unit("vllm"), ElementsAre(HasSubstr("must end in .service")));
  EXPECT_THAT(unit(".service"), ElementsAre(HasSubstr("must end in .service")));
  EXPECT_THAT(unit("vllm.socket"), ElementsAre(HasSubstr("must end in .service")));
  EXPECT_THAT(unit("vllm@.service"), ElementsAre(HasSubstr("is a template")));
  EXPECT_THAT(unit("*.service"), ElementsAre(HasSubstr("characters that no unit name has")));
  EXPECT_THAT(unit("../x.service"), ElementsAre(HasSubstr("characters that no unit name has")));
  EXPECT_THAT(unit(std::string(260, 'a') + ".service"), ElementsAre(HasSubstr("longer than 255")));
  EXPECT_THAT(unit("a\\x2db@0:1_c.service"), IsEmpty());
}

TEST_F(LoadTest, NamesWhatAnEngineLacks) {
  EXPECT_THAT(
      short_errors(load_text("\n[engine.a]\n")),
      ElementsAre(HasSubstr("2:9: engine 'a' has no 'unit'"), HasSubstr("2:9: engine 'a' has no 'port'")));
}

TEST_F(LoadTest, DoesNotMissWhatIsThereWithTheWrongType) {
  EXPECT_THAT(short_errors(load_text("[engine.a]\nunit = 7\nport = \"8000\"\n")),
              ElementsAre(HasSubstr("2:8: 'unit' must be a text"),
                          HasSubstr("3:8: 'port' must be a whole number 1 to 65535, not a text")));
  EXPECT_THAT(short_errors(load_text("[engine.a]\nunit = \"a.service\"\nurl = 8000\n")),
              ElementsAre(HasSubstr("3:7: 'url' must be a text")));
}

TEST_F(LoadTest, AsksNothingOfKUnderTheRuleThatDoesNotCountIt) {
  EXPECT_THAT(errors("canary.rule = \"confirm\"\ncanary.n = 1\ncanary.confirm_failures = 2\n"), IsEmpty());
}

TEST_F(LoadTest, RefusesUrlsThatItCannotAsk) {
  const auto url = [&](const std::string& text) {
    return short_errors(load_text("[engine.a]\nunit = \"a.service\"\nurl = \"" + text + "\"\n"));
  };
  EXPECT_THAT(url("127.0.0.1:8000"), ElementsAre(HasSubstr("is not a URL")));
  EXPECT_THAT(url("https://127.0.0.1:8000"), ElementsAre(HasSubstr("TLS is not supported")));
  EXPECT_THAT(url("http://127.0.0.1:8000/v1"), ElementsAre(HasSubstr("write it as suite.base_path")));
  EXPECT_THAT(url("http://u:p@127.0.0.1:8000"), ElementsAre(HasSubstr("must be only http://HOST:PORT")));
  EXPECT_THAT(url("http://127.0.0.1:99999"), ElementsAre(HasSubstr("has port 99999, which is out of range")));
  EXPECT_THAT(url("http://[::1]:8000"), IsEmpty());
}

TEST_F(LoadTest, RefusesTwoEnginesOfOneNameUnitOrAddress) {
  put("fireboss.toml",
      "[engine.a]\nunit = \"a.service\"\nport = 1\n[engine.b]\nunit = \"a.service\"\nport = 2\n"
      "[engine.c]\nunit = \"c.service\"\nhost = \"localhost\"\nport = 1\n"
      "[engine.d]\nunit = \"d.service\"\nhost = \"127.0.0.2\"\nport = 1\n");
  put("conf.d/more.toml", "[engine.a]\nunit = \"x.service\"\nport = 9\n");
  EXPECT_THAT(
      short_errors(load(main_file())),
      ::testing::UnorderedElementsAre("1:9: engine 'a' is defined before, in " + main_file() + " line 1",
                                      "5:8: 'unit' a.service: engine 'a' has already this unit",
                                      "10:8: 'port': engine 'a' has already 127.0.0.1 port 1"));
}

TEST_F(LoadTest, RefusesADaemonKeyThatWasSetBefore) {
  put("fireboss.toml", "[daemon]\nlog_level = \"info\"\n");
  put("conf.d/more.toml", "[daemon]\nlog_level = \"debug\"\n");
  EXPECT_THAT(short_errors(load(main_file())),
              ElementsAre("2:1: 'log_level' was set before, in " + main_file() + " line 2"));
}

TEST_F(LoadTest, RefusesFilesOfTheDaemonThatAreOne) {
  EXPECT_THAT(short_errors(load_text("[daemon]\ndatabase = \"/srv/a\"\ncontrol_socket = \"/srv/a\"\n"
                                     "generation_file = \"/srv/b/../a\"\n")),
              ::testing::UnorderedElementsAre(
                  HasSubstr("3:18: 'control_socket' and 'database' are the same path"),
                  HasSubstr("4:19: 'generation_file' and 'database' are the same path"),
                  HasSubstr("4:19: 'generation_file' and 'control_socket' are the same path")));
}

TEST_F(LoadTest, RefusesPathsAndSizesOfTheDaemonThatCannotBe) {
  EXPECT_THAT(short_errors(load_text("[daemon]\ndatabase = \"relative.db\"\ncontrol_socket = \"/" +
                                     std::string(107, 'x') +
                                     "\"\nraw_reply_bytes = \"2MiB\"\nbus_address = \"here\"\n"
                                     "control_users = [\"\", \"root\", \"no-such-user\"]\n")),
              ::testing::UnorderedElementsAre(
                  HasSubstr("2:12: 'database' must be an absolute path"),
                  HasSubstr("3:18: 'control_socket' is longer than 107 bytes"),
                  HasSubstr("4:19: 'raw_reply_bytes' = 2MiB is out of range: 1KiB to 1MiB"),
                  HasSubstr("5:15: 'bus_address' must be a D-Bus address"),
                  HasSubstr("6:17: 'control_users' has an empty name"),
                  "6:17: 'control_users': no user 'no-such-user' on this machine"));
}

TEST_F(LoadTest, RefusesEngineNamesThatDoNotFitAFileOrAMetric) {
  EXPECT_THAT(short_errors(load_text("[engine.\"a b\"]\n")),
              ElementsAre(HasSubstr("an engine's name has 1 to 64")));
  EXPECT_THAT(short_errors(load_text("[engine.\"../x\"]\n")), ElementsAre(HasSubstr("an engine's name")));
  EXPECT_THAT(short_errors(load_text("[engine]\na = 1\n")), ElementsAre(HasSubstr("must be a table")));
}

TEST_F(LoadTest, TellsAMissingFile) {
  const auto loaded = load(folder_ + "/none.toml");
  ASSERT_EQ(loaded.errors.size(), 1U);
  EXPECT_EQ(loaded.errors[0].text(),
            folder_ +
                "/none.toml: cannot read: No such file or directory; begin with the commented example, "
                "/usr/share/doc/fireboss/examples/fireboss.toml");
}

TEST_F(LoadTest, RefusesAFileThatIsTooLongOrNoUtf8OrAFifo) {
  EXPECT_THAT(short_errors(load_text(std::string((1 << 20) + 1, '#'))),
              ElementsAre("0:0: is longer than 1MiB"));
  EXPECT_THAT(short_errors(load_text("# \xff\n")), ElementsAre(HasSubstr("not valid TOML")));
  std::filesystem::remove(main_file());
  ASSERT_EQ(::mkfifo(main_file().c_str(), 0600), 0);
  EXPECT_THAT(short_errors(load(main_file())), ElementsAre(HasSubstr("not a regular file")));
}

TEST_F(LoadTest, WarnsOfWhatIsLegalButDoubtful) {
  const auto warnings = [](const Loaded& loaded) {
    std::vector<std::string> out;
    for (const auto& warning : loaded.warnings)
      out.push_back(warning.message);
    return out;
  };
  EXPECT_THAT(warnings(load_text("")), ElementsAre(HasSubstr("no engine is configured")));
  EXPECT_THAT(warnings(load_engine("")),
              ElementsAre(HasSubstr("engine 'vllm': its suite has no system prompt and no tools: the bare "
                                    "prompt is the shape that stays green")));
  const auto prompt = [](const std::string& lines) {
    return "suite.system_prompt = \"Be brief.\"\n" + lines;
  };
  EXPECT_THAT(warnings(load_engine(prompt(""))), IsEmpty());
  EXPECT_THAT(
      warnings(load_engine("suite.tools = '[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}]'\n")),
      IsEmpty());
  EXPECT_THAT(warnings(load_engine(prompt("mode = \"enforce\"\nrestart.budget = 0\n"))),
              ElementsAre(HasSubstr("is never restarted")));
  EXPECT_THAT(warnings(load_engine(prompt("recycle.max_age = \"30m\"\n"))),
              ElementsAre(HasSubstr("shorter than")));
  load_engine(prompt(""));
  ASSERT_EQ(::chmod(main_file().c_str(), 0666), 0);
  const auto loaded = load(main_file());
  EXPECT_TRUE(loaded.config);
  EXPECT_THAT(warnings(loaded), ElementsAre(HasSubstr("chmod go-w")));
}

TEST_F(LoadTest, AFindingStaysOnItsLineWhateverTheFileSays) {
  const auto broken = load_engine("listener = \"a\\nERROR forged\\u001b[2J\"\nrecycle.max_age = \"" +
                                  std::string(100'000, 'x') + "\"\n");
  ASSERT_EQ(broken.errors.size(), 2U);
  for (const auto& error : broken.errors) {
    EXPECT_EQ(error.message.find_first_of("\n\x1b"), std::string::npos) << error.message;
    EXPECT_LT(error.message.size(), 700U);
  }
  std::string umlauts;
  for (int i = 0; i < 1000; ++i)
    umlauts += "\u00fc";
  const auto clipped = load_engine("listener = \"" + umlauts + "\"\n");
  ASSERT_EQ(clipped.errors.size(), 1U);
  EXPECT_THAT(clipped.errors[0].message, testing::EndsWith("\u00fc..."));
}

// Each part is a table in a table, and once took a piece of the stack.
TEST_F(LoadTest, RefusesKeysThatAreNestedWithoutEnd) {
  std::string key;
  for (int i = 0; i < 400'000; ++i)
    key += "a.";
  EXPECT_THAT(short_errors(load_text(key + "b = 1\n")), ElementsAre("1:1: a key has more than 64 parts"));
  EXPECT_THAT(short_errors(load_text("\n[" + key + "b]\n")),
              ElementsAre("2:1: a key has more than 64 parts"));
}

}  // namespace
}  // namespace fireboss::config
