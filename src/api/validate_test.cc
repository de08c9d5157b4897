#include "api/validate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class Kind>
Kind read_kind(std::string_view spec, std::string_view name = "gpu") {
  json::Reader reader;
  auto out = json::decode<Kind>(
      reader,
      fmt::format(R"({{"metadata":{{"name":"{}","namespace":"slurm"}},"spec":{}}})", name, spec));
  EXPECT_TRUE(out) << out.error().message();
  return out ? *out : Kind{};
}

// "FIELD: MESSAGE" of everything that is wrong with a new object.
template <class Kind>
std::vector<std::string> problems(std::string_view spec, std::string_view name = "gpu") {
  std::vector<std::string> out;
  for (const Problem& problem : validate(read_kind<Kind>(spec, name), nullptr).problems) {
    EXPECT_EQ(problem.message.find('\n'), std::string::npos);
    out.push_back(problem.field + ": " + problem.message);
  }
  return out;
}
// The fields that may not change so.
template <class Kind>
std::vector<std::string> refused_change(std::string_view before, std::string_view after) {
  const Kind old = read_kind<Kind>(before);
  std::vector<std::string> out;
  for (const Problem& problem : validate(read_kind<Kind>(after), &old).problems) {
    out.push_back(problem.field);
  }
  return out;
}
template <class Kind>
std::vector<std::string> warnings(std::string_view spec) {
  return validate(read_kind<Kind>(spec), nullptr).warnings;
}

constexpr auto one = [](std::string_view field, std::string_view what) {
  return ElementsAre(AllOf(HasSubstr(std::string(field) + ": "), HasSubstr(std::string(what))));
};

std::vector<std::string> nodeset_problems(std::string_view more, std::string_view name = "gpu") {
  return problems<NodeSet>(fmt::format(R"({{"controllerRef":{{"name":"main"}}{}}})", more), name);
}
std::vector<std::string> hostname_problems(std::string_view hostname, std::string_view more = "") {
  return nodeset_problems(
      fmt::format(R"(,"template":{{"spec":{{"hostname":"{}"}}}}{})", hostname, more));
}

TEST(ValidateController, BoundsTheClusterName) {
  EXPECT_THAT(problems<Controller>(R"({"clusterName":"mars-2_b"})"), IsEmpty());
  EXPECT_THAT(problems<Controller>(fmt::format(R"({{"clusterName":"{}"}})", std::string(41, 'a'))),
              one("spec.clusterName", "has 41 characters: set one of at most 40"));
  EXPECT_THAT(problems<Controller>("{}", std::string(40, 'n')),
              one("spec.clusterName", "(from namespace and name) has 46 characters"));
}

TEST(ValidateController, RefusesAClusterNameThatSlurmDoesNotTake) {
  EXPECT_THAT(problems<Controller>(R"({"clusterName":"a\nSlurmUser=root"})"),
              one("spec.clusterName", R"("a\x0aSlurmUser=root" is not a name that Slurm takes)"));
  EXPECT_THAT(problems<Controller>(R"({"clusterName":"../state"})"), SizeIs(1));
  EXPECT_THAT(warnings<Controller>(R"({"clusterName":"Mars"})"),
              ElementsAre(HasSubstr("lower case")));
}

TEST(ValidateController, RefusesReferencesIntoOtherNamespaces) {
  EXPECT_THAT(problems<Controller>(R"({"slurmKeyRef":{"name":"other/key","key":"slurm.key"}})"),
              one("spec.slurmKeyRef.name", "\"other/key\" names another namespace"));
  EXPECT_THAT(problems<Controller>(R"({"accountingRef":{"name":"other/acct"}})"),
              one("spec.accountingRef.name", "use the bare name"));
  EXPECT_THAT(problems<Controller>(R"({"configFileRefs":[{"name":"a"},{"name":"B!"}]})"),
              one("spec.configFileRefs[1].name", "cannot be the name of an object"));
  EXPECT_THAT(problems<Controller>(R"({"prologScriptRefs":[{"name":""}]})"),
              one("spec.prologScriptRefs[0].name", "is empty"));
  EXPECT_THAT(problems<Controller>(R"({"jwtKeyRef":{"name":"a","key":"../../etc/passwd"}})"),
              one("spec.jwtKeyRef.key", "cannot be a key"));
  EXPECT_THAT(problems<Controller>(R"({"persistence":{"existingClaim":"a/b"}})"),
              one("spec.persistence.existingClaim", "another namespace"));
}

