// control/finalizer_test.cc
#include "control/finalizer.h"

#include <gmock/gmock.h>

#include "control/scripted_api.h"
#include "json/json_patch.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::ElementsAre;

const kube::Resource kSets{"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", true};
constexpr const char* kOurs = "slinky.slurm.net/nodeset";

kube::Meta nodeset(std::vector<std::string> finalizers = {}, std::string version = "7") {
  kube::Meta meta;
  meta.ns = "ns";
  meta.name = "gpu";
  meta.uid = "u";
  meta.resource_version = std::move(version);
  meta.finalizers = std::move(finalizers);
  return meta;
}

Value json_of(const kube::Meta& meta) {
  Value metadata = Value::object({{"name", meta.name},
                                  {"namespace", meta.ns},
                                  {"uid", meta.uid},
                                  {"resourceVersion", meta.resource_version}});
  for (const auto& finalizer : meta.finalizers) metadata["finalizers"].push_back(finalizer);
  if (meta.deletion) metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  return Value::object({{"metadata", std::move(metadata)}});
}

kube::Meta dying(kube::Meta meta) {
  meta.deletion = WallTime(seconds(1));
  return meta;
}

struct FinalizerTest : ::testing::Test, ScriptedClient {
  // The live object, patched as the API server would.
  void serve(kube::Meta live) {
    object = json_of(live);
    api.otherwise = [this](const http::Request& request) {
      if (request.method == http::Method::kGet) return json_answer();
      auto patched = json::apply_json_patch(object, *json::parse(request.body));
      if (!patched) {
        return http::json_response(422, R"({"status":"Failure","reason":"Invalid","code":422})");
      }
      object = *std::move(patched);
      return json_answer();
    };
  }
  http::Response json_answer() const { return http::json_response(200, json::to_text(object)); }
  std::string finalizers() const {
    const Value* list = object.at_pointer("/metadata/finalizers");
    return list != nullptr ? json::to_text(*list) : "none";
  }

  static Task<Result<Requeue>> ensured(int* runs) {
    ++*runs;
    co_return Requeue{};
  }
  static Task<Result<std::optional<Requeue>>> cleaned(int* runs, std::optional<Requeue> again) {
    ++*runs;
    co_return again;
  }
  static Task<Result<std::optional<Requeue>>> failed() {
    co_return fail(Code::kTransient, "Slurm does not answer");
  }
  Result<Requeue> reconcile(kube::Meta meta, Cleanup cleanup) {
    return executor.run(with_finalizer(
        &client, kSets, std::move(meta), kOurs, [this] { return ensured(&ensures); },
        std::move(cleanup)));
  }
  Result<Requeue> reconcile(kube::Meta meta, std::optional<Requeue> again = std::nullopt) {
    return reconcile(std::move(meta), [this, again] { return cleaned(&cleanups, again); });
  }

  Value object;
  int ensures = 0;
  int cleanups = 0;
};

TEST_F(FinalizerTest, IsAddedBeforeAnythingIsDone) {
  serve(nodeset());
  ASSERT_TRUE(reconcile(nodeset()));
  EXPECT_EQ(finalizers(), R"(["slinky.slurm.net/nodeset"])");
  EXPECT_EQ(ensures, 1);

  api.requests.clear();
  ASSERT_TRUE(reconcile(nodeset({kOurs})));
  EXPECT_TRUE(api.requests.empty()) << "at rest there is nothing to write";
  EXPECT_EQ(ensures, 2);
}

TEST_F(FinalizerTest, NothingIsDoneWhereItCannotBeAdded) {
  api.refuse(403, "Forbidden");
  EXPECT_EQ(reconcile(nodeset()).error().code(), Code::kForbidden);
  EXPECT_EQ(ensures, 0);
}

TEST_F(FinalizerTest, SomebodyElsesFinalizerIsNotLostOnAnOldCopy) {
  serve(nodeset({"theirs"}, "8"));
  const auto added = executor.run(add_finalizer(&client, kSets, nodeset({}, "7"), kOurs));
  ASSERT_TRUE(added) << added.error().to_string();
  EXPECT_EQ(finalizers(), R"(["theirs","slinky.slurm.net/nodeset"])");
  EXPECT_THAT(added->finalizers, ElementsAre("theirs", kOurs));
}

TEST_F(FinalizerTest, IsNotAddedTwiceOnAnOldCopy) {
  serve(nodeset({"theirs", kOurs}, "8"));
  ASSERT_TRUE(executor.run(add_finalizer(&client, kSets, nodeset({"theirs"}, "7"), kOurs)));
  EXPECT_EQ(finalizers(), R"(["theirs","slinky.slurm.net/nodeset"])");
}

TEST_F(FinalizerTest, IsNotAddedToWhatIsBeingDeletedOrGone) {
  serve(dying(nodeset({"theirs"}, "8")));
  EXPECT_EQ(reconcile(nodeset()).error().code(), Code::kConflict);
  auto reborn = nodeset({}, "9");
  reborn.uid = "v";
  serve(reborn);
  EXPECT_EQ(reconcile(nodeset()).error().code(), Code::kConflict);
  EXPECT_EQ(finalizers(), "none");
  EXPECT_EQ(ensures, 0);
}

TEST_F(FinalizerTest, IsRemovedAfterCleaningUp) {
  serve(dying(nodeset({"theirs", kOurs})));
  ASSERT_TRUE(reconcile(dying(nodeset({"theirs", kOurs}))));
  EXPECT_EQ(cleanups, 1);
  EXPECT_EQ(ensures, 0);
  EXPECT_EQ(finalizers(), R"(["theirs"])");
}

TEST_F(FinalizerTest, RemovingTakesOursWhereverItIsByThen) {
  serve(dying(nodeset({kOurs, "theirs"}, "8")));
  ASSERT_TRUE(reconcile(dying(nodeset({"gone", kOurs}, "7"))));
  EXPECT_EQ(finalizers(), R"(["theirs"])");
}

TEST_F(FinalizerTest, StaysWhileCleaningUpIsNotDone) {
  const auto again = reconcile(dying(nodeset({kOurs})), Requeue{seconds(5)});
  EXPECT_EQ(again.value().after, seconds(5));
  EXPECT_FALSE(reconcile(dying(nodeset({kOurs})), [] { return failed(); }));
  EXPECT_TRUE(api.requests.empty());
}

TEST_F(FinalizerTest, WhatNeverHadItNeedsNoCleaningUp) {
  ASSERT_TRUE(reconcile(dying(nodeset({"theirs"}))));
  EXPECT_EQ(cleanups, 0);
  EXPECT_TRUE(api.requests.empty());
}

TEST_F(FinalizerTest, RemovingFromWhatIsGoneIsDone) {
  api.refuse(404, "NotFound");
  EXPECT_TRUE(reconcile(dying(nodeset({kOurs}))));
}

}  // namespace
}  // namespace mainspring::control
