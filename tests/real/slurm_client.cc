// The core of our Slurm client against a real slurmrestd: versions, tokens, every shape of refusal.
// Run by slurm_client_test.py, which starts Slurm and says in the environment where it is.
#include "slurm/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "http/client.h"
#include "net/event_loop.h"
#include "net/socket_network.h"

namespace mainspring::slurm {
namespace {

using ::testing::AnyOf;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run tests/real/slurm_client_test.py instead";
  return value == nullptr ? "" : value;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class SlurmClient : public ::testing::Test {
 protected:
  SlurmClient() {
    options_.server = *http::Url::parse(variable("SLURM_URL"));
    options_.tokens = minted_tokens_from(variable("SLURM_KEY"), loop_.clock());
  }

  Client& client() {
    if (!client_) client_.emplace(transport_, loop_, random_, governor_, options_);
    return *client_;
  }
  Result<Answer> send(Call call) { return loop_.run(client().send(std::move(call))); }
  void expect_refusal(const Call& call, Code code, int number) {
    const auto answer = send(call);
    ASSERT_FALSE(answer) << info(call.endpoint).what;
    EXPECT_EQ(answer.error().code(), code) << answer.error().to_string();
    ASSERT_NE(slurm_error(answer.error()), nullptr) << answer.error().to_string();
    EXPECT_EQ(slurm_error(answer.error())->number, number) << answer.error().to_string();
  }
  bool newest() { return *loop_.run(client().version()) == Version::k45; }

  net::EventLoop loop_;
  Random random_ = Random::from_system();
  net::SocketNetwork network_{loop_};
  http::Client transport_{loop_, network_, {}};
  Governor governor_{loop_, random_, {}};
  Client::Options options_;
  std::optional<Client> client_;
};

TEST_F(SlurmClient, SpeaksTheNewestVersionThatTheServerKnows) {
  const auto version = loop_.run(client().version());
  ASSERT_TRUE(version) << version.error().to_string();
  EXPECT_EQ(to_string(*version), variable("SLURM_API"));
  const auto answer = send({});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->envelope.release.starts_with(slurm_release(*version)));
}

TEST_F(SlurmClient, UnchangedListsAreNotSentAgain) {
  for (const Endpoint list : {Endpoint::kListNodes, Endpoint::kListJobs, Endpoint::kListPartitions,
                              Endpoint::kListReservations}) {
    const auto full = send({.endpoint = list});
    ASSERT_TRUE(full) << full.error().to_string();
    EXPECT_FALSE(full->not_modified);
    const auto again = send({.endpoint = list, .query = {{"update_time", "9999999999"}}});
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_TRUE(again->not_modified) << info(list).what;
  }
}

TEST_F(SlurmClient, ListsAreStreamed) {
  std::vector<std::string> nodes;
  const auto answer = loop_.run(client().stream({.endpoint = Endpoint::kListNodes}, "nodes",
                                                [&](std::string_view element) -> Result<void> {
                                                  nodes.emplace_back(element);
                                                  return {};
                                                }));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_FALSE(nodes.empty());
  EXPECT_GT(answer->envelope.last_update, 0);
}

TEST_F(SlurmClient, WhatDoesNotExistIsNotFound) {
  expect_refusal({.endpoint = Endpoint::kGetJob, .path = {"99999"}}, Code::kNotFound, 2017);
  expect_refusal({.endpoint = Endpoint::kCancelJob, .path = {"99999"}}, Code::kNotFound, 2017);
  expect_refusal(
      {.endpoint = Endpoint::kUpdateJob, .path = {"99999"}, .body = R"({"comment":"x"})"},
      Code::kNotFound, 2017);
  expect_refusal({.endpoint = Endpoint::kGetNode, .path = {"nope"}}, Code::kNotFound, 0);
  expect_refusal({.endpoint = Endpoint::kDeleteNode, .path = {"nope"}}, Code::kNotFound, 2018);
  expect_refusal(
      {.endpoint = Endpoint::kUpdateNode, .path = {"nope"}, .body = R"({"comment":"x"})"},
      Code::kNotFound, 2018);
  expect_refusal({.endpoint = Endpoint::kGetPartition, .path = {"nope"}}, Code::kNotFound, 2000);
  expect_refusal({.endpoint = Endpoint::kGetReservation, .path = {"nope"}}, Code::kNotFound, 0);
}

TEST_F(SlurmClient, WhatANewerVersionHasIsAskedForOnlyThere) {
  const Call requeue{.endpoint = Endpoint::kRequeueJob, .path = {"99999"}};
  if (newest()) {
    expect_refusal(requeue, Code::kNotFound, 2017);
    expect_refusal({.endpoint = Endpoint::kGetResources, .path = {"99999"}}, Code::kNotFound, 2017);
    expect_refusal({.endpoint = Endpoint::kDeletePartition, .path = {"nope"}}, Code::kNotFound,
                   2000);
    expect_refusal({.endpoint = Endpoint::kDeleteReservation, .path = {"nope"}}, Code::kNotFound,
                   2053);
    expect_refusal({.endpoint = Endpoint::kCreateNode,
                    .body = R"({"node_conf":"NodeName=ext1 NodeAddr=127.0.0.9 State=EXTERNAL"})"},
                   Code::kAlreadyExists, 2168);
    return;
  }
  const auto answer = send(requeue);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnsupported);
}

