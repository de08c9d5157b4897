#include "slurm/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "slurm/conf_lint.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kText = R"(---
- topology: t1
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[1-2]
      - {switch: s2, nodes: "n[3-4]"}
- topology: b1
  block:
    block_sizes: [2, 4]
    blocks: [{block: 1, nodes: n1}]
- {topology: r1, ring: {rings: [{ring: r, nodes: n1}]}}
- {topology: x1, torus3d: {toruses: [{name: t, dims: {x: 2}}]}}
- {topology: f1, flat: true}
)";

std::string why(std::string_view text) {
  const auto read = read_topology(text);
  return read ? "ok" : read.error().to_string();
}

TEST(TopologyFile, EveryKindIsReadAsItStands) {
  const auto read = read_topology(kText);
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_THAT(*read, SizeIs(5));
  EXPECT_TRUE(read->at(0).cluster_default);
  EXPECT_EQ(std::get<TreeTopology>(read->at(0).shape),
            (TreeTopology{{{.name = "root", .nodes = "", .children = "s[1-2]"},
                           {.name = "s1", .nodes = "n[1-2]", .children = ""},
                           {.name = "s2", .nodes = "n[3-4]", .children = ""}}}));
  EXPECT_EQ(std::get<BlockTopology>(read->at(1).shape).sizes, (std::vector<std::int64_t>{2, 4}));
  EXPECT_THAT(std::get<RingTopology>(read->at(2).shape).rings, SizeIs(1));
  EXPECT_NE(std::get<TorusTopology>(read->at(3).shape).members.find("toruses"), nullptr);
  EXPECT_TRUE(std::holds_alternative<FlatTopology>(read->at(4).shape));
}

TEST(TopologyFile, WhatWasReadIsWrittenSoThatItReadsTheSameAndPleasesTheLinter) {
  const auto read = read_topology(kText);
  const auto written = render_topology(*read);
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_THAT(*written, HasSubstr("      - switch: s1\n        nodes: n[1-2]\n"));
  EXPECT_THAT(*written, HasSubstr("      - block: \"1\"\n"));
  EXPECT_EQ(*read_topology(*written), *read) << *written;
  EXPECT_EQ(*render_topology(*read_topology(*written)), *written);
  EXPECT_THAT(lint({{"topology.yaml", *written}}), IsEmpty());
}

TEST(TopologyFile, ASingleOneMayStandWithoutAList) {
  EXPECT_THAT(*read_topology("topology: t\nflat: true\n"), SizeIs(1));
}

TEST(TopologyFile, WhatCannotBeUnderstoodIsNamed) {
  EXPECT_THAT(why("- topology: t\n"), HasSubstr("topology \"t\": no kind of topology is given"));
  EXPECT_THAT(why("- {topology: t, flat: true, tree: {switches: []}}"),
              HasSubstr("tree and flat exclude each other"));
  EXPECT_THAT(why("- {topology: t, tree: {switches: [{switch: s, nodes: [n1]}]}}"),
              HasSubstr("tree: nodes: it must be one text"));
  EXPECT_THAT(why("- {topology: t, tree: {switches: s}}"),
              HasSubstr("switches: it must be a list"));
  EXPECT_THAT(why("- {topology: t, block: {block_sizes: [a]}}"), HasSubstr("whole numbers"));
  EXPECT_THAT(why("- {topology: t, cluster_default: 7, flat: true}"), HasSubstr("true or false"));
  EXPECT_THAT(why("- t"), HasSubstr("must be a map"));
  EXPECT_THAT(why("t"), HasSubstr("a list of topologies"));
  EXPECT_THAT(why("- {topology: t, tree: 5}"), HasSubstr("tree: it must be a map"));
}

TEST(TopologyFile, NoTextBeginsAnotherKey) {
  Topology topology{.name = "t", .cluster_default = false, .shape = FlatTopology{}};
  topology.name = "t\nflat: false";
  EXPECT_EQ(render_topology(std::vector{topology}).error().code(), Code::kInvalid);
  topology.name = "a: b # \"c\" \\";
  const auto written = render_topology(std::vector{topology});
  ASSERT_TRUE(written);
  EXPECT_EQ(read_topology(*written)->front(), topology) << *written;
  EXPECT_FALSE(render_topology({})) << "slurmctld crashes on an empty list";
}

rc::Gen<std::string> texts() {
  return rc::gen::oneOf(rc::gen::element<std::string>(
                            "n[1-4]", "yes", "NO", "null", "~", "1", "0644", "1e5", ".inf", "inf",
                            "-", "a: b", "#", "'", "\"", "[", "{x}", " a ", "", "&a", "*a", "!t",
                            "|", ">", "%", "@", "a,b", "- a", "---", "2026-01-01"),
                        rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')));
}

rc::Gen<std::vector<TopologyUnit>> units(bool children) {
  return rc::gen::container<std::vector<TopologyUnit>>(
      rc::gen::map(rc::gen::tuple(texts(), texts(), texts()), [children](const auto& parts) {
        return TopologyUnit{.name = std::get<0>(parts),
                            .nodes = std::get<1>(parts),
                            .children = children ? std::get<2>(parts) : std::string()};
      }));
}

using Shape = decltype(Topology::shape);

rc::Gen<Shape> shapes() {
  return rc::gen::oneOf(
      rc::gen::just(Shape(FlatTopology{})),
      rc::gen::map(units(true), [](auto made) { return Shape(TreeTopology{std::move(made)}); }),
      rc::gen::map(units(false), [](auto made) { return Shape(RingTopology{std::move(made)}); }),
      rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::vector<std::int64_t>>(), units(false)),
                   [](auto made) {
                     return Shape(BlockTopology{std::move(made.first), std::move(made.second)});
                   }));
}

TEST(TopologyFile, WhateverIsWrittenReadsTheSame) {
  EXPECT_TRUE(rc::check([] {
    Topology topology;
    topology.name = *texts();
    topology.cluster_default = *rc::gen::arbitrary<bool>();
    topology.shape = *shapes();
    const std::vector<Topology> all(static_cast<std::size_t>(*rc::gen::inRange(1, 3)), topology);
    const auto written = render_topology(all);
    RC_ASSERT(written.has_value());
    RC_ASSERT(*read_topology(*written) == all);
    RC_ASSERT(*render_topology(*read_topology(*written)) == *written);
  }));
}

}  // namespace
}  // namespace mainspring::slurm