TEST(ValidateController, RefusesControlCharactersInFiles) {
  EXPECT_THAT(problems<Controller>("{\"extraConf\":\"A=1\\n\\tB=2\\r\\n\"}"), IsEmpty());
  EXPECT_THAT(problems<Controller>(R"({"extraConf":"A=1\nB=2\u0000"})"),
              one("spec.extraConf", "line 2 has a control character"));
}

TEST(ValidateController, AsksForAnAddressThatCanBe) {
  EXPECT_THAT(problems<Controller>(R"({"externalConfig":{"host":"ctl.example.com","port":6817}})"),
              IsEmpty());
  EXPECT_THAT(problems<Controller>(R"({"externalConfig":{"host":"a b","port":6817}})"),
              one("spec.externalConfig.host", "one plain word"));
  EXPECT_THAT(problems<Controller>(R"({"externalConfig":{"host":"a","port":0}})"),
              one("spec.externalConfig.port", "0 is not a port: use 1 to 65535"));
  EXPECT_THAT(problems<Controller>(R"({"service":{"port":70000}})"),
              one("spec.service.port", "70000 is not a port"));
}

TEST(Validate, WarnsOfExternalAddressesOfServices) {
  constexpr auto kSpec = R"({"service":{"spec":{"externalIPs":["1.2.3.4"]}}})";
  const auto warning = ElementsAre(HasSubstr("spec.service.spec.externalIPs is ignored"));
  EXPECT_THAT(warnings<Controller>(kSpec), warning);
  EXPECT_THAT(warnings<LoginSet>(kSpec), warning);
  EXPECT_THAT(warnings<RestApi>(kSpec), warning);
  EXPECT_THAT(warnings<Accounting>(kSpec), warning);
  EXPECT_THAT(warnings<RestApi>(R"({"service":{"spec":{"externalIPs":[]}}})"), IsEmpty());
}

TEST(ValidateController, KeepsWhatTheClusterIsKnownBy) {
  EXPECT_THAT(refused_change<Controller>("{}", R"({"clusterName":"b"})"),
              ElementsAre("spec.clusterName"));
  EXPECT_THAT(refused_change<Controller>("{}", R"({"clusterName":"slurm_gpu"})"), IsEmpty());
  EXPECT_THAT(refused_change<Controller>(R"({"slurmKeyRef":{"name":"a","key":"k"}})",
                                         R"({"slurmKeyRef":{"name":"b","key":"k"}})"),
              ElementsAre("spec.slurmKeyRef.name"));
  EXPECT_THAT(refused_change<Controller>(R"({"slurmKeyRef":{"name":"a","key":"k"}})",
                                         R"({"slurmKeyRef":{"name":"a","key":"l"}})"),
              IsEmpty());
}

