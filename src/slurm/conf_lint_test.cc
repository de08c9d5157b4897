#include "slurm/conf_lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace mainspring::slurm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kGood =
    "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-4] CPUs=2\nPartitionName=p Nodes=n[1-4] "
    "Default=YES\n";

std::vector<Finding> lint_slurm(std::string_view more, Release release = kNewestRelease) {
  return lint({{"slurm.conf", std::string(kGood) + std::string(more) + "\n"}},
              {.release = release});
}

auto finding(Severity severity, std::size_t line, std::string_view key, std::string_view message) {
  return AllOf(Field("severity", &Finding::severity, severity), Field("line", &Finding::line, line),
               Field("key", &Finding::key, std::string(key)),
               Field("message", &Finding::message, HasSubstr(std::string(message))));
}

auto error(std::size_t line, std::string_view key, std::string_view message) {
  return Contains(finding(Severity::kError, line, key, message));
}

auto warning(std::size_t line, std::string_view key, std::string_view message) {
  return AllOf(Contains(finding(Severity::kWarning, line, key, message)),
               Each(Field(&Finding::severity, Severity::kWarning)));
}

TEST(ConfLint, GoodFilesHaveNothing) { EXPECT_THAT(lint_slurm(""), IsEmpty()); }

TEST(ConfLint, AMisspelledKeyIsNamedWithItsLineAndWhatWasMeant) {
  const auto findings = lint_slurm("KilWait=5");
  ASSERT_THAT(findings, error(5, "KilWait", "does not know"));
  EXPECT_THAT(findings[0].advice, HasSubstr("KillWait"));
  EXPECT_EQ(to_string(findings[0]),
            "slurm.conf:5: error: KilWait: Slurm does not know this key; did you mean KillWait?");
}

TEST(ConfLint, ReleasesDiffer) {
  EXPECT_THAT(lint_slurm("MetricsType=metrics/openmetrics", 2511), IsEmpty());
  EXPECT_THAT(lint_slurm("MetricsType=metrics/openmetrics", 2505),
              error(5, "MetricsType", "came with Slurm 25.11"));
  EXPECT_THAT(lint_slurm("FrontendName=f", 2605), error(5, "FrontendName", "24.11 was the last"));
  EXPECT_THAT(lint_slurm("TopologyPlugin=topology/flat", 2411),
              error(5, "TopologyPlugin", "plugin"));
}

TEST(ConfLint, WhatSlurmIgnoresIsAWarning) {
  EXPECT_THAT(lint_slurm("KillWait=5\nKillWait=6"), warning(6, "KillWait", "set above"));
  EXPECT_THAT(lint_slurm("PowerPlugin=x"), warning(5, "PowerPlugin", "no effect"));
  EXPECT_THAT(lint_slurm("DownNodes=x9"), warning(5, "DownNodes", "x9"));
  EXPECT_THAT(lint_slurm("NodeName=m1 Gres=gpu:2"), warning(5, "Gres", "GresTypes"));
  EXPECT_THAT(lint_slurm("Licenses+=a:1"), warning(5, "Licenses", "+="));
}

TEST(ConfLint, ADefaultIsJudgedWhereItIsUsed) {
  EXPECT_THAT(lint_slurm("PartitionName=DEFAULT MaxTime=abc"), IsEmpty());
  EXPECT_THAT(lint_slurm("PartitionName=DEFAULT MaxTime=abc\nPartitionName=q Nodes=n1"),
              error(5, "MaxTime", "abc"));
  EXPECT_THAT(lint_slurm("PartitionName=DEFAULT MaxTime=abc\nPartitionName=q MaxTime=5"),
              IsEmpty());
}

TEST(ConfLint, AValueThatIsSetAgainBelowOnlyHasToParse) {
  EXPECT_THAT(lint_slurm("SchedulerType=x\nSchedulerType=sched/backfill"),
              warning(6, "SchedulerType", "set above"));
  EXPECT_THAT(lint_slurm("KillWait=x\nKillWait=5"), error(5, "KillWait", "x"));
}

TEST(ConfLint, NodesOfPartitionsMayComeFromNodeSets) {
  EXPECT_THAT(lint_slurm("NodeSet=s Feature=x\nPartitionName=q Nodes=s,n1"), IsEmpty());
  EXPECT_THAT(lint_slurm("NodeSet=s Nodes=x9\nPartitionName=q Nodes=s"), error(5, "Nodes", "x9"));
  EXPECT_THAT(lint_slurm("NodeSet=a Nodes=b\nNodeSet=b Nodes=a\nPartitionName=q Nodes=a"),
              Not(Contains(Field(&Finding::severity, Severity::kError))));
  EXPECT_THAT(lint_slurm("PartitionName=q Nodes=n[1-5]"), error(5, "Nodes", "n5"));
}

