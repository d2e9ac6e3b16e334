#include "probes/journal/signatures.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "probes/journal/scanner.h"

namespace fireboss::probes {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const SignatureSet& builtin() {
  static const auto set = SignatureSet::builtin();
  EXPECT_TRUE(set) << set.error().message;
  return *set;
}

// "class/name class/name" of what matches.
std::string names(const std::string& line, const Whose& whose = {}) {
  std::string out;
  for (const auto i : builtin().match(line, whose)) {
    const auto& s = builtin().all().at(i);
    out += (out.empty() ? "" : " ") + s.signature_class + "/" + s.name;
  }
  return out;
}

TEST(BuiltinSignaturesTest, AreTheDataFile) {
  const auto from_file = SignatureSet::parse(
      read_file(std::filesystem::path(FIREBOSS_SOURCE_DIR) / "probes/journal/signatures.toml"),
      "signatures.toml");
  ASSERT_TRUE(from_file) << from_file.error().message;
  ASSERT_EQ(builtin().all().size(), from_file->all().size());
  for (std::size_t i = 0; i < from_file->all().size(); ++i) {
    EXPECT_EQ(builtin().all()[i].name, from_file->all()[i].name);
    EXPECT_EQ(builtin().all()[i].match, from_file->all()[i].match);
  }
}

TEST(BuiltinSignaturesTest, EachMatchesItsOwnExamples) {
  for (std::size_t i = 0; i < builtin().all().size(); ++i) {
    const auto& s = builtin().all()[i];
    EXPECT_FALSE(s.examples.empty()) << s.name;
    for (const auto& example : s.examples) {
      const auto hits = builtin().match(example);
      EXPECT_NE(std::find(hits.begin(), hits.end(), i), hits.end()) << s.name << ": " << example;
    }
  }
}

// As journald's short format, docker and a coloured console hand them on.
TEST(BuiltinSignaturesTest, WhatStandsAroundALineDoesNotMatter) {
  for (std::size_t i = 0; i < builtin().all().size(); ++i) {
    const auto& s = builtin().all()[i];
    if (s.match.front() == '^')
      continue;
    for (const auto& example : s.examples) {
      for (const auto& line :
           {"Nov 29 12:00:00 gpu01 vllm[4242]: " + example, "[ 1763.418910] " + example,
            "2026-11-29T12:00:00.000000000Z " + example, "\x1b[31m" + example + "\x1b[0m"}) {
        if (example.ends_with("CUDA error") && line.back() == 'm')
          continue;  // anchored at its end
        const auto hits = builtin().match(line);
        EXPECT_NE(std::find(hits.begin(), hits.end(), i), hits.end()) << s.name << ": " << line;
      }
    }
  }
}

TEST(BuiltinSignaturesTest, NearMissesMatchNothing) {
  for (const auto& s : builtin().all())
    for (const auto& near : s.near_misses)
      EXPECT_EQ(names(near), "") << s.name << ": " << near;
}

TEST(BuiltinSignaturesTest, EveryPidAndUnitOfAnExampleCanBeTakenOut) {
  for (const auto& s : builtin().all()) {
    if (s.pid.empty() && s.unit.empty())
      continue;
    int taken_out = 0;
    for (const auto& example : s.examples)
      for (const auto i : builtin().match(example))
        if (builtin().all()[i].name == s.name) {
          const auto others =
              builtin().match(example, Whose{.pids = {1'999'999'999}, .unit = "nobody.service"});
          taken_out += std::find(others.begin(), others.end(), i) == others.end() ? 1 : 0;
        }
    EXPECT_GT(taken_out, 0) << s.name;
  }
}

TEST(BuiltinSignaturesTest, OrdinaryLinesAreNoSigns) {
  for (const auto* line :
       {"(APIServer pid=4242) INFO 11-29 12:00:00 [loggers.py:236] Engine 000: Avg prompt throughput: 0.0 "
        "tokens/s, Avg "
        "generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%",
        "Decode batch. #running-req: 8, #token: 62531, gen throughput (token/s): 186.64",
        "(APIServer pid=4242) INFO:     10.0.0.1:5000 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        "(APIServer pid=4242) WARNING 11-29 12:00:00 [tokenizer.py:1] stop token id 5 not in vocabulary for "
        "model x; engine "
        "continues (no error)",
        "(EngineCore_DP0 pid=2) INFO 11-29 12:00:00 [monitor.py:34] torch.compile takes 45.32 s in total",
        "(APIServer pid=1) INFO:     Shutting down",
        "(APIServer pid=1) INFO:     Application shutdown complete.",
        "(APIServer pid=1) INFO:     Finished server process [1]",
        "INFO:     Application startup complete.",
        "srv  update_slots: all slots are idle",
        "slot update_slots: id  0 | task 12 | prompt processing progress, n_tokens = 18, batch.n_tokens = 18",
        "systemd[1]: Stopping vllm.service - vLLM...",
        "systemd[1]: vllm.service: Deactivated successfully.",
        "systemd[1]: vllm.service: Scheduled restart job, restart counter is at 1.",
        "kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.45.04",
        "kernel: nvidia 0000:41:00.0: enabling device (0000 -> 0003)",
        "[2026-11-29 12:00:00 TP0] Capture cuda graph begin. This can take up to several minutes.",
        "[2026-11-29 12:00:00] KV Cache is allocated. #tokens: 100000, K size: 5.00 GB, V size: 5.00 GB",
        "WARNING 11-29 12:00:00 [scheduler.py:1] Sequence group chatcmpl-1 is preempted by "
        "PreemptionMode.RECOMPUTE",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
        "might be "
        "incorrect.",
        "NCCL version 2.27.3+cuda12.9",
        "INFO 11-29 12:00:00 [parallel_state.py:1] rank 0 in world size 2",
        "ValueError: The decoder prompt (length 200000) is longer than the maximum model length of 131072."})
    EXPECT_EQ(names(line), "") << line;
}

TEST(BuiltinSignaturesTest, WhatAClientSentIsNotJudged) {
  EXPECT_EQ(names("(APIServer pid=1) INFO 11-29 12:00:00 [logger.py:40] Received request chatcmpl-1: prompt: "
                  "'why does my "
                  "log say EngineDeadError and CUDA out of memory. Tried to allocate 2 GiB?', params: "
                  "SamplingParams(n=1)"),
            "");
  EXPECT_EQ(names("[2026-11-29 12:00:00] Receive: obj=GenerateReqInput(text='NVRM: Xid (PCI:0000:41:00): 79, "
                  "GPU has fallen "
                  "off the bus.')"),
            "");
}

TEST(BuiltinSignaturesTest, XidsAreHardwareOnlyWhereARestartIsUseless) {
  const auto xid = [](const std::string& code, const std::string& rest = ", pid=250, name=python3") {
    return names("kernel: NVRM: Xid (PCI:0000:41:00): " + code + rest);
  };
  for (const auto* code : {"13", "31", "43", "45", "69", "94", "109"})
    EXPECT_EQ(xid(code), "gpu_fault_app/nvidia.xid_app") << code;
  for (const auto* code : {"48", "62", "64", "74", "95", "119", "120", "140", "143", "149", "171"})
    EXPECT_EQ(xid(code), "gpu_fault_hw/nvidia.xid_hw") << code;
  for (const auto* code : {"63", "92", "106", "121", "3", "314"})
    EXPECT_EQ(xid(code), "") << code;
  EXPECT_EQ(xid("79", ", GPU has fallen off the bus."),
            "gpu_fault_hw/nvidia.xid_hw gpu_fault_hw/nvidia.off_the_bus");
}

TEST(BuiltinSignaturesTest, XidOfAnotherProcessIsLeftOutWhenTheProcessesAreKnown) {
  const std::string line = "kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=99812, name=python3";
  EXPECT_EQ(names(line, {.pids = {250, 251}, .unit = ""}), "");
  EXPECT_EQ(names(line, {.pids = {250, 99812}, .unit = ""}), "gpu_fault_app/nvidia.xid_app");
  // nobody's in particular: everybody's
  EXPECT_EQ(names("NVRM: Xid (PCI:0000:3b:00): 48, DBE (double bit error)", {.pids = {250}, .unit = ""}),
            "gpu_fault_hw/nvidia.xid_hw");
}

TEST(BuiltinSignaturesTest, LinesOfAnotherUnitAreLeftOutWhenTheUnitIsKnown) {
  const std::string line = "systemd[1]: backup.service: Main process exited, code=exited, status=1/FAILURE";
  EXPECT_EQ(names(line, {.pids = {}, .unit = "vllm.service"}), "");
  EXPECT_EQ(names(line, {.pids = {}, .unit = "backup.service"}), "engine_dead/systemd.main_exited");
}

TEST(BuiltinSignaturesTest, BytesThatAreNoTextDoNoHarm) {
  std::string junk;
  for (int i = 0; i < 256; ++i)
    junk += static_cast<char>(i);
  EXPECT_EQ(names(junk), "");
  EXPECT_EQ(names(std::string("\xff\xfe\0\x80", 4) + "EngineDeadError" + "\xc3"),
            "engine_dead/vllm.engine_dead");
}

TEST(SignatureParseTest, MistakesAreToldAllAtOnceWithTheirLines) {
  const auto set = SignatureSet::parse(
      "[[signature]]\n"
      "name = 'a'\n"
      "class = 'dead'\n"
      "match = '('\n"
      "[[signature]]\n"
      "name = 'a'\n"
      "class = 'stall'\n"
      "match = 'x'\n"
      "pid = 'no group'\n"
      "colour = 'red'\n",
      "my.toml");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kInvalid);
  const auto& text = set.error().message;
  EXPECT_NE(text.find("my.toml:3: unknown class 'dead'"), std::string::npos) << text;
  EXPECT_NE(text.find("my.toml:4: '(' is not a regular expression"), std::string::npos) << text;
  EXPECT_NE(text.find("my.toml:5: a second signature with the name 'a'"), std::string::npos) << text;
  EXPECT_NE(text.find("my.toml:9: 'pid' needs exactly one group"), std::string::npos) << text;
  EXPECT_NE(text.find("my.toml:10: unknown key 'colour'"), std::string::npos) << text;
}

TEST(SignatureParseTest, FileThatIsNoTomlAndFileWithoutSignatures) {
  EXPECT_NE(SignatureSet::parse("[[sig", "x").error().message.find("x:1: "), std::string::npos);
  EXPECT_NE(SignatureSet::parse("", "x").error().message.find("no [[signature]]"), std::string::npos);
  EXPECT_NE(SignatureSet::parse("[[signature]]\nname='a'\n", "x").error().message.find("without 'match'"),
            std::string::npos);
}

TEST(SignatureFileTest, MistakesStayOnOneLineWhateverTheFileSays) {
  for (const auto& text :
       {std::string("[[signature]]\nname = 'x'\nclass = \"a\\nb\"\nmatch = 'y'\n"),
        std::string("[[signature]]\nname = 'x'\nclass = 'stall'\nmatch = \"(\\n\"\n"),
        std::string("\"a\\nb\" = 1\n[[signature]]\nname = 'x'\nclass = 'stall'\nmatch = 'y'\n"),
        "[[signature]]\nname = '" + std::string(100'000, 'n') + "'\nclass = '" + std::string(100'000, 'c') +
            "'\n",
        std::string("name = \"" + std::string(5'000, '(') + "\nx")}) {
    const auto set = SignatureSet::parse(text, "file");
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().message.find('\n'), std::string::npos) << set.error().message;
    EXPECT_LT(set.error().message.size(), 1'500U);
  }
}

TEST(SignatureFileTest, KeysThatAreNestedWithoutEndAreRefused) {
  std::string key;
  for (int i = 0; i < 400'000; ++i)
    key += "a.";
  const auto set = SignatureSet::parse("[" + key + "b]\n", "file");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "file:1: a key has more than 64 parts");
}

}  // namespace
}  // namespace fireboss::probes