TEST(Validate, KeepsTheKeyForTokensUnderEitherOfItsNames) {
  constexpr auto kOld = R"({"username":"u","jwtHs256KeyRef":{"name":"a","key":"k"}})";
  constexpr auto kSame = R"({"username":"u","jwtKeyRef":{"name":"a","key":"k"}})";
  constexpr auto kOther = R"({"username":"u","jwtKeyRef":{"name":"b","key":"k"}})";
  EXPECT_THAT(refused_change<Controller>(kOld, kSame), IsEmpty());
  EXPECT_THAT(refused_change<Controller>(kOld, kOther), ElementsAre("spec.jwtKeyRef"));
  EXPECT_THAT(refused_change<Accounting>(kOld, kSame), IsEmpty());
  EXPECT_THAT(refused_change<Accounting>(kOld, kOther), ElementsAre("spec.jwtKeyRef"));
  EXPECT_THAT(refused_change<Token>(kOld, kSame), IsEmpty());
  EXPECT_THAT(refused_change<Token>(kOld, kOther), ElementsAre("spec.jwtKeyRef"));
  EXPECT_THAT(warnings<Token>(kOld), ElementsAre(HasSubstr("deprecated")));
}

TEST(ValidateController, KeepsWhereTheStateIs) {
  EXPECT_THAT(refused_change<Controller>("{}", R"({"persistence":{"enabled":false}})"),
              ElementsAre("spec.persistence.enabled"));
  EXPECT_THAT(refused_change<Controller>("{}", R"({"persistence":{"enabled":true}})"), IsEmpty());
  EXPECT_THAT(refused_change<Controller>(R"({"persistence":{"enabled":true}})",
                                         R"({"persistence":{"existingClaim":"b"}})"),
              ElementsAre("spec.persistence.existingClaim"));
  EXPECT_THAT(
      refused_change<Controller>(R"({"persistence":{"enabled":false}})",
                                 R"({"persistence":{"enabled":false,"existingClaim":"b"}})"),
      IsEmpty());
}

TEST(ValidateNodeSet, NeedsItsController) {
  EXPECT_THAT(problems<NodeSet>("{}"), one("spec.controllerRef.name", "is empty"));
  EXPECT_THAT(problems<NodeSet>(R"({"controllerRef":{"name":"other/main"}})"),
              one("spec.controllerRef.name", "another namespace"));
  EXPECT_THAT(refused_change<NodeSet>(R"({"controllerRef":{"name":"a"}})",
                                      R"({"controllerRef":{"name":"b"}})"),
              ElementsAre("spec.controllerRef.name"));
}

TEST(ValidateNodeSet, LetsAtLeastOneWorkerBeReplaced) {
  for (const char* good : {"1", "\"1\"", "\"1%\"", "\"100%\""}) {
    EXPECT_THAT(nodeset_problems(fmt::format(
                    R"(,"updateStrategy":{{"rollingUpdate":{{"maxUnavailable":{}}}}})", good)),
                IsEmpty());
  }
  for (const char* bad : {"0", "\"0%\"", "-1", "\"lots\"", "\"5 %\""}) {
    EXPECT_THAT(nodeset_problems(fmt::format(
                    R"(,"updateStrategy":{{"rollingUpdate":{{"maxUnavailable":{}}}}})", bad)),
                one("spec.updateStrategy.rollingUpdate.maxUnavailable", "at least 1 or 1%"))
        << bad;
  }
}

TEST(ValidateNodeSet, SchedulesUpdatesThatSlurmCanReserve) {
  const auto with = [](std::string_view scheduled) {
    return nodeset_problems(fmt::format(
        R"(,"updateStrategy":{{"type":"ScheduledUpdate","scheduledUpdate":{}}})", scheduled));
  };
  EXPECT_THAT(with(R"({"startTime":"2026-11-15T09:00:00Z","flags":["DAILY"]})"), IsEmpty());
  EXPECT_THAT(with(R"({"startTime":"2026-11-15T09:00:00Z","duration":"59s"})"),
              one("spec.updateStrategy.scheduledUpdate.duration", "\"59s\" is not a duration of"));
  EXPECT_THAT(with(R"({"startTime":"2026-11-15T09:00:00Z","duration":"long"})"), SizeIs(1));
  EXPECT_THAT(with(R"({"startTime":"2026-11-15T09:00:00+99:99"})"),
              one("spec.updateStrategy.scheduledUpdate.startTime", "is not a time"));
  EXPECT_THAT(with(R"({"startTime":"2026-11-15T09:00:00Z","flags":["DAILY\nX"]})"),
              one("spec.updateStrategy.scheduledUpdate.flags", "is not a flag"));
}