TEST_F(SlurmClient, BadRequestsAreInvalid) {
  const std::string job =
      R"({"job":{"partition":"nope","script":"#!/bin/sh","current_working_directory":"/tmp",
          "environment":["A=b"]}})";
  expect_refusal({.endpoint = Endpoint::kSubmitJob, .body = job}, Code::kInvalid, 2000);
  expect_refusal({.endpoint = Endpoint::kUpdateNode, .path = {"node1"}, .body = R"("x")"},
                 Code::kInvalid, 9209);
  expect_refusal({.endpoint = Endpoint::kJobStates, .query = {{"job_id", "1,2"}}}, Code::kInvalid,
                 9000);
  EXPECT_TRUE(
      send({.endpoint = Endpoint::kJobStates, .query = {{"job_id", "1"}, {"job_id", "2"}}}));
}

TEST_F(SlurmClient, APathThatTheServerLacksIsUnsupported) {
  const auto answer = send({.endpoint = Endpoint::kListQos});  // It runs without accounting.
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnsupported) << answer.error().to_string();
}

TEST_F(SlurmClient, ActsAsAnotherUser) {
  const Call call{.endpoint = Endpoint::kUpdateNode,
                  .path = {"node1"},
                  .body = R"({"comment":"x"})",
                  .user = "alice"};
  expect_refusal(call, Code::kForbidden, 2010);
  const auto key = Secret(contents(variable("SLURM_KEY")));
  const auto token = mint_token(key, "slurm", loop_.clock().wall_now(), minutes(5));
  ASSERT_TRUE(token);
  options_.tokens = static_token(*token);
  client_.reset();
  expect_refusal(call, Code::kForbidden, 2010);
  Call own = call;
  own.user.clear();
  EXPECT_TRUE(send(own));
}

TEST_F(SlurmClient, AnExpiredTokenIsRenewedOnce) {
  const auto key = Secret(contents(variable("SLURM_KEY")));
  std::vector<Duration> lifetimes = {-minutes(1), minutes(5)};
  std::size_t asked = 0;
  const auto give = [](Secret signing, WallTime now, Duration lifetime) -> Task<Result<Secret>> {
    co_return mint_token(signing, "slurm", now, lifetime);
  };
  options_.tokens = callback_tokens(
      [&](const std::string&) {
        return give(key, loop_.clock().wall_now(), lifetimes.at(asked++));
      },
      loop_.clock());
  const auto answer = send({.endpoint = Endpoint::kListNodes});
  EXPECT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(asked, 2U);
}

TEST_F(SlurmClient, ARotatedKeyFileIsReadAgain) {
  const std::string path = ::testing::TempDir() + "slurm_client.key";
  std::ofstream(path) << "not the key of this cluster";
  options_.tokens = minted_tokens_from(path, loop_.clock());
  expect_refusal({.endpoint = Endpoint::kListNodes}, Code::kUnauthorized, 1007);
  std::ofstream(path, std::ios::trunc | std::ios::binary) << contents(variable("SLURM_KEY"));
  const auto answer = send({.endpoint = Endpoint::kListNodes});
  EXPECT_TRUE(answer) << answer.error().to_string();
  std::remove(path.c_str());
}

// Run by itself, with slurmctld killed.
class SlurmctldAway : public SlurmClient {};

TEST_F(SlurmctldAway, EveryCallIsTransientAndPingSaysWhy) {
  const auto ping = loop_.run(client().raw({}));
  ASSERT_TRUE(ping) << ping.error().to_string();
  EXPECT_EQ(ping->at_pointer("/pings/0/responding")->as_bool(), false);
  for (const Call& call :
       {Call{.endpoint = Endpoint::kListNodes}, Call{.endpoint = Endpoint::kGetJob, .path = {"1"}},
        Call{.endpoint = Endpoint::kCancelJob, .path = {"1"}},
        Call{.endpoint = Endpoint::kJobStates}}) {
    Call once = call;
    once.timeout = seconds(30);
    const auto answer = send(once);
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().code(), AnyOf(Code::kTransient, Code::kTimeout))
        << answer.error().to_string();
  }
}

// Run by itself, with slurmrestd killed.
class SlurmrestdAway : public SlurmClient {};

TEST_F(SlurmrestdAway, CallsAreTransientAndThenFailAtOnce) {
  for (int i = 0; i < 5; ++i) {
    const auto answer =
        send({.endpoint = Endpoint::kUpdateNode, .path = {"node1"}, .timeout = milliseconds(500)});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kTransient) << answer.error().to_string();
  }
  EXPECT_TRUE(governor_.open());
}

}  // namespace
}  // namespace mainspring::slurm
