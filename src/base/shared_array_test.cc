#include "base/shared_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mainspring {
namespace {

using Counted = std::shared_ptr<std::string>;

TEST(SharedArray, IsFreedWithItsLastCopy) {
  const Counted item = std::make_shared<std::string>("item");
  SharedArray<Counted> copy;
  {
    const SharedArray<Counted> first(2, [&](Counted* items) { items[0] = items[1] = item; });
    EXPECT_EQ(item.use_count(), 3);
    copy = first;
    EXPECT_TRUE(copy.shares_with(first));
    EXPECT_EQ(item.use_count(), 3);
  }
  ASSERT_EQ(copy.size(), 2U);
  EXPECT_EQ(*copy.data()[1], "item");
  const SharedArray<Counted> moved = std::move(copy);
  EXPECT_EQ(item.use_count(), 3);
  copy = SharedArray<Counted>();
  EXPECT_EQ(moved.size(), 2U);
  copy = moved;
  copy = SharedArray<Counted>(1, [&](Counted* items) { items[0] = item; });
  EXPECT_EQ(item.use_count(), 4);
}

TEST(SharedArray, OfNothingTakesNoBlock) {
  const SharedArray<int> none(0, [](int*) { FAIL(); });
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_TRUE(none.shares_with(SharedArray<int>()));
}

TEST(SharedArray, IsCopiedFromManyThreads) {
  const Counted item = std::make_shared<std::string>("item");
  {
    const SharedArray<Counted> shared(1, [&](Counted* items) { items[0] = item; });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&shared] {
        for (int round = 0; round < 1000; ++round) {
          const SharedArray<Counted> copy = shared;
          EXPECT_EQ(copy.size(), 1U);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(item.use_count(), 2);
  }
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace mainspring