TEST(ConfLint, IncludedFilesAreJudgedWithTheirOwnNames) {
  const auto findings = lint({{"slurm.conf", std::string(kGood) + "Include more.conf\n"},
                              {"more.conf", "# one\nKillWait=abc\n"}});
  ASSERT_THAT(findings, error(2, "KillWait", "abc"));
  EXPECT_EQ(findings[0].file, "more.conf");
  EXPECT_THAT(lint_slurm("Include absent.conf"), error(5, "Include", "absent.conf"));
}

TEST(ConfLint, ScriptsOfPluginsMustExistAndBeLua) {
  EXPECT_THAT(lint_slurm("JobSubmitPlugins=lua"), error(5, "JobSubmitPlugins", "job_submit.lua"));
  EXPECT_THAT(lint_slurm("JobSubmitPlugins=all_partitions,job_submit/lua"),
              error(5, "JobSubmitPlugins", "job_submit.lua"));
  EXPECT_THAT(lint_slurm("JobCompType=jobcomp/lua"), error(5, "JobCompType", "jobcomp.lua"));
  EXPECT_THAT(lint_slurm("BurstBufferType=burst_buffer/lua"),
              error(5, "BurstBufferType", "burst_buffer.lua"));
  EXPECT_THAT(lint_slurm("JobSubmitPlugins=all_partitions"), IsEmpty());
  EXPECT_THAT(lint({{"slurm.conf", std::string(kGood) + "JobSubmitPlugins=lua\n"},
                    {"job_submit.lua", "function slurm_job_submit() end"}}),
              IsEmpty());
  const auto broken = lint({{"slurm.conf", std::string(kGood) + "JobSubmitPlugins=lua\n"},
                            {"job_submit.lua", "function slurm_job_submit()\n"}});
  ASSERT_THAT(broken, error(2, "", "'end' expected"));
  EXPECT_EQ(broken[0].file, "job_submit.lua");
  EXPECT_THAT(lint({{"slurm.conf", std::string(kGood)}, {"job_submit.lua", "nobody runs this"}}),
              IsEmpty());
}

TEST(ConfLint, WhatTopologyNamesMustExist) {
  const std::string tree =
      "- topology: t\n  tree:\n    switches:\n    - switch: a\n      children: b\n    - switch: b\n"
      "      nodes: n[1-9]\n";
  const auto with = [&](std::string_view more) {
    return lint({{"slurm.conf", std::string(kGood) + std::string(more)}, {"topology.yaml", tree}});
  };
  EXPECT_THAT(with(""), warning(7, "nodes", "n5"));
  EXPECT_THAT(with("PartitionName=q Topology=u\n"), error(5, "Topology", "u"));
  EXPECT_THAT(lint({{"topology.yaml", "[]"}}), error(0, "", "crashes"));
  EXPECT_THAT(lint({{"topology.yaml",
                     "- topology: t\n  tree:\n    switches:\n    - switch: a\n"
                     "      children: c\n"}}),
              error(4, "children", "c"));
}

