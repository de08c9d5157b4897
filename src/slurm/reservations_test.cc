#include "slurm/reservations.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

class ReservationsTest : public ApiTest {};

TEST_F(ReservationsTest, OneIsWrittenAndReadAgain) {
  answer_as("resv_create");
  answer_as("resv_list");
  ReservationSpec spec;
  spec.name = "r1";
  spec.nodes = {"e4"};
  spec.users = {"alice"};
  spec.start_time = 1794771045;
  spec.duration = 60;
  spec.flags = {"IGNORE_JOBS"};
  const auto made = run(Reservations(client()).write(spec));
  ASSERT_TRUE(made) << why(made);
  // What Slurm answers to the write is what it was told; what it made of that is read.
  EXPECT_EQ(made->end_time.value_or(0), 1794771045 + 60 * 60);
  expect_asked_as("resv_create");
  EXPECT_EQ(asked(1), "GET /slurm/v0.0.45/reservation/r1");
}

TEST_F(ReservationsTest, ManyAreWrittenInOneCall) {
  answer();
  answer(R"({"reservations":[{"name":"r1"}]})");
  answer(R"({"reservations":[{"name":"r2"}]})");
  const auto made = run(Reservations(client()).write_many({{.name = "r1"}, {.name = "r2"}}));
  ASSERT_TRUE(made) << why(made);
  ASSERT_EQ(made->size(), 2U);
  EXPECT_EQ((*made)[1].name, "r2");
  EXPECT_EQ(asked(0), "POST /slurm/v0.0.45/reservations/");
  EXPECT_EQ(body(0), *json::parse(R"({"reservations":[{"name":"r1"},{"name":"r2"}]})"));
  // One of them is not as it was written.
  answer();
  answer(R"({"reservations":[{"name":"r1","users":"alice"}]})");
  answer(R"({"reservations":[{"name":"r2","users":"bob"}]})");
  EXPECT_THAT(why(run(Reservations(client()).write_many(
                  {{.name = "r1", .users = {"alice"}}, {.name = "r2", .users = {"alice"}}}))),
              ::testing::HasSubstr("reservation r2 and it is not there: users is 'bob'"));
  // One of them is not there after all.
  answer();
  answer_as("err_resv");
  EXPECT_EQ(code_of(run(Reservations(client()).write_many({{.name = "r3"}}))), Code::kConflict);
  EXPECT_EQ(code_of(run(Reservations(client()).write_many({{.name = ""}}))), Code::kInvalid);
}

TEST_F(ReservationsTest, OneThatSlurmMadeOtherwiseIsAConflict) {
  const char* const is = R"({"reservations":[{"name":"r1","node_list":"node[1-2]","node_count":2,
      "users":"alice,bob","start_time":{"set":true,"number":1000},
      "end_time":{"set":true,"number":4600},"flags":["MAINT","SPEC_NODES"]}]})";
  const auto written = [&](ReservationSpec spec) {
    spec.name = "r1";
    answer();
    answer(is);
    return code_of(run(Reservations(client()).write(spec)));
  };
  EXPECT_EQ(written({.nodes = {"node2", "node1"}, .users = {"bob", "alice"}, .flags = {"MAINT"}}),
            std::nullopt);
  EXPECT_EQ(written({.start_time = 1000, .duration = 60, .node_count = 2}), std::nullopt);
  EXPECT_EQ(written({.nodes = {"ALL"}, .users = {"+bob"}, .flags = {"NO_FLEX"}}), std::nullopt);
  EXPECT_EQ(written({.flags = {"TIME_FLOAT"}, .start_time = 900, .duration = 90}), Code::kConflict)
      << "the flag is not there";
  EXPECT_EQ(written({.nodes = {"node1"}}), Code::kConflict);
  EXPECT_EQ(written({.users = {"alice"}}), Code::kConflict);
  EXPECT_EQ(written({.flags = {"FLEX"}}), Code::kConflict);
  EXPECT_EQ(written({.start_time = 900}), Code::kConflict);
  EXPECT_EQ(written({.end_time = 4000}), Code::kConflict);
  EXPECT_EQ(written({.duration = 61}), Code::kConflict);
  EXPECT_EQ(written({.node_count = 3}), Code::kConflict);
}

TEST_F(ReservationsTest, AMissingOneIsNotFoundInEveryShape) {
  answer_as("err_resv");  // There is no reservation at all.
  EXPECT_EQ(code_of(run(Reservations(client()).get("nope"))), Code::kNotFound);
  answer(R"({"errors":[{"description":"Unable to find reservation r3","error_number":9000}]})",
         422);
  EXPECT_EQ(code_of(run(Reservations(client()).get("r3"))), Code::kNotFound);
}

TEST_F(ReservationsTest, AllAreListed) {
  answer_as("resv_list");
  int count = 0;
  const auto listed = run(Reservations(client()).list([&](const auto&) { ++count; }));
  ASSERT_TRUE(listed) << why(listed);
  EXPECT_EQ(count, 1);
  expect_asked_as("resv_list");
}

TEST_F(ReservationsTest, OneIsRemoved) {
  answer_as("resv_delete");
  EXPECT_TRUE(run(Reservations(client()).remove("r1")));
  expect_asked_as("resv_delete");
}

TEST_F(ReservationsTest, TheOldestVersionOnlyReads) {
  speak(Version::k42);
  ReservationSpec spec;
  spec.name = "r1";
  EXPECT_EQ(code_of(run(Reservations(client()).write(spec))), Code::kUnsupported);
  EXPECT_EQ(code_of(run(Reservations(client()).write({}))), Code::kInvalid);
}

}  // namespace
}  // namespace mainspring::slurm
