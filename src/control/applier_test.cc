// control/applier_test.cc
#include "control/applier.h"

#include <gmock/gmock.h>

#include "control/scripted_api.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const kube::Resource kMaps{"", "v1", "configmaps", "ConfigMap", true};
const kube::Resource kSets{"apps", "v1", "statefulsets", "StatefulSet", true};

Value parse(std::string_view text) { return *json::parse(text); }

Value map(const char* value) {
  Value desired = parse(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"conf","namespace":"ns"}})");
  desired["data"]["a"] = value;
  return desired;
}

Value live_map(const char* value, const char* version) {
  Value live = map(value);
  live["metadata"]["uid"] = "u";
  live["metadata"]["resourceVersion"] = version;
  live["metadata"]["managedFields"] = parse(
      R"([{"manager":"mainspring","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
           "fieldsV1":{"f:data":{"f:a":{}}}}])");
  return live;
}

kube::Meta seen(const char* version, std::int64_t generation = 0) {
  kube::Meta meta;
  meta.ns = "ns";
  meta.name = "conf";
  meta.uid = "u";
  meta.resource_version = version;
  meta.generation = generation;
  return meta;
}

constexpr const char* kGet = "GET /api/v1/namespaces/ns/configmaps/conf";
constexpr const char* kPatch = "PATCH /api/v1/namespaces/ns/configmaps/conf";

struct ApplierTest : ::testing::Test, ScriptedClient {
  Result<Applied> apply(Value desired, std::optional<kube::Meta> cached,
                        kube::Resource resource = kMaps) {
    return executor.run(
        applier.apply({std::move(resource), std::move(desired), std::move(cached)}));
  }
  void applied_once() {
    api.reply(live_map("1", "10"));
    ASSERT_TRUE(apply(map("1"), std::nullopt));
    api.requests.clear();
  }
  Applier applier{client, {}};
};

TEST_F(ApplierTest, CreatesWhatTheCacheDoesNotShow) {
  api.reply(live_map("1", "10"));
  const auto applied = apply(map("1"), std::nullopt);
  ASSERT_TRUE(applied) << applied.error().to_string();
  EXPECT_TRUE(applied->changed);
  EXPECT_EQ(applied->meta.uid, "u");
  EXPECT_THAT(api.calls(), ElementsAre(kPatch));
  EXPECT_THAT(api.requests[0].url.query, HasSubstr("force=true"));
  EXPECT_THAT(api.requests[0].url.query, HasSubstr("fieldManager=mainspring"));
}

TEST_F(ApplierTest, MakesNoCallAtRest) {
  applied_once();
  for (const char* version : {"10", "10", "10"}) {
    const auto applied = apply(map("1"), seen(version));
    ASSERT_TRUE(applied);
    EXPECT_FALSE(applied->changed);
  }
  EXPECT_THAT(api.calls(), IsEmpty());
}

TEST_F(ApplierTest, MakesNoCallWhileTheCacheLagsItsOwnWrite) {
  applied_once();
  ASSERT_TRUE(apply(map("1"), seen("9")));
  EXPECT_THAT(api.calls(), IsEmpty());
}

TEST_F(ApplierTest, WritesWhatIsDesiredAnew) {
  applied_once();
  api.reply(live_map("2", "11"));
  EXPECT_TRUE(apply(map("2"), seen("10")).value().changed);
  EXPECT_THAT(api.calls(), ElementsAre(kPatch));
  ASSERT_TRUE(apply(map("2"), seen("11")));
  EXPECT_EQ(api.requests.size(), 1U);
}

TEST_F(ApplierTest, RepairsAnEditOfItsOwnFields) {
  applied_once();
  api.reply(live_map("edited", "11"));
  api.reply(live_map("1", "12"));
  EXPECT_TRUE(apply(map("1"), seen("11")).value().changed);
  EXPECT_THAT(api.calls(), ElementsAre(kGet, kPatch));
}

TEST_F(ApplierTest, LooksOnceAtAnEditOfOthersAndLeavesIt) {
  applied_once();
  Value edited = live_map("1", "11");
  edited["data"]["theirs"] = "x";
  api.reply(edited);
  EXPECT_FALSE(apply(map("1"), seen("11")).value().changed);
  ASSERT_TRUE(apply(map("1"), seen("11")));
  EXPECT_THAT(api.calls(), ElementsAre(kGet));
}

TEST_F(ApplierTest, AfterARestartReadsAndWritesNothing) {
  api.reply(live_map("1", "10"));
  const auto applied = apply(map("1"), seen("10"));
  EXPECT_FALSE(applied.value().changed);
  EXPECT_EQ(applied->meta.resource_version, "10");
  ASSERT_TRUE(apply(map("1"), seen("10")));
  EXPECT_THAT(api.calls(), ElementsAre(kGet));
}

