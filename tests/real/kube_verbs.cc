// Every verb of kube::Api and every way in which the API server refuses, against the real one.
// Run by kube_test.py.
#include <gmock/gmock.h>

#include "kube/apps.h"
#include "kube/dynamic.h"
#include "kube/pod.h"
#include "kube_fixture.h"

namespace mainspring::kube {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Verbs : public KubeTest {};

Value patch_data(std::string_view key, Value value) {
  Value patch;
  patch["data"][key] = std::move(value);
  return patch;
}

TEST_F(Verbs, CreateGetAndDelete) {
  const auto api = config_maps();
  const auto created = run(api.create(config_map("a", "1")));
  ASSERT_TRUE(created) << why(created);
  EXPECT_FALSE(created->meta.uid.empty());
  EXPECT_FALSE(created->meta.resource_version.empty());

  const auto got = run(api.get("a"));
  ASSERT_TRUE(got) << why(got);
  EXPECT_EQ(*got, *created);
  EXPECT_EQ(got->data.find("key"), "1");

  EXPECT_TRUE(run(api.remove("a")));
  const auto gone = run(api.get("a"));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::kNotFound);
  const Status* status = status_of(gone.error());
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->reason, "NotFound");
  EXPECT_EQ(status->kind, "configmaps");
  EXPECT_EQ(status->name, "a");
  EXPECT_THAT(gone.error().to_string(), HasSubstr("get configmaps " + ns_ + "/a: "));
}

TEST_F(Verbs, GenerateNameMakesNamesThatDiffer) {
  Value object = config_map("x", "1");
  object["metadata"].erase("name");
  object["metadata"]["generateName"] = "made-";
  const auto first = run(config_maps().create(object));
  const auto second = run(config_maps().create(object));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->meta.name, second->meta.name);
}

TEST_F(Verbs, DryRunChangesNothing) {
  ASSERT_TRUE(run(config_maps().create(config_map("a", "1"), {.dry_run = true})));
  EXPECT_EQ(run(config_maps().get("a")).error().code(), Code::kNotFound);
  ASSERT_TRUE(run(config_maps().create(config_map("a", "1"))));
  ASSERT_TRUE(run(config_maps().apply(config_map("a", "2"), {.dry_run = true})));
  ASSERT_TRUE(run(config_maps().remove("a", {.dry_run = true})));
  EXPECT_EQ(run(config_maps().get("a"))->data.find("key"), "1");
}

TEST_F(Verbs, ThreeKindsOfPatch) {
  const auto api = config_maps();
  ASSERT_TRUE(run(api.create(config_map("a", "1"))));
  ASSERT_TRUE(run(api.patch("a", {PatchKind::kMerge, patch_data("more", "2")})));
  Value operations = Value::array();
  operations.push_back(Value::object({{"op", "replace"}, {"path", "/data/key"}, {"value", "3"}}));
  ASSERT_TRUE(run(api.patch("a", {PatchKind::kJson, operations})));
  ASSERT_TRUE(run(api.patch("a", {PatchKind::kStrategic, patch_data("more", nullptr)})));
  const auto got = run(api.get("a"));
  EXPECT_EQ(got->data.find("key"), "3");
  EXPECT_FALSE(got->data.contains("more"));

  operations.at(0)["op"] = "test";
  operations.at(0)["value"] = "other";
  const auto failed = run(api.patch("a", {PatchKind::kJson, operations}));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalid) << why(failed);
}

TEST_F(Verbs, ReplaceNeedsTheNewestVersion) {
  const auto api = config_maps();
  const auto created = run(api.create(config_map("a", "1")));
  Value object = config_map("a", "2");
  object["metadata"]["resourceVersion"] = created->meta.resource_version;
  ASSERT_TRUE(run(api.replace(object)));
  const auto stale = run(api.replace(object));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code(), Code::kConflict);
  EXPECT_EQ(status_of(stale.error())->reason, "Conflict");
}