TEST(ValidateNodeSet, SchedulesUpdatesThatRepeatInOneWay) {
  const auto with = [](std::string_view flags) {
    return nodeset_problems(
        fmt::format(R"(,"updateStrategy":{{"type":"ScheduledUpdate","scheduledUpdate":)"
                    R"({{"startTime":"2026-11-15T09:00:00Z","flags":[{}]}}}})",
                    flags));
  };
  EXPECT_THAT(with(R"("FLEX","WEEKDAY","FORCE_START")"), IsEmpty());
  EXPECT_THAT(with(R"("DAILY","daily")"), IsEmpty());
  EXPECT_THAT(with(R"("WEEKDAY","FLEX","weekend")"),
              one("spec.updateStrategy.scheduledUpdate.flags",
                  "\"WEEKDAY\" and \"WEEKEND\" exclude each other: leave one of"));
  EXPECT_THAT(with(R"("HOURLY","DAILY","WEEKLY")"), SizeIs(1));
}

TEST(ValidateNodeSet, NeedsToKnowUsersForSsh) {
  EXPECT_THAT(nodeset_problems(R"(,"ssh":{"enabled":true})"),
              one("spec.ssh.sssdConfRef.name", "set it to the Secret that holds sssd.conf"));
  EXPECT_THAT(nodeset_problems(R"(,"ssh":{"enabled":true,"sssdConfRef":{"name":"s","key":"k"}})"),
              IsEmpty());
  EXPECT_THAT(nodeset_problems(R"(,"ssh":{"enabled":false})"), IsEmpty());
}

TEST(ValidateNodeSet, TakesOnlyBeginningsOfHostNames) {
  EXPECT_THAT(hostname_problems("gpu-"), IsEmpty());
  EXPECT_THAT(hostname_problems("rack1"), IsEmpty());
  for (const char* bad : {"-gpu", "GPU", "a_b", "a b", "a;reboot", "a\\nNodeName=x", "$(id)"}) {
    EXPECT_THAT(hostname_problems(bad),
                one("spec.template.spec.hostname", "cannot begin a host name"))
        << bad;
  }
  EXPECT_THAT(hostname_problems("rack.a"), one("spec.template.spec.hostname", "has a dot"));
  EXPECT_THAT(hostname_problems("rack.a", R"(,"scalingMode":"DaemonSet")"), IsEmpty());
  EXPECT_THAT(nodeset_problems(R"(,"template":{"spec":{"hostname":5}})"),
              one("spec.template.spec.hostname", "put it in quotes"));
}

TEST(ValidateNodeSet, LeavesRoomForTheNumberInAHostName) {
  EXPECT_THAT(hostname_problems(std::string(62, 'a'), R"(,"replicas":10)"), IsEmpty());
  EXPECT_THAT(hostname_problems(std::string(62, 'a'), R"(,"replicas":11)"),
              one("spec.template.spec.hostname", "more than the 63 characters"));
  EXPECT_THAT(nodeset_problems(R"(,"ordinalPadding":99)"), one("spec.ordinalPadding", "padding"));
  EXPECT_THAT(nodeset_problems("", std::string(62, 'n')), SizeIs(1));
}

