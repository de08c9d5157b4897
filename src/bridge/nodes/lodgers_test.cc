#include "bridge/nodes/lodgers.h"

#include <gtest/gtest.h>

#include <string>

#include "bridge/translate/taken.h"
#include "json/fields.h"

namespace mainspring::bridge {
namespace {

Lodger lodger(const std::string& owner_kind, const std::string& container) {
  json::Reader reader;
  const std::string owners =
      owner_kind.empty()
          ? ""
          : R"({"kind":")" + owner_kind + R"(","name":"o","uid":"u","controller":true})";
  auto read = json::decode<Lodger>(
      reader, R"({"metadata":{"namespace":"a","name":"x","uid":"1","resourceVersion":"7",)"
              R"("labels":{"app":"x"},"ownerReferences":[)" +
                  owners + R"(]},"spec":{"nodeName":"n1","volumes":[{"name":"v-x1"}],)" +
                  R"("containers":[{"name":"c","image":"i",)" + container + "}]}}");
  EXPECT_TRUE(read.has_value());
  return read.value_or(Lodger());
}

const std::string kPlain = R"("resources":{"requests":{"cpu":"1","memory":"1Gi"}})";
const std::string kListens =
    R"("ports":[{"name":"m","containerPort":80},{"containerPort":90,"hostPort":9100}])";
const std::string kStores = R"("resources":{"requests":{"ephemeral-storage":"2Gi"}})";

TEST(Lodger, IsWhereItIsAndWhatItTakesAndNothingElse) {
  const Lodger listens = lodger("ReplicaSet", kListens);
  EXPECT_EQ(listens.meta.name, "x");
  EXPECT_EQ(listens.meta.ns, "a");
  EXPECT_EQ(listens.meta.resource_version, "7");
  EXPECT_TRUE(listens.meta.labels.empty());
  EXPECT_EQ(listens.node_name, "n1");
  EXPECT_TRUE(listens.spec->volumes.empty());
  Taken taken;
  taken.add(listens.spec);
  EXPECT_EQ(taken.pods, 1U);
  ASSERT_EQ(taken.with_ports.size(), 1U);
  EXPECT_EQ(taken_port(*lodger("", kListens).spec, taken), 9100);
  taken.add(lodger("", kStores).spec);
  EXPECT_EQ(taken.resources.at("ephemeral-storage").to_string(), "2Gi");
  // What Slurm knows of is not kept, so that most have nothing.
  EXPECT_EQ(lodger("", kPlain).spec, kube::PodSpec());
}

TEST(Lodger, IsInTheWayByWhatItTakesOrWhereNobodyKeepsItAway) {
  EXPECT_FALSE(can_be_in_the_way(lodger("ReplicaSet", kPlain), true));
  EXPECT_TRUE(can_be_in_the_way(lodger("ReplicaSet", kPlain), false));
  EXPECT_TRUE(can_be_in_the_way(lodger("ReplicaSet", kListens), true));
  EXPECT_TRUE(can_be_in_the_way(lodger("", kStores), true));
  // A static pod is where its file is.
  EXPECT_TRUE(can_be_in_the_way(lodger("Node", kPlain), true));
  // A DaemonSet is known by itself.
  EXPECT_FALSE(can_be_in_the_way(lodger("DaemonSet", kListens), false));
}

}  // namespace
}  // namespace mainspring::bridge