TEST_F(Verbs, ApplyOwnsItsFieldsAndSaysWhoHoldsThem) {
  const auto api = config_maps();
  ASSERT_TRUE(run(api.apply(config_map("a", "1"), {.field_manager = "one"})));
  const auto conflict =
      run(api.apply(config_map("a", "2"), {.field_manager = "two", .force = false}));
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code(), Code::kConflict);
  EXPECT_TRUE(status_of(conflict.error())->has_cause("FieldManagerConflict"));
  EXPECT_THAT(conflict.error().to_string(), HasSubstr("\"one\""));

  ASSERT_TRUE(run(api.apply(config_map("a", "2"), {.field_manager = "two"})));
  // What a manager no longer applies is removed.
  Value without = config_map("a", "2");
  without.erase("data");
  const auto applied = run(api.apply(without, {.field_manager = "two"}));
  ASSERT_TRUE(applied) << why(applied);
  EXPECT_FALSE(applied->data.contains("key"));

  const auto again = run(api.apply(without, {.field_manager = "two"}));
  EXPECT_EQ(again->meta.resource_version, applied->meta.resource_version);
}

TEST_F(Verbs, ListByPagesAndSelectors) {
  for (int i = 0; i < 7; ++i) {
    Value object = config_map("m" + std::to_string(i), "1");
    object["metadata"]["labels"]["odd"] = i % 2 == 1 ? "yes" : "no";
    ASSERT_TRUE(run(config_maps().create(object)));
  }
  const auto page = run(config_maps().list({.limit = 3}));
  ASSERT_TRUE(page) << why(page);
  EXPECT_EQ(page->items.size(), 3U);
  EXPECT_FALSE(page->continue_token.empty());
  const auto odd = run(config_maps().list_all({.label_selector = "odd=yes", .limit = 2}));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->items.size(), 3U);
  const auto one = run(config_maps().list({.field_selector = "metadata.name=m4"}));
  ASSERT_EQ(one->items.size(), 1U);
  EXPECT_EQ(one->items[0]->meta.name, "m4");
}

TEST_F(Verbs, PagesShowOneMomentEvenUnderChange) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(run(config_maps().create(config_map("m" + std::to_string(i), "before"))));
  }
  ListOptions options{.label_selector = "", .limit = 2};
  // The namespace's own ConfigMap with the cluster's CA comes when it likes.
  options.field_selector = "metadata.name!=kube-root-ca.crt";
  auto page = run(config_maps().list(options));
  ASSERT_TRUE(page);
  std::vector<std::string> seen;
  while (true) {
    for (const auto& item : page->items) {
      seen.push_back(item->meta.name + "=" + std::string(*item->data.find("key")));
    }
    if (page->continue_token.empty()) break;
    ASSERT_TRUE(run(config_maps().patch("m5", {PatchKind::kMerge, patch_data("key", "after")})));
    const auto extra = config_map("m1" + std::to_string(seen.size()), "new");
    ASSERT_TRUE(run(config_maps().create(extra)));
    options.continue_token = page->continue_token;
    page = run(config_maps().list(options));
    ASSERT_TRUE(page) << why(page);
  }
  EXPECT_THAT(seen, ElementsAre("m0=before", "m1=before", "m2=before", "m3=before", "m4=before",
                                "m5=before"));
}

TEST_F(Verbs, DeleteChecksItsPreconditions) {
  const auto created = run(config_maps().create(config_map("a", "1")));
  const auto other = run(config_maps().remove("a", {.uid = "someone-else"}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kConflict);
  ASSERT_TRUE(run(config_maps().patch("a", {PatchKind::kMerge, patch_data("x", "y")})));
  const auto stale =
      run(config_maps().remove("a", {.resource_version = created->meta.resource_version}));
  EXPECT_EQ(stale.error().code(), Code::kConflict);
  EXPECT_TRUE(run(config_maps().remove("a", {.uid = created->meta.uid})));
}

TEST_F(Verbs, DeleteCollectionTakesOnlyWhatIsSelected) {
  for (const char* name : {"a", "b"}) {
    Value object = config_map(name, "1");
    object["metadata"]["labels"]["name"] = name;
    ASSERT_TRUE(run(config_maps().create(object)));
  }
  ASSERT_TRUE(run(config_maps().remove_all({.label_selector = "name=a"})));
  EXPECT_FALSE(run(config_maps().get("a")));
  EXPECT_TRUE(run(config_maps().get("b")));
}

TEST_F(Verbs, AFinalizerHoldsWhatIsDeleted) {
  Value object = config_map("held", "1");
  object["metadata"]["finalizers"] = Value::array({"example.com/hold"});
  ASSERT_TRUE(run(config_maps().create(object)));
  ASSERT_TRUE(run(config_maps().remove("held", {.propagation = Propagation::kForeground})));
  const auto held = run(config_maps().get("held"));
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->meta.deleting());
  EXPECT_TRUE(held->meta.has_finalizer("example.com/hold"));
  Value release;
  release["metadata"]["finalizers"] = nullptr;
  ASSERT_TRUE(run(config_maps().patch("held", {PatchKind::kMerge, release})));
  EXPECT_EQ(run(config_maps().get("held")).error().code(), Code::kNotFound);
}

