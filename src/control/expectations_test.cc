// control/expectations_test.cc
#include "control/expectations.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "control/object_meta.h"

namespace mainspring::control {
namespace {

using ::testing::HasSubstr;

kube::Meta child(std::string uid, std::string owner = "owner") {
  kube::Meta meta;
  meta.ns = "ns";
  meta.name = "child-" + uid;
  meta.uid = std::move(uid);
  if (!owner.empty()) meta.owners = {{.uid = std::move(owner), .controller = true}};
  return meta;
}

struct ExpectationsTest : ::testing::Test {
  void put(kube::Meta meta) {
    store.put(std::make_shared<ObjectMeta>(ObjectMeta{std::move(meta)}));
  }

  ManualClock clock;
  std::shared_ptr<MemoryLogSink> lines = std::make_shared<MemoryLogSink>();
  Expectations expectations{{.clock = clock, .log = Logger({.clock = &clock, .sink = lines})}};
  Store<ObjectMeta> store;
};

TEST_F(ExpectationsTest, NothingDoneMeansNothingToWaitFor) {
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, ACreationIsWaitedForUntilTheStoreShowsIt) {
  expectations.follow(store);
  expectations.expect_creation("owner");
  expectations.expect_creation("owner");
  put(child("1"));
  EXPECT_EQ(expectations.wait("owner"), minutes(5));
  put(child("2"));
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
  EXPECT_EQ(expectations.size(), 0U);
}

TEST_F(ExpectationsTest, ChildrenOfOthersDoNotCount) {
  expectations.follow(store);
  expectations.expect_creation("owner");
  put(child("1", "other"));
  put(child("2", ""));
  EXPECT_NE(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, ADeletionIsSeenOnceHoweverOftenItIsTold) {
  expectations.follow(store);
  put(child("1"));
  put(child("2"));
  expectations.expect_deletion("owner", "1");
  expectations.expect_deletion("owner", "2");
  auto dying = child("1");
  dying.deletion = WallTime(seconds(1));
  put(dying);
  store.erase(dying.key());
  EXPECT_NE(expectations.wait("owner"), std::nullopt) << "child 2 is not deleted";
  store.erase(child("2").key());
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, ANewObjectOfTheSameNameIsADeletionAndACreation) {
  expectations.follow(store);
  put(child("1"));
  expectations.expect_deletion("owner", "1");
  expectations.expect_creation("owner");
  auto next = child("2");
  next.name = child("1").name;
  put(next);
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, AChildThatIsReleasedIsNotWaitedFor) {
  expectations.follow(store);
  put(child("1"));
  expectations.expect_deletion("owner", "1");
  put(child("1", ""));
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, AFailedCallIsNotWaitedFor) {
  expectations.expect_creation("owner");
  expectations.expect_deletion("owner", "1");
  expectations.creation_failed("owner");
  EXPECT_NE(expectations.wait("owner"), std::nullopt);
  expectations.deletion_failed("owner", "1");
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

TEST_F(ExpectationsTest, ExpireLoudly) {
  expectations.expect_creation("owner");
  clock.advance(minutes(4));
  EXPECT_EQ(expectations.wait("owner"), minutes(1));
  EXPECT_TRUE(lines->lines().empty());
  clock.advance(minutes(1));
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
  ASSERT_EQ(lines->lines().size(), 1U);
  EXPECT_THAT(lines->lines()[0], HasSubstr(R"("level":"error")"));
  EXPECT_THAT(lines->lines()[0], HasSubstr(R"("creations_not_seen":1)"));
  EXPECT_EQ(expectations.size(), 0U);
}

TEST_F(ExpectationsTest, AreForgottenWithTheirOwner) {
  expectations.expect_creation("owner");
  expectations.forget("owner");
  EXPECT_EQ(expectations.wait("owner"), std::nullopt);
}

// However creations are delayed, a controller that asks before it counts never makes too many.
TEST(ExpectationsProperty, NoDoubleCreationOnAStaleCache) {
  EXPECT_TRUE(rc::check([](const std::vector<bool>& deliver) {
    const ManualClock clock;
    Expectations expectations({.clock = clock, .log = {}});
    std::size_t made = 0;
    std::size_t seen = 0;
    constexpr std::size_t kWanted = 3;
    for (const bool step : deliver) {
      if (step && seen < made) {
        ++seen;
        expectations.creation_seen("owner");
      } else if (!expectations.wait("owner")) {
        for (std::size_t missing = kWanted - std::min(kWanted, seen); missing > 0; --missing) {
          expectations.expect_creation("owner");
          ++made;
        }
      }
      RC_ASSERT(made <= kWanted);
    }
  }));
}

}  // namespace
}  // namespace mainspring::control
