// control/owners_test.cc
#include "control/owners.h"

#include <gmock/gmock.h>

#include "control/object_meta.h"
#include "control/scripted_api.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::ElementsAre;

const kube::Resource kSets{"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", true};
const kube::Resource kPods{"", "v1", "pods", "Pod", true};

kube::Meta meta(std::string name, std::string uid) {
  kube::Meta meta;
  meta.ns = "ns";
  meta.name = std::move(name);
  meta.uid = std::move(uid);
  meta.resource_version = "7";
  return meta;
}

kube::Meta owned_by(kube::Meta object, std::string uid) {
  std::vector<kube::OwnerReference> owners(object.owners.begin(), object.owners.end());
  owners.push_back(
      {.api_version = "v1", .kind = "X", .name = "x", .uid = std::move(uid), .controller = true});
  object.owners = std::move(owners);
  return object;
}

kube::Meta deleting(kube::Meta object) {
  object.deletion = WallTime(seconds(1));
  return object;
}

TEST(DecideClaim, FollowsTheControllerRefRules) {
  const kube::Meta owner = meta("set", "o");
  const kube::Meta orphan = meta("pod", "p");
  const kube::Meta mine = owned_by(orphan, "o");
  EXPECT_EQ(decide_claim(owner, orphan, true), Claim::kAdopt);
  EXPECT_EQ(decide_claim(owner, orphan, false), Claim::kIgnore);
  EXPECT_EQ(decide_claim(owner, deleting(orphan), true), Claim::kIgnore);
  EXPECT_EQ(decide_claim(deleting(owner), orphan, true), Claim::kIgnore);

  EXPECT_EQ(decide_claim(owner, mine, true), Claim::kKeep);
  EXPECT_EQ(decide_claim(owner, deleting(mine), true), Claim::kKeep);
  EXPECT_EQ(decide_claim(owner, mine, false), Claim::kRelease);
  EXPECT_EQ(decide_claim(deleting(owner), mine, true), Claim::kKeep);
  EXPECT_EQ(decide_claim(deleting(owner), mine, false), Claim::kIgnore);

  EXPECT_EQ(decide_claim(owner, owned_by(orphan, "other"), true), Claim::kIgnore);
}

TEST(DecideClaim, DoesNotReachIntoOtherNamespaces) {
  kube::Meta owner = meta("set", "o");
  owner.ns = "elsewhere";
  EXPECT_EQ(decide_claim(owner, meta("pod", "p"), true), Claim::kIgnore);
  owner.ns = "";
  EXPECT_EQ(decide_claim(owner, meta("pod", "p"), true), Claim::kAdopt);
}

TEST(Owners, AnOwnerThatDoesNotControlIsNoController) {
  kube::Meta object = meta("pod", "p");
  object.owners = {{.uid = "o", .controller = false}};
  EXPECT_FALSE(is_controlled_by(object, "o"));
  EXPECT_TRUE(is_controlled_by(owned_by(object, "o"), "o"));
}

Value object(const char* name, const char* uid, const char* version = "7") {
  return Value::object(
      {{"metadata",
        Value::object(
            {{"name", name}, {"namespace", "ns"}, {"uid", uid}, {"resourceVersion", version}})}});
}

struct ClaimTest : ::testing::Test, ScriptedClient {
  Result<std::vector<bool>> claim(std::vector<kube::Meta> objects, bool matches = true) {
    Claimant claimant{kSets, meta("set", "o"), [matches](const kube::Meta&) { return matches; }};
    return executor.run(claim_each(&client, std::move(claimant), kPods, std::move(objects)));
  }
};

constexpr const char* kOwnerPath = "GET /apis/slinky.slurm.net/v1beta1/namespaces/ns/nodesets/set";
constexpr const char* kPatchPath = "PATCH /api/v1/namespaces/ns/pods/pod";
constexpr const char* kGetPath = "GET /api/v1/namespaces/ns/pods/pod";