TEST_F(Verbs, StatusAndScaleAreApart) {
  Value deployment = *json::parse(R"({"apiVersion":"apps/v1","kind":"Deployment",
    "metadata":{"name":"d"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const Api<Dynamic> api(client(), Deployment::kResource, ns_);
  ASSERT_TRUE(run(api.create(deployment)));
  Value replicas;
  replicas["spec"]["replicas"] = 3;
  ASSERT_TRUE(run(api.patch("d", {PatchKind::kMerge, replicas}, {.subresource = "scale"})));
  const auto scale = run(api.get("d", {.subresource = "scale"}));
  ASSERT_TRUE(scale) << why(scale);
  EXPECT_EQ(scale->members.find("kind"), "\"Scale\"");
  EXPECT_EQ(scale->member("spec")->find("replicas")->as_int(), 3);

  Value status;
  status["status"]["collisionCount"] = 7;
  ASSERT_TRUE(run(api.patch("d", {PatchKind::kMerge, status}, {.subresource = "status"})));
  const auto read = run(api.get("d"));
  EXPECT_EQ(read->member("status")->find("collisionCount")->as_int(), 7);
}

TEST_F(Verbs, RefusalsSayWhichFieldAndWhy) {
  Value object = config_map("Not_A_Name", "1");
  const auto invalid = run(config_maps().create(object));
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code(), Code::kInvalid);
  ASSERT_FALSE(status_of(invalid.error())->causes.empty());
  EXPECT_EQ(status_of(invalid.error())->causes[0].field, "metadata.name");

  ASSERT_TRUE(run(config_maps().create(config_map("a", "1"))));
  const auto exists = run(config_maps().create(config_map("a", "1")));
  EXPECT_EQ(exists.error().code(), Code::kAlreadyExists);

  Value typo = config_map("b", "1");
  typo["dta"]["key"] = "x";
  const auto strict = run(config_maps().create(typo, {.field_validation = "Strict"}));
  EXPECT_EQ(strict.error().code(), Code::kInvalid);
  EXPECT_THAT(strict.error().to_string(), HasSubstr("dta"));

  const auto nowhere = run(Api<ConfigMap>(client(), "no-such-namespace").create(typo));
  EXPECT_FALSE(nowhere);
  const Api<Dynamic> unknown(client(), {"example.com", "v1", "widgets", "Widget", true}, ns_);
  EXPECT_EQ(run(unknown.list()).error().code(), Code::kNotFound);
  const auto nameless = run(config_maps().apply(Value::object()));
  EXPECT_EQ(nameless.error().code(), Code::kInvalid);
}

TEST_F(Verbs, ATerminatingNamespaceTakesNothingNew) {
  Value held = config_map("held", "1");
  held["metadata"]["finalizers"] = Value::array({"example.com/hold"});
  ASSERT_TRUE(run(config_maps().create(held)));
  ASSERT_TRUE(run(Api<Namespace>(client()).remove(ns_)));
  const auto refused = run(config_maps().create(config_map("late", "1")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_TRUE(status_of(refused.error())->has_cause("NamespaceTerminating"));
  Value release;
  release["metadata"]["finalizers"] = nullptr;
  ASSERT_TRUE(run(config_maps().patch("held", {PatchKind::kMerge, release})));
}

}  // namespace
}  // namespace mainspring::kube
