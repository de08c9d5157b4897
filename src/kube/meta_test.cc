#include "kube/meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

using ::testing::HasSubstr;

Result<Meta> read_meta(std::string_view text) {
  json::Reader reader;
  return json::decode<Meta>(reader, text);
}

constexpr const char* kWhole =
    R"({"name":"a","generateName":"a-","namespace":"web","uid":"u","resourceVersion":"7",)"
    R"("generation":3,"creationTimestamp":"2026-11-15T09:00:00Z",)"
    R"("deletionTimestamp":"2026-11-15T09:01:00Z","deletionGracePeriodSeconds":0,)"
    R"("labels":{"l":"1"},"annotations":{"b":"2","kubectl.kubernetes.io/last-applied-configuration":)"
    R"("{\"a\":1}","a":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n",)"
    R"("uid":"1"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"2",)"
    R"("controller":true,"blockOwnerDeletion":true}],"finalizers":["x.dev/keep"],)"
    R"("managedFields":[{"manager":"m"}]})";

TEST(Meta, ReadsWhatControllersNeed) {
  const auto meta = read_meta(kWhole);
  ASSERT_TRUE(meta.has_value()) << meta.error().to_string();
  EXPECT_EQ(meta->key(), (KeyView{"web", "a"}));
  EXPECT_EQ(meta->uid, "u");
  EXPECT_EQ(meta->resource_version, "7");
  EXPECT_EQ(meta->generation, 3);
  EXPECT_EQ(*meta->deletion - meta->created, minutes(1));
  EXPECT_TRUE(meta->deleting());
  EXPECT_EQ(meta->deletion_grace_seconds, 0);
  EXPECT_EQ(meta->labels.find("l"), "1");
  EXPECT_TRUE(meta->has_finalizer("x.dev/keep"));
  EXPECT_FALSE(meta->has_finalizer("x.dev"));
  ASSERT_NE(meta->controller(), nullptr);
  EXPECT_EQ(meta->controller()->name, "r");
  EXPECT_EQ(meta->controller()->group(), "apps");
  EXPECT_EQ(meta->owners[0].group(), "");
}

TEST(Meta, LeavesOutTheCopyThatKubectlKeeps) {
  const auto meta = read_meta(kWhole);
  ASSERT_TRUE(meta.has_value());
  EXPECT_EQ(meta->annotations.size(), 2u);
  EXPECT_EQ(meta->annotations.find("a"), "1");
  EXPECT_EQ(meta->annotations.find("b"), "2");
}

TEST(Meta, IsTheSameAtAnotherVersionAndDiffersByEverythingElse) {
  const Meta meta = *read_meta(kWhole);
  Meta other = meta;
  other.resource_version = "8";
  EXPECT_EQ(meta, other);
  const std::vector<void (*)(Meta&)> changes = {
      [](Meta& m) { m.name = "b"; },
      [](Meta& m) { m.ns = "b"; },
      [](Meta& m) { m.uid = "b"; },
      [](Meta& m) { m.generation = 4; },
      [](Meta& m) { m.created += seconds(1); },
      [](Meta& m) { m.deletion.reset(); },
      [](Meta& m) { m.deletion_grace_seconds = 1; },
      [](Meta& m) { m.labels = {}; },
      [](Meta& m) { m.annotations = {}; },
      [](Meta& m) { m.owners = {m.owners[0]}; },
      [](Meta& m) { m.finalizers = {}; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    other = meta;
    changes[i](other);
    EXPECT_NE(meta, other) << i;
  }
}

TEST(Meta, SharesWhatHasNotChanged) {
  const Meta earlier = *read_meta(kWhole);
  Meta meta = earlier;
  // Copies of their own.
  meta.owners = std::vector<OwnerReference>(earlier.owners.begin(), earlier.owners.end());
  meta.finalizers = {"x.dev/other"};
  meta.share_with(earlier);
  EXPECT_EQ(meta.owners.begin(), earlier.owners.begin());
  EXPECT_TRUE(meta.has_finalizer("x.dev/other"));
}

TEST(Meta, TakesNullForNothing) {
  const auto meta = read_meta(
      R"({"creationTimestamp":null,"deletionTimestamp":null,"labels":null,"annotations":null,)"
      R"("ownerReferences":null,"finalizers":null})");
  ASSERT_TRUE(meta.has_value()) << meta.error().to_string();
  EXPECT_EQ(*meta, Meta());
  EXPECT_EQ(meta->controller(), nullptr);
}

TEST(Meta, NamesWhatItCannotRead) {
  EXPECT_THAT(read_meta(R"({"creationTimestamp":"yesterday"})").error().to_string(),
              HasSubstr("creationTimestamp"));
  EXPECT_THAT(read_meta(R"({"annotations":{"a":1}})").error().to_string(),
              HasSubstr("annotations"));
}

}  // namespace
}  // namespace mainspring::kube