TEST_F(ClaimTest, AdoptsAnOrphanAfterReadingTheOwner) {
  api.reply(object("set", "o"));
  api.reply(object("pod", "p"));
  EXPECT_EQ(claim({meta("pod", "p")}).value(), std::vector<bool>{true});
  EXPECT_THAT(api.calls(), ElementsAre(kOwnerPath, kPatchPath));
  EXPECT_EQ(api.requests[1].headers.get("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(json::to_text(api.body(1)),
            R"({"metadata":{"uid":"p","resourceVersion":"7","ownerReferences":[)"
            R"({"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","name":"set","uid":"o",)"
            R"("controller":true,"blockOwnerDeletion":true}]}})");
}

TEST_F(ClaimTest, AdoptsNothingForAnOwnerThatIsBeingDeletedOrAnother) {
  Value dying = object("set", "o");
  dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  api.reply(dying);
  EXPECT_EQ(claim({meta("pod", "p"), meta("pod2", "p2")}).error().code(), Code::kConflict);
  EXPECT_THAT(api.calls(), ElementsAre(kOwnerPath)) << "asked once for both";

  api.requests.clear();
  api.reply(object("set", "reborn"));
  EXPECT_EQ(claim({meta("pod", "p")}).error().code(), Code::kConflict);
  EXPECT_THAT(api.calls(), ElementsAre(kOwnerPath));
}

TEST_F(ClaimTest, ReleasesWithoutTouchingOtherOwners) {
  kube::Meta pod = owned_by(meta("pod", "p"), "o");
  pod.owners = {pod.owners[0], {.api_version = "v1", .kind = "Y", .name = "y", .uid = "y"}};
  api.reply(object("pod", "p"));
  EXPECT_EQ(claim({pod}, false).value(), std::vector<bool>{false});
  EXPECT_THAT(api.calls(), ElementsAre(kPatchPath));
  const Value body = api.body(0);
  const Value* owners = body.at_pointer("/metadata/ownerReferences");
  ASSERT_NE(owners, nullptr);
  EXPECT_EQ(json::to_text(*owners), R"([{"apiVersion":"v1","kind":"Y","name":"y","uid":"y"}])");
}

TEST_F(ClaimTest, DecidesAgainOnAFreshCopyAfterAConflict) {
  Value taken = object("pod", "p", "8");
  taken["metadata"]["ownerReferences"] = Value::array({Value::object({{"apiVersion", "v1"},
                                                                      {"kind", "X"},
                                                                      {"name", "x"},
                                                                      {"uid", "other"},
                                                                      {"controller", true}})});
  api.reply(object("set", "o"));
  api.refuse(409, "Conflict");
  api.reply(taken);
  EXPECT_EQ(claim({meta("pod", "p")}).value(), std::vector<bool>{false});
  EXPECT_THAT(api.calls(), ElementsAre(kOwnerPath, kPatchPath, kGetPath));
}

TEST_F(ClaimTest, TriesAgainWithTheNewVersion) {
  api.reply(object("set", "o"));
  api.refuse(409, "Conflict");
  api.reply(object("pod", "p", "8"));
  api.reply(object("pod", "p", "9"));
  EXPECT_EQ(claim({meta("pod", "p")}).value(), std::vector<bool>{true});
  const Value body = api.body(3);
  EXPECT_EQ(*body.at_pointer("/metadata/resourceVersion"), Value("8"));
}

TEST_F(ClaimTest, LeavesAnotherObjectOfTheSameNameAlone) {
  api.reply(object("set", "o"));
  api.refuse(422, "Invalid");
  api.reply(object("pod", "reborn", "9"));
  EXPECT_EQ(claim({meta("pod", "p")}).value(), std::vector<bool>{false});
  EXPECT_THAT(api.calls(), ElementsAre(kOwnerPath, kPatchPath, kGetPath));
}

TEST_F(ClaimTest, DoesNotInsistWhereNothingChanged) {
  api.reply(object("set", "o"));
  api.refuse(422, "Invalid");
  api.reply(object("pod", "p", "7"));
  EXPECT_EQ(claim({meta("pod", "p")}).error().code(), Code::kInvalid);
  EXPECT_EQ(api.requests.size(), 3U);
}

TEST_F(ClaimTest, WhatIsGoneIsNotOurs) {
  api.reply(object("set", "o"));
  api.refuse(404, "NotFound");
  EXPECT_EQ(claim({meta("pod", "p")}).value(), std::vector<bool>{false});
}

TEST_F(ClaimTest, OneFailureDoesNotKeepTheOthersFromBeingTried) {
  api.refuse(403, "Forbidden");
  api.reply(object("pod2", "p2"));
  const auto claimed =
      claim({owned_by(meta("pod", "p"), "o"), owned_by(meta("pod2", "p2"), "o")}, false);
  EXPECT_EQ(claimed.error().code(), Code::kForbidden);
  EXPECT_EQ(api.requests.size(), 2U);
}

TEST_F(ClaimTest, GivesBackTheObjectsThatAreOurs) {
  auto mine = std::make_shared<const ObjectMeta>(ObjectMeta{owned_by(meta("pod", "p"), "o")});
  auto other = std::make_shared<const ObjectMeta>(ObjectMeta{owned_by(meta("x", "x"), "y")});
  Claimant claimant{kSets, meta("set", "o"), [](const kube::Meta&) { return true; }};
  const auto owned =
      executor.run(control::claim<ObjectMeta>(&client, std::move(claimant), kPods, {other, mine}));
  EXPECT_THAT(owned.value(), ElementsAre(mine));
  EXPECT_TRUE(api.requests.empty());
}

}  // namespace
}  // namespace mainspring::control