TEST(ValidateNodeSet, TakesSettingsThatCannotBecomeAnythingElse) {
  const auto with = [](std::string_view conf) {
    return nodeset_problems(fmt::format(R"(,"extraConf":"{}")", conf));
  };
  EXPECT_THAT(with("Gres=gpu:a100:4  CoreSpecCount=2\\nTopology=default:leaf1,b:b2"), IsEmpty());
  for (const char* bad : {"Gres", "=4", "Gres=", "Ge res=4", "a;b=1"}) {
    EXPECT_THAT(with(bad), one("spec.extraConf", "is not KEY=VALUE")) << bad;
  }
  for (const char* bad : {"Gres='x'", "Gres=$(id)", "Gres=`id`", "Reason=\\\"x\\\"", "A=\\\\",
                          "A=b\\u0001c", "A=\\u007f"}) {
    EXPECT_THAT(with(bad), one("spec.extraConf", "has quotes, backslashes, dollars")) << bad;
  }
  EXPECT_THAT(with("nodename=other"), one("spec.extraConf", "leave NodeName out"));
  EXPECT_THAT(with("Topology=a;b"), one("spec.extraConf", "does not name switches"));
}

TEST(ValidateNodeSet, TakesPartitionSettingsOfOneLine) {
  const auto with = [](std::string_view config) {
    return nodeset_problems(
        fmt::format(R"(,"partition":{{"enabled":true,"config":"{}"}})", config));
  };
  EXPECT_THAT(with("State=UP\\tMaxTime=UNLIMITED"), IsEmpty());
  EXPECT_THAT(with("State=UP\\nSlurmUser=root"), one("spec.partition.config", "line breaks"));
  EXPECT_THAT(with("State=UP\\rSlurmUser=root"), one("spec.partition.config", "line breaks"));
  EXPECT_THAT(with("State=UP\\u0000"), one("spec.partition.config", "control characters"));
  EXPECT_THAT(with("State=UP \\\\"), one("spec.partition.config", "backslash"));
  EXPECT_THAT(with("partitionname=x"), one("spec.partition.config", "leave PartitionName out"));
}

TEST(ValidateNodeSet, IsNoPartitionCalledDefault) {
  EXPECT_THAT(nodeset_problems(R"(,"partition":{"enabled":true})", "default"),
              one("spec.partition.enabled", "PartitionName=DEFAULT"));
  EXPECT_THAT(nodeset_problems(R"(,"partition":{"enabled":false})", "default"), IsEmpty());
}

TEST(ValidateNodeSet, KeepsItsClaims) {
  EXPECT_THAT(nodeset_problems(R"(,"volumeClaimTemplates":"scratch")"),
              one("spec.volumeClaimTemplates[0].metadata.name", "give every claim a name"));
  EXPECT_THAT(nodeset_problems(R"(,"volumeClaimTemplates":[{"metadata":{"name":"a"}},
                                                           {"metadata":{"name":"a"}}])"),
              one("spec.volumeClaimTemplates[1].metadata.name", "is there twice"));
  EXPECT_THAT(
      refused_change<NodeSet>(
          R"({"controllerRef":{"name":"a"}})",
          R"({"controllerRef":{"name":"a"},"volumeClaimTemplates":[{"metadata":{"name":"a"}}]})"),
      ElementsAre("spec.volumeClaimTemplates"));
}

TEST(ValidateNodeSet, RefusesNegativeNumbers) {
  EXPECT_THAT(nodeset_problems(R"(,"replicas":-1)"), one("spec.replicas", "-1 is negative"));
  EXPECT_THAT(nodeset_problems(R"(,"minReadySeconds":-1)"), SizeIs(1));
  EXPECT_THAT(nodeset_problems(R"(,"revisionHistoryLimit":-1)"), SizeIs(1));
}

TEST(ValidateLoginSet, NeedsItsControllerAndItsUsers) {
  EXPECT_THAT(problems<LoginSet>("{}"), ElementsAre(HasSubstr("spec.controllerRef.name: is empty"),
                                                    HasSubstr("spec.sssdConfRef.name: is empty")));
  constexpr auto kGood = R"({"controllerRef":{"name":"a"},"sssdConfRef":{"name":"s","key":"k"}})";
  EXPECT_THAT(problems<LoginSet>(kGood), IsEmpty());
  EXPECT_THAT(refused_change<LoginSet>(
                  kGood, R"({"controllerRef":{"name":"b"},"sssdConfRef":{"name":"s","key":"k"}})"),
              ElementsAre("spec.controllerRef.name"));
}

