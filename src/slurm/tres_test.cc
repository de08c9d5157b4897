// slurm/tres_test.cc
#include "slurm/tres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace mainspring::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tres tres(std::string_view text) {
  const auto parsed = Tres::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Tres());
}

std::vector<Gres> gres(std::string_view text) {
  const auto parsed = parse_gres(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(std::vector<Gres>());
}

TEST(Tres, ReadsWhatAJobWasGiven) {
  const Tres given = tres("cpu=4,mem=4G,node=1,billing=4,gres/gpu=2,gres/gpu:h100=2");
  EXPECT_EQ(given.count("cpu"), 4);
  EXPECT_EQ(given.count("mem"), 4096);
  EXPECT_EQ(given.gres("gpu"), 2);
  EXPECT_EQ(given.find("energy"), std::nullopt);
  EXPECT_EQ(given.to_string(), "cpu=4,mem=4G,node=1,billing=4,gres/gpu=2,gres/gpu:h100=2");
}

TEST(Tres, MemoryIsInMegabytesWhateverTheUnit) {
  EXPECT_EQ(tres("mem=16000M").count("mem"), 16000);
  EXPECT_EQ(tres("mem=16000").count("mem"), 16000);
  EXPECT_EQ(tres("mem=1.50G").count("mem"), 1536);
  EXPECT_EQ(tres("mem=2T").count("mem"), 2 << 20);
  EXPECT_EQ(tres("mem=512K").count("mem"), 0);
  EXPECT_EQ(tres("mem=16000M").to_string(), "mem=16000M");
  EXPECT_EQ(tres("mem=1024G").to_string(), "mem=1T");
  EXPECT_EQ(tres("gres/gpumem=80G").count("gres/gpumem"), std::int64_t{80} << 30);
}

TEST(Tres, ReadsRequests) {
  EXPECT_EQ(tres("gres/gpu:2").gres("gpu"), 2);
  EXPECT_EQ(tres("gres:gpu:2").gres("gpu"), 2);
  EXPECT_EQ(tres("gres/gpu:h100:2,gres/gpu:a100:1").gres("gpu"), 3);
  EXPECT_EQ(tres("gres/gpu").gres("gpu"), 1);
  EXPECT_EQ(tres("license/matlab=1").count("license/matlab"), 1);
  EXPECT_TRUE(tres("").empty());
  EXPECT_TRUE(tres("N/A").empty());
}

TEST(Tres, RefusesWhatItCannotCount) {
  for (const std::string_view text : {"cpu=", "=4", "cpu=x", "cpu=-1", "cpu=4,", "mem=1.G",
                                      "cpu=99999999999999999999", "cpu=9999999999P", "mem=4GG"}) {
    EXPECT_FALSE(Tres::parse(text)) << text;
  }
}

TEST(Tres, TextAndBack) {
  EXPECT_TRUE(rc::check("parse(to_string(x)) == x", [] {
    Tres made;
    for (const std::string_view name : {"cpu", "mem", "node", "gres/gpu:h100"}) {
      made.set(name, *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50));
    }
    RC_ASSERT(Tres::parse(made.to_string()).value() == made);
  }));
}

TEST(Gres, ReadsNodesAndJobs) {
  EXPECT_THAT(gres("gpu:h100:8(S:0-1)"),
              ElementsAre(Gres{.name = "gpu", .type = "h100", .count = 8, .sockets = {0, 1}}));
  EXPECT_THAT(gres("gpu:h100:2(IDX:0-1,3)"),
              ElementsAre(Gres{.name = "gpu", .type = "h100", .count = 2, .indexes = {0, 1, 3}}));
  EXPECT_THAT(gres("gpu:h100:0(IDX:N/A),shard:4(0/2,2/2)"),
              ElementsAre(Gres{.name = "gpu", .type = "h100", .count = 0},
                          Gres{.name = "shard", .count = 4}));
  EXPECT_THAT(gres("gpu:1g.5gb:7,gpu:2,craynetwork,mps:4K"),
              ElementsAre(Gres{.name = "gpu", .type = "1g.5gb", .count = 7},
                          Gres{.name = "gpu", .count = 2}, Gres{.name = "craynetwork", .count = 1},
                          Gres{.name = "mps", .count = 4096}));
  EXPECT_THAT(gres("gres:gpu:2"), ElementsAre(Gres{.name = "gpu", .count = 2}));
  EXPECT_THAT(gres("(null)"), IsEmpty());
  EXPECT_THAT(gres(""), IsEmpty());
  EXPECT_FALSE(parse_gres("gpu:2(IDX:x)"));
  EXPECT_FALSE(parse_gres("gpu:2(IDX:0"));
  EXPECT_FALSE(parse_gres(":2"));
}

TEST(Gres, TextAndBack) {
  for (const std::string_view text :
       {"gpu:h100:8(S:0-1)", "gpu:h100:2(IDX:0-1,3)", "gpu:2,mps:100"}) {
    EXPECT_EQ(format_gres(gres(text)), text);
  }
}

TEST(CoreBitmap, CountsFromTheLastDigit) {
  EXPECT_THAT(parse_core_bitmap("0x0003").value(), ElementsAre(0, 1));
  EXPECT_THAT(parse_core_bitmap("0x8001").value(), ElementsAre(0, 15));
  EXPECT_THAT(parse_core_bitmap("0xf0").value(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(parse_core_bitmap("0-2,8").value(), ElementsAre(0, 1, 2, 8));
  EXPECT_FALSE(parse_core_bitmap("0x"));
  EXPECT_FALSE(parse_core_bitmap("0xg"));
}

TEST(CoreBitmap, TextAndBack) {
  EXPECT_TRUE(rc::check("a set of cores in both forms", [] {
    const auto cores =
        *rc::gen::container<std::set<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 300));
    const std::vector<std::uint32_t> list(cores.begin(), cores.end());
    RC_ASSERT(parse_core_bitmap(format_core_bitmap(list, 300)).value() == list);
    RC_ASSERT(parse_index_list(format_index_list(list)).value() == list);
  }));
}

TEST(IndexList, IsBounded) {
  EXPECT_FALSE(parse_index_list("0-4294967295"));
  EXPECT_FALSE(parse_index_list("3-1"));
  EXPECT_FALSE(parse_index_list("1,,2"));
  EXPECT_THAT(parse_index_list("3,1,1-2").value(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace mainspring::slurm
