// slurm/job_id_test.cc
#include "slurm/job_id.h"

#include <gtest/gtest.h>

#include "json/fields.h"

namespace mainspring::slurm {
namespace {

JobIdText parsed(std::string_view text) {
  const auto id = parse_job_id_text(text);
  EXPECT_TRUE(id) << text;
  return id.value_or(JobIdText());
}

TEST(JobId, KnowsItsText) {
  EXPECT_EQ(JobId(4294967295U).text(), "4294967295");
  EXPECT_EQ(JobId().text(), "0");
  EXPECT_FALSE(JobId());
  EXPECT_LT(JobId(9), JobId(10));
}

TEST(JobId, IsReadAsNumberOrObject) {
  json::Reader reader;
  EXPECT_EQ(json::decode<JobId>(reader, "12").value(), JobId(12));
  EXPECT_EQ(json::decode<JobId>(reader, R"({"set":true,"number":12})").value(), JobId(12));
  EXPECT_EQ(json::decode<JobId>(reader, R"({"set":false,"number":12})").value(), JobId());
  EXPECT_FALSE(json::decode<JobId>(reader, "-1"));
  EXPECT_FALSE(json::decode<JobId>(reader, "4294967296"));
}

TEST(JobIdText, ReadsEveryFormThatSlurmWrites) {
  EXPECT_EQ(parsed("12"), (JobIdText{.id = JobId(12)}));
  EXPECT_EQ(parsed("9+1"), (JobIdText{.id = JobId(9), .het_offset = 1}));
  EXPECT_EQ(parsed("21_3"), (JobIdText{.id = JobId(21), .array_task = 3}));
  EXPECT_EQ(parsed("20_*"), (JobIdText{.id = JobId(20), .array_tasks = "*"}));
  EXPECT_EQ(parsed("20_[1-5,9%2]"), (JobIdText{.id = JobId(20), .array_tasks = "1-5,9%2"}));
  EXPECT_TRUE(parsed("20_[1-5]").is_array());
  EXPECT_FALSE(parsed("9+1").is_array());
}

TEST(JobIdText, RefusesEverythingElse) {
  for (const std::string_view text : {"", "0", "x", "12+", "12_", "12_[]", "12_[a]", "12_[1", "+1",
                                      "12+x", "12_1_2", " 12", "4294967296", "12.batch"}) {
    EXPECT_FALSE(parse_job_id_text(text)) << text;
  }
}

}  // namespace
}  // namespace mainspring::slurm