TEST_F(ApplierTest, AnApplyThatTheServerFindsToChangeNothingIsNoChange) {
  Value unmanaged = live_map("1", "10");
  unmanaged["metadata"].erase("managedFields");
  api.reply(unmanaged);
  api.reply(live_map("1", "10"));
  EXPECT_FALSE(apply(map("1"), seen("10")).value().changed);
  EXPECT_THAT(api.calls(), ElementsAre(kGet, kPatch));
}

TEST_F(ApplierTest, AnotherObjectOfTheSameNameIsLookedAt) {
  applied_once();
  api.reply(live_map("edited", "8"));
  api.reply(live_map("1", "12"));
  auto reborn = seen("8");
  reborn.uid = "v";
  ASSERT_TRUE(apply(map("1"), reborn));
  EXPECT_THAT(api.calls(), ElementsAre(kGet, kPatch));
}

TEST_F(ApplierTest, AFailedWriteIsNotRemembered) {
  applied_once();
  api.refuse(403, "Forbidden");
  EXPECT_THAT(apply(map("2"), seen("10")).error().to_string(),
              HasSubstr("applying configmaps ns/conf"));
  api.reply(live_map("2", "11"));
  EXPECT_FALSE(apply(map("2"), seen("11")).value().changed) << "it took effect after all";
  EXPECT_THAT(api.calls(), ElementsAre(kPatch, kGet));
}

TEST_F(ApplierTest, WhatVanishedIsMadeAgain) {
  applied_once();
  api.reply(live_map("1", "12"));
  EXPECT_TRUE(apply(map("1"), std::nullopt).value().changed);
  applier.forget(kMaps, {"ns", "conf"});
  api.refuse(404, "NotFound");
  api.reply(live_map("1", "13"));
  EXPECT_TRUE(apply(map("1"), seen("12")).value().changed) << "the cache lags the deletion";
}

TEST_F(ApplierTest, AWriteToTheStatusAloneIsNoReasonToLook) {
  const Value set = parse(R"({"metadata":{"name":"conf","namespace":"ns"},"spec":{"replicas":1}})");
  const auto answer =
      parse(R"({"metadata":{"name":"conf","namespace":"ns","uid":"u","resourceVersion":"10",
                            "generation":1,"labels":{"a":"b"}}})");
  api.reply(answer);
  ASSERT_TRUE(apply(set, std::nullopt, kSets));
  api.requests.clear();
  auto cached = seen("11", 1);
  std::vector<json::StringMap::Member> labels{{"a", "b"}};
  cached.labels = json::StringMap(labels);
  ASSERT_TRUE(apply(set, cached, kSets));
  EXPECT_THAT(api.calls(), IsEmpty());

  api.otherwise = [&](const http::Request&) {
    return http::json_response(200, json::to_text(answer));
  };
  auto edited = cached;
  edited.generation = 2;
  edited.resource_version = "12";
  ASSERT_TRUE(apply(set, edited, kSets));
  EXPECT_EQ(api.requests.size(), 2U) << "the spec changed";
  api.requests.clear();
  auto relabelled = cached;
  relabelled.labels = {};
  relabelled.resource_version = "13";
  ASSERT_TRUE(apply(set, relabelled, kSets));
  EXPECT_EQ(api.requests.size(), 2U) << "a label is gone";
}

TEST_F(ApplierTest, RefusesWhatHasNoName) {
  EXPECT_EQ(apply(parse(R"({"metadata":{"namespace":"ns"}})"), std::nullopt).error().code(),
            Code::kInvalid);
  EXPECT_EQ(apply(parse(R"({"metadata":{"name":"x"}})"), std::nullopt).error().code(),
            Code::kInvalid);
  EXPECT_THAT(api.calls(), IsEmpty());
}

TEST_F(ApplierTest, AppliesManyAFewAtATime) {
  api.latency = milliseconds(10);
  api.otherwise = [](const http::Request& request) {
    if (request.url.path.ends_with("/m3")) return http::json_response(403, "{}");
    return http::json_response(200, request.body);
  };
  std::vector<ApplyRequest> requests;
  for (int i = 0; i < 10; ++i) {
    Value desired = map("1");
    desired["metadata"]["name"] = "m" + std::to_string(i);
    requests.push_back({kMaps, std::move(desired), std::nullopt, {}});
  }
  const auto results = executor.run(applier.apply_all(std::move(requests), 4));
  ASSERT_EQ(results.value().size(), 10U);
  EXPECT_EQ((*results)[3].error().code(), Code::kForbidden);
  EXPECT_EQ((*results)[9].value().meta.name, "m9");
  EXPECT_EQ(api.requests.size(), 10U);
  EXPECT_EQ(api.most_in_flight, 4U);
}

TEST_F(ApplierTest, NothingToApplyIsDone) {
  EXPECT_THAT(executor.run(applier.apply_all({}, 4)).value(), IsEmpty());
}

}  // namespace
}  // namespace mainspring::control
