#include "operator/nodeset/topology.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "json/value.h"
#include "operator/nodeset/worker_testing.h"

namespace mainspring::op {
namespace {

kube::Node node_at(std::string_view topology) {
  kube::Node node;
  node.meta.annotations = string_map({{api::annotation::kTopology, topology}});
  return node;
}

TEST(Topology, IsAListOfPlacesInTopologiesThatHaveNames) {
  for (const char* const text :
       {"default", "racks:rack1", "topo-switch:s2,topo-block:b2", "tree:root:leaf_3.a/7"}) {
    EXPECT_EQ(topology_of(node_at(text)), text);
    EXPECT_EQ(refused_topology(node_at(text)), "") << text;
  }
}

TEST(Topology, IsNothingElse) {
  for (const char* const text :
       {"racks:rack1 Weight=0", "racks:rack1\nPartitionName=mine", "racks:$(id)", "racks:`id`",
        "racks:'rack1", "racks:\"", "racks:\\", "racks:n[1-9]", "racks:;id", "racks:", ",racks:a",
        "racks::a", "racks:a#", "racks:a=b"}) {
    EXPECT_EQ(topology_of(node_at(text)), "") << text;
    EXPECT_NE(refused_topology(node_at(text)), "") << text;
  }
  EXPECT_EQ(topology_of(node_at("a:" + std::string(2000, 'b'))), "");
  EXPECT_LT(refused_topology(node_at(std::string(2000, ' '))).size(), 300U);
  EXPECT_EQ(refused_topology(kube::Node()), "");
}

}  // namespace
}  // namespace mainspring::op
