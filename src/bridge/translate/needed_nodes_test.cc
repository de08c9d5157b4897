#include "bridge/translate/needed_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "101": the first and the third node suit it.
PartNodes part(std::string_view may, std::size_t least = 1) {
  PartNodes out;
  for (const char node : may) out.may.push_back(node == '1');
  out.least = least;
  return out;
}

std::vector<std::vector<std::size_t>> needed(const std::vector<PartNodes>& parts) {
  return needed_by_others(parts);
}

TEST(NeededNodes, TheOnlyNodeOfOneIsNobodyElses) {
  EXPECT_THAT(needed({part("11"), part("10")}), ElementsAre(ElementsAre(0), IsEmpty()));
  EXPECT_THAT(needed({part("111"), part("110"), part("100")}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(0), IsEmpty()));
  EXPECT_THAT(needed({part("1111", 2), part("0110", 2)}),
              ElementsAre(ElementsAre(1, 2), IsEmpty()));
}

TEST(NeededNodes, WhatTwoNeedTogetherIsTheirs) {
  EXPECT_THAT(needed({part("110"), part("110"), part("111")}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1)));
}

TEST(NeededNodes, WhereThereAreEnoughNothingIsLeftOut) {
  EXPECT_THAT(needed({part("111"), part("110")}), ElementsAre(IsEmpty(), IsEmpty()));
  EXPECT_THAT(needed({part("11"), part("11")}), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(NeededNodes, WhereThereIsNoWayNobodyIsKeptFromAnything) {
  EXPECT_THAT(needed({part("10"), part("10")}), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(NeededNodes, OfManyPartsOnesAndTwosAreSeen) {
  std::vector<PartNodes> parts(12, part("1111111111111111"));
  parts[7] = part("1000000000000000");
  const auto found = needed(parts);
  EXPECT_THAT(found[0], ElementsAre(0));
  EXPECT_THAT(found[7], IsEmpty());
}

// The first node that is left for each in its turn.
bool greedy(const std::vector<PartNodes>& parts, const std::vector<std::vector<std::size_t>>& out) {
  std::vector<bool> taken(parts.front().may.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t left = parts[i].least;
    for (std::size_t node = 0; node < taken.size() && left > 0; ++node) {
      const bool kept = std::find(out[i].begin(), out[i].end(), node) != out[i].end();
      if (taken[node] || kept || !parts[i].may[node]) continue;
      taken[node] = true;
      --left;
    }
    if (left > 0) return false;
  }
  return true;
}

bool has_a_way(const std::vector<PartNodes>& parts, std::vector<bool> taken, std::size_t from) {
  if (from == parts.size()) return true;
  for (std::size_t node = 0; node < taken.size(); ++node) {
    if (taken[node] || !parts[from].may[node]) continue;
    taken[node] = true;
    if (has_a_way(parts, taken, from + 1)) return true;
    taken[node] = false;
  }
  return false;
}

// What is left out is never needed, and with as many nodes as parts a greedy Slurm finds the first
// two kinds of one node each.
TEST(NeededNodes, NothingThatIsLeftOutWouldHaveHelped) {
  EXPECT_TRUE(rc::check([] {
    const auto count = static_cast<std::size_t>(*rc::gen::inRange(2, 5));
    std::vector<PartNodes> parts(count);
    for (PartNodes& one : parts) {
      for (std::size_t node = 0; node < 5; ++node) one.may.push_back(*rc::gen::inRange(0, 2) == 1);
    }
    const auto out = needed_by_others(parts);
    std::vector<PartNodes> less = parts;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t node : out[i]) less[i].may[node] = false;
    }
    const std::vector<bool> none(5);
    RC_ASSERT(has_a_way(parts, none, 0) == has_a_way(less, none, 0));
    // Of two parts nothing more can go wrong.
    if (count == 2 && has_a_way(parts, none, 0)) RC_ASSERT(greedy(parts, out));
  }));
}

}  // namespace
}  // namespace mainspring::bridge