TEST(ValidateRestApi, MayMoveToAnotherController) {
  EXPECT_THAT(refused_change<RestApi>(R"({"controllerRef":{"name":"a"}})",
                                      R"({"controllerRef":{"name":"b"}})"),
              IsEmpty());
  EXPECT_THAT(problems<RestApi>(R"({"controllerRef":{"name":"a/b"}})"),
              one("spec.controllerRef.name", "another namespace"));
}

TEST(ValidateAccounting, TakesPlainWordsForItsDatabase) {
  EXPECT_THAT(problems<Accounting>(
                  R"({"storageConfig":{"host":"db","username":"slurm@%","database":"acct"}})"),
              IsEmpty());
  EXPECT_THAT(problems<Accounting>(R"({"storageConfig":{"host":"db\nStorageUser=root"}})"),
              one("spec.storageConfig.host", "one plain word"));
  EXPECT_THAT(problems<Accounting>(R"({"storageConfig":{"username":"a #"}})"), SizeIs(1));
}

TEST(ValidateToken, NeedsAUserALifetimeAndASecretOfItsOwn) {
  EXPECT_THAT(problems<Token>(R"({"username":"alice","lifetime":"1h"})"), IsEmpty());
  EXPECT_THAT(problems<Token>(R"({"username":"alice","lifetime":"a while"})"),
              one("spec.lifetime", "write one such as 15m"));
  EXPECT_THAT(problems<Token>(R"({"username":"alice","lifetime":"500ms"})"), SizeIs(1));
  EXPECT_THAT(problems<Token>(R"({"username":"Alice_B"})"),
              one("spec.secretRef", "\"gpu-jwt-Alice_B\" cannot be the name of a Secret"));
  EXPECT_THAT(problems<Token>(R"({"username":"Alice_B","secretRef":{"name":"s","key":"k"}})"),
              IsEmpty());
  EXPECT_THAT(problems<Token>(R"({"username":"a","jwtKeyRef":{"name":"s","key":"k"},
                                  "secretRef":{"name":"s","key":"t"}})"),
              one("spec.secretRef.name", "choose another Secret"));
}

TEST(Validate, DoesNotHoldOldFaultsAgainstANewChange) {
  constexpr auto kFaulty = R"({"controllerRef":{"name":"a"},"extraConf":"Gres","replicas":1})";
  EXPECT_THAT(refused_change<NodeSet>(
                  kFaulty, R"({"controllerRef":{"name":"a"},"extraConf":"Gres","replicas":2})"),
              IsEmpty());
  EXPECT_THAT(refused_change<NodeSet>(
                  kFaulty, R"({"controllerRef":{"name":"a"},"extraConf":"Fres","replicas":1})"),
              ElementsAre("spec.extraConf"));
}

TEST(Validate, NeverStopsADeletion) {
  NodeSet going = read_kind<NodeSet>("{}");
  EXPECT_FALSE(validate(going, nullptr).ok());
  going.meta.deletion = WallTime{};
  EXPECT_TRUE(validate(going, nullptr).ok());
}

TEST(ConfigFiles, AreKnownUnknownOrOurs) {
  EXPECT_EQ(judge_config_file("slurm.conf"), ConfigFile::kRefused);
  EXPECT_EQ(judge_config_file("slurmdbd.conf"), ConfigFile::kRefused);
  EXPECT_EQ(judge_config_file("gres.conf"), ConfigFile::kKnown);
  EXPECT_EQ(judge_config_file("topology.yaml"), ConfigFile::kKnown);
  EXPECT_EQ(judge_config_file("notes.txt"), ConfigFile::kUnknown);
}

}  // namespace
}  // namespace mainspring::api
