#include "slurm/conf_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "slurm/conf_value.h"

namespace mainspring::slurm {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kFiles[] = {"slurm.conf", "cgroup.conf", "gres.conf", "slurmdbd.conf"};

std::vector<std::span<const ConfKey>> tables() {
  std::vector<std::span<const ConfKey>> found;
  for (const std::string_view file : kFiles) {
    found.push_back(conf_keys(file));
    for (const ConfKey& key : conf_keys(file)) {
      if (key.use == ConfUse::kLine) found.push_back(conf_line_keys(file, key.name));
    }
  }
  return found;
}

TEST(ConfKeys, EveryTableHasKeysAndFindsEachInAnyCase) {
  for (const auto table : tables()) {
    ASSERT_FALSE(table.empty());
    for (const ConfKey& key : table) {
      std::string lower(key.name);
      std::ranges::transform(lower, lower.begin(), ascii_lower);
      EXPECT_EQ(find_conf_key(table, lower), &key) << key.name;
    }
  }
}

TEST(ConfKeys, EveryRowMakesSense) {
  for (const auto table : tables()) {
    for (const ConfKey& key : table) {
      EXPECT_LE(key.since, key.until) << key.name;
      EXPECT_LE(key.min, key.max) << key.name;
      const bool listed = key.type == ConfType::kChoice || key.type == ConfType::kChoices ||
                          key.type == ConfType::kPrefix || key.type == ConfType::kPlugin ||
                          key.type == ConfType::kPlugins;
      EXPECT_EQ(listed, !key.choices.empty()) << key.name;
      if (key.type == ConfType::kPlugin || key.type == ConfType::kPlugins) {
        EXPECT_NE(plugins_of(key.choices, key.until), "") << key.name;
      }
    }
  }
}

TEST(ConfKeys, KnowsWhatCameAndWentBetweenReleases) {
  const auto slurm = conf_keys("slurm.conf");
  EXPECT_EQ(find_conf_key(slurm, "MetricsType")->since, 2511);
  EXPECT_EQ(find_conf_key(slurm, "FrontendName")->until, 2411);
  EXPECT_EQ(find_conf_key(conf_line_keys("slurm.conf", "nodename"), "GresConf")->since, 2511);
  EXPECT_THAT(plugins_of("topology", 2411), Not(HasSubstr("flat")));
  EXPECT_THAT(plugins_of("topology", 2605), HasSubstr("flat"));
}

TEST(ConfKeys, OffersTheNearestNameButNoGuesses) {
  const auto slurm = conf_keys("slurm.conf");
  EXPECT_EQ(nearest_conf_key(slurm, "KilWait"), "KillWait");
  EXPECT_EQ(nearest_conf_key(slurm, "schedulertpye"), "SchedulerType");
  EXPECT_EQ(nearest_conf_key(slurm, "SlurmctldHosts"), "SlurmctldHost");
  EXPECT_EQ(nearest_conf_key(slurm, "Zebra"), "");
}

struct Value {
  ConfKey key;
  std::string_view good;  // separated by blanks
  std::string_view bad;
};

TEST(ConfValue, IsReadAsSlurmReadsIt) {
  using enum ConfType;
  const Value values[] = {
      {conf_key("k", kBool), "YES no TRUE up 1 0", "maybe 2 y"},
      {conf_key("k", kUint16), "0 65535 0x10 010 +5 INFINITE unlimited", "65536 -1 08 1k abc 5x"},
      {conf_key("k", kUint32), "10k 4294967295 K", "4294967296 5m 4194304k"},
      {conf_key("k", kUint64), "18446744073709551615 1K", "18446744073709551616 x"},
      {conf_key("k", kUint32).at_least(2).at_most(9), "2 9", "1 10 INFINITE"},
      {conf_key("k", kFloat), "95.5 1e3 INFINITE", "abc 5%"},
      {conf_key("k", kTime), "5 1:30 1:00:00 2-12 7-00:00:00 -1 UNLIMITED",
       "abc 1: -- 1:2:3:4 1-2-3"},
      {conf_key("k", kTime).at_least(1), "1 0:01", "0 INFINITE"},
      {conf_key("k", kPeriod), "12 12months 30d 24HOURS", "x -1days 5years months"},
      {conf_key("k", kLogLevel), "debug INFO 5 99", "loud -1"},
      {conf_key("k", kPort), "1 6817 6817-6820", "0 70000 9-3 a 5-"},
      {conf_key("k", kChoice).of("A,B>2605"), "a B", "c"},
      {conf_key("k", kChoices).of("A,B"), "a,B b, ,", "a,c"},
      {conf_key("k", kPrefix).of("UP,DOWN"), "up DOWNish", "u"},
      {conf_key("k", kPlugin).of("sched"), "sched/backfill", "backfill sched/Backfill sched/x"},
      {conf_key("k", kPlugin).of("jobcomp"), "jobcomp/none none", "jobcomp/x"},
      {conf_key("k", kPlugins).of("task"), "task/cgroup,affinity", "task/x cgroup,y"},
      {conf_key("k", kPath), "/a", "a ./a"},
      {conf_key("k", kPaths), "/a,/b NONE", "/a,b"},
      {conf_key("k", kHosts), "n[1-3,7] a,b n[1-2].example", "n[1 n[3-1] n[] n[1-70000]"},
      {conf_key("k", kWeights), "cpu=1.5,mem=0.25G gres/gpu=2", "cpu=abc foo=1 cpu="},
      {conf_key("k", kLicenses), "a:1,b c=2;d:3 a|b", "a:x a:1:2 a|b,c"},
  };
  for (const Value& value : values) {
    for (const std::string_view good : split(value.good, ' ')) {
      EXPECT_FALSE(check_value(value.key, good, kNewestRelease)) << good;
    }
    for (const std::string_view bad : split(value.bad, ' ')) {
      const auto problem = check_value(value.key, bad, kNewestRelease);
      ASSERT_TRUE(problem) << bad;
      EXPECT_TRUE(problem->fatal) << bad;
      EXPECT_FALSE(problem->advice.empty()) << bad;
    }
  }
}

TEST(ConfValue, ChoicesOfALaterReleaseAreNotTakenBefore) {
  const ConfKey key = conf_key("k", ConfType::kChoice).of("A,B>2605");
  EXPECT_TRUE(check_value(key, "B", 2511));
  EXPECT_FALSE(check_value(key, "B", 2605));
}

TEST(ConfValue, WhatSlurmIgnoresIsNotFatal) {
  const ConfKey key = conf_key("k", ConfType::kChoices).of("A").or_ignored();
  EXPECT_FALSE(check_value(key, "x", kNewestRelease)->fatal);
  EXPECT_FALSE(check_value(conf_key("SuspendTime", ConfType::kSeconds), "abc", 2605)->fatal);
  EXPECT_TRUE(check_value(conf_key("SuspendTime", ConfType::kSeconds), "99999999999", 2605)->fatal);
}

TEST(ConfValue, TextBehindBracketsExpandsSince2505) {
  EXPECT_THAT(*expand_conf_hosts("n[1-2].x,m", 2605), testing::ElementsAre("n1.x", "n2.x", "m"));
  EXPECT_FALSE(expand_conf_hosts("n[1-2].x", 2411));
}

}  // namespace
}  // namespace mainspring::slurm
