#include "operator/sync/deletion_limit.h"

#include <gtest/gtest.h>

#include "net/virtual_executor.h"

namespace mainspring::op {
namespace {

using Ground = DeletionLimit::Ground;

struct Limit : ::testing::Test {
  int taken(Ground ground, const char* nodeset, std::size_t size) {
    int count = 0;
    while (limit.take(ground, nodeset, size)) ++count;
    return count;
  }
  net::VirtualExecutor executor;
  DeletionLimit limit{executor.clock(), 20};
};

TEST_F(Limit, IsOneForAllAndThereAgainAfterAMinute) {
  EXPECT_EQ(taken(Ground::kWanted, "a", 100), 20);
  EXPECT_EQ(taken(Ground::kUnknown, "b", 100), 0);
  executor.advance(minutes(1));
  EXPECT_EQ(taken(Ground::kWanted, "b", 1), 20);
}

TEST_F(Limit, LeavesOnlyAShareWhereAMistakeWouldTakeAll) {
  EXPECT_EQ(taken(Ground::kUprooted, "a", 40), 10);
  EXPECT_EQ(taken(Ground::kUnknown, "a", 40), 4);
  EXPECT_EQ(taken(Ground::kUprooted, "b", 3), 1);
  executor.advance(minutes(1));
  EXPECT_EQ(taken(Ground::kUprooted, "a", 30), 7);
  EXPECT_TRUE(limit.has_room(Ground::kWanted, "a", 23));
  EXPECT_FALSE(limit.has_room(Ground::kUprooted, "a", 23));
  limit.forget("a");
  EXPECT_TRUE(limit.has_room(Ground::kUprooted, "a", 23));
}

}  // namespace
}  // namespace mainspring::op
