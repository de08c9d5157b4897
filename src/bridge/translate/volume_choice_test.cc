#include "bridge/translate/volume_choice.h"

#include <gtest/gtest.h>

#include "json/yaml.h"
#include "kube/node.h"

namespace mainspring::bridge {
namespace {

template <class T>
T from(std::string_view yaml) {
  const auto value = json::parse_yaml(yaml);
  EXPECT_TRUE(value) << yaml;
  json::Reader reader;
  auto object = json::decode<T>(reader, json::to_text(*value));
  EXPECT_TRUE(object) << object.error().to_string();
  return *std::move(object);
}

kube::PersistentVolumeClaim claim(std::string_view more = "") {
  return from<kube::PersistentVolumeClaim>(
      "{metadata: {name: data, namespace: default, uid: u1}, spec: {storageClassName: local, "
      "accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}" +
      std::string(more) + "}}");
}

VolumePtr volume(const std::string& name, const std::string& size, const std::string& disk,
                 const std::string& more = "") {
  return std::make_shared<const kube::PersistentVolume>(from<kube::PersistentVolume>(
      "{metadata: {name: " + name + ", labels: {disk: " + disk +
      "}}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], capacity: {storage: " +
      size + "}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: disk, " +
      "operator: In, values: [" + disk + "]}]}]}}" + more + "}, status: {phase: Available}}"));
}

kube::Meta node(const std::string& disk) {
  return from<kube::Node>("{metadata: {name: node, labels: {disk: " + disk + "}}}").meta;
}

const auto kByHand = from<kube::StorageClass>(
    "{metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: "
    "WaitForFirstConsumer}");

TEST(VolumeChoice, APodMayBeWhereAVolumeForItIs) {
  const auto reach =
      reach_of(claim(), kByHand, {volume("a", "10Gi", "a"), volume("b", "20Gi", "b")});
  ASSERT_TRUE(reach) << reach.error().to_string();
  EXPECT_TRUE((*reach)->matches(node("a")));
  EXPECT_TRUE((*reach)->matches(node("b")));
  EXPECT_FALSE((*reach)->matches(node("c")));
}

TEST(VolumeChoice, WithoutAVolumeThatIsLargeEnoughAndFreeThereIsNoPlace) {
  const std::string taken = ", claimRef: {namespace: default, name: other, uid: u2}";
  const auto none =
      reach_of(claim(), kByHand, {volume("a", "9Gi", "a"), volume("b", "20Gi", "b", taken)});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::kConflict);
  EXPECT_FALSE(reach_of(claim(", volumeMode: Block"), kByHand, {volume("a", "10Gi", "a")}));
  EXPECT_FALSE(
      reach_of(claim(", selector: {matchLabels: {disk: b}}"), kByHand, {volume("a", "10Gi", "a")}));
}

TEST(VolumeChoice, WhereVolumesAreMadeTheClassSaysWhere) {
  const auto anywhere = reach_of(claim(), from<kube::StorageClass>("{provisioner: csi.x}"), {});
  EXPECT_TRUE(anywhere && !*anywhere);
  const auto some = reach_of(
      claim(),
      from<kube::StorageClass>("{provisioner: csi.x, allowedTopologies: [{matchLabelExpressions: "
                               "[{key: disk, values: [a]}]}]}"),
      {volume("b", "10Gi", "b")});
  ASSERT_TRUE(some && *some);
  EXPECT_TRUE((*some)->matches(node("a")));
  EXPECT_TRUE((*some)->matches(node("b"))) << "one is there already";
  EXPECT_FALSE((*some)->matches(node("c")));
}

TEST(VolumeChoice, TheSmallestOfTheNodeOrTheOneThatIsKeptForTheClaim) {
  const std::vector<VolumePtr> all = {volume("large", "50Gi", "a"), volume("small", "10Gi", "a"),
                                      volume("elsewhere", "10Gi", "b")};
  EXPECT_EQ(volume_on(claim(), all, node("a")), all[1]);
  EXPECT_EQ(volume_on(claim(), all, node("c")), nullptr);
  const auto kept =
      volume("kept", "99Gi", "a", ", claimRef: {namespace: default, name: data, uid: u1}");
  EXPECT_EQ(volume_on(claim(), {all[1], kept}, node("a")), kept);
}

}  // namespace
}  // namespace mainspring::bridge