TEST(ConfLint, NamesInATopologyAreOrdinaryOnes) {
  const auto with = [](std::string_view topology, std::string_view name) {
    return lint(
        {{"topology.yaml", fmt::format("- topology: {}\n  tree:\n    switches:\n    - switch: "
                                       "root\n    - switch: {}\n      nodes: n1\n",
                                       topology, name)}});
  };
  for (const char* name : {"s1", "1", "rack-1_a.b", "top/leaf+2", "true"}) {
    EXPECT_THAT(with(name, "leaf"), IsEmpty()) << name;
    EXPECT_THAT(with("t", name), IsEmpty()) << name;
  }
  for (const char* name :
       {"'a b'", "'a,b'", "'a:b'", "'s[1-2]'", "a=b", R"("a\nSlurmUser=root")", R"("a\u001b[31m")",
        "a\u00a0b", "'a\"'", "$(reboot)", "'`id`'", "a;b", R"("\t")"}) {
    EXPECT_THAT(with("t", name), error(5, "switch", "is no name")) << name;
    EXPECT_THAT(with(name, "leaf"), error(1, "topology", "is no name")) << name;
  }
  EXPECT_THAT(with("t", R"("x\nSlurmUser=root")"),
              error(5, "switch", R"("x\x0aSlurmUser=root" is no name: it has "\x0a" in it)"));
  EXPECT_THAT(with("t", "''"), error(3, "switch", "each needs a name"));
  for (const char* unit : {"block", "ring"}) {
    const auto findings =
        lint({{"topology.yaml", fmt::format("topology: t\n{0}:\n  {0}s:\n  - {0}: a b\n"
                                            "    nodes: n1\n",
                                            unit)}});
    EXPECT_THAT(findings, error(4, unit, R"("a b" is no name)"));
  }
  EXPECT_THAT(lint({{"topology.yaml", "topology: t\ntorus3d:\n  any:\n  - name: \"a\\u0007\"\n"}}),
              error(4, "name", "control character"));
}

TEST(ConfLint, NamesOfGresAreOrdinaryOnes) {
  EXPECT_THAT(lint({{"gres.conf", "Name=gpu Type=h100-80gb_hbm3 Count=2\n"}}), IsEmpty());
  for (const char* name : {"a,b", "a:b", "a=b", "\"a b\"", "a[1-2]", "a(b)", "$(id)"}) {
    EXPECT_THAT(lint({{"gres.conf", fmt::format("Name={} Count=2\n", name)}}),
                error(1, "Name", "is no name"))
        << name;
    EXPECT_THAT(lint({{"gres.conf", fmt::format("# a\nNodeName=n1 Name=gpu Type={}\n", name)}}),
                error(2, "Type", "is no name"))
        << name;
  }
}

TEST(ConfLint, FilesTogetherMustFitAConfigMap) {
  const std::string large = "#" + std::string(std::size_t{1} << 20, 'x') + "\n";
  EXPECT_THAT(lint_slurm(large), error(0, "", "ConfigMap holds"));
}

TEST(ConfLint, PasswordsAreNotRepeated) {
  const auto findings = lint({{"slurmdbd.conf",
                               "StorageType=accounting_storage/mysql\n"
                               "StoragePass=hunter2 hunter2\nDbdHost=\x01hunter2\n"}});
  EXPECT_TRUE(has_errors(findings));
  for (const Finding& found : findings) EXPECT_THAT(to_string(found), Not(HasSubstr("hunter2")));
}

TEST(ConfLint, TheVerdictIsRightHoweverManyFindingsThereAre) {
  std::string text(kGood);
  for (int i = 0; i < 50; ++i) text += "PowerPlugin=x\n";
  text += "Foo=1\n";
  EXPECT_TRUE(has_errors(lint({{"slurm.conf", text}}, {.max_findings = 10})));
}

// The corpus that tests/real compares with real daemons: "==> name <==" begins a file.
ConfSet read_case(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string name;
  ConfSet files;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("==> ") && line.ends_with(" <==")) {
      name = line.substr(4, line.size() - 8);
      files[name];
    } else if (!name.empty()) {
      files[name] += line + "\n";
    }
  }
  return files;
}

TEST(ConfLint, CorpusGetsItsVerdicts) {
  const std::filesystem::path corpus = std::string(MAINSPRING_TEST_DATA) + "/slurm/conf";
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file()) continue;
    ++cases;
    const std::string kind = entry.path().parent_path().filename().string();
    const auto findings = lint(read_case(entry.path()));
    EXPECT_EQ(has_errors(findings), kind == "bad" || kind == "strict")
        << entry.path() << testing::PrintToString(findings.size());
    for (const Finding& found : findings) EXPECT_FALSE(found.advice.empty()) << to_string(found);
  }
  EXPECT_GT(cases, 100U);
}

// A value that the writer lets through cannot change what the linter thinks of the other lines.
TEST(ConfLint, NoValueReachesOutOfItsLine) {
  const auto odd = rc::gen::container<std::string>(
      rc::gen::element('a', ' ', '"', '#', '\\', '=', '\n', '[', '0'));
  EXPECT_TRUE(rc::check([&] {
    const std::string value = *odd;
    const auto findings =
        lint({{"slurm.conf", "MailDomain=\"" + value + "\"\n" + std::string(kGood)}});
    const auto lines = static_cast<std::size_t>(std::ranges::count(value, '\n')) + 1;
    for (const Finding& found : findings) {
      RC_ASSERT(found.severity == Severity::kWarning || found.line <= lines);
    }
  }));
}

}  // namespace
}  // namespace mainspring::slurm
