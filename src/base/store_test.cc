#include "base/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

namespace mainspring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::UnorderedElementsAre;

struct Worker {
  struct Meta {
    std::string ns;
    std::string name;
    std::string resource_version;
    KeyView key() const { return {ns, name}; }
  } meta;
  std::string node;

  bool operator==(const Worker& other) const {
    return meta.key() == other.meta.key() && node == other.node;
  }
};
using Workers = Store<Worker>;

std::shared_ptr<const Worker> worker(std::string name, std::string node,
                                     std::string version = "1") {
  return std::make_shared<const Worker>(
      Worker{{"slurm", std::move(name), std::move(version)}, std::move(node)});
}

void by_node(const Worker& worker, std::vector<std::string>& values) {
  if (!worker.node.empty()) values.push_back(worker.node);
}

class StoreTest : public ::testing::Test {
 protected:
  // "gpu-0: a -> b" for each change.
  void record() {
    store_.add_handler([this](const Workers::Object& before, const Workers::Object& after) {
      seen_.push_back(describe(before, after));
    });
  }
  static std::string describe(const Workers::Object& before, const Workers::Object& after) {
    return (after ? after : before)->meta.name + ": " + (before ? before->node : "-") + " -> " +
           (after ? after->node : "-");
  }
  std::vector<std::string> names(Workers::IndexId index, std::string_view value) const {
    std::vector<std::string> names;
    for (const auto& object : store_.find(index, value)) names.push_back(object->meta.name);
    return names;
  }

  Workers store_;
  std::vector<std::string> seen_;
};

// The text that all workers of a set have in common.
struct Member {
  std::string name;
  std::shared_ptr<std::string> set;
  int version = 0;

  KeyView key() const { return {"", name}; }
  void share_with(const Member& earlier) {
    if (*set == *earlier.set) set = earlier.set;
  }
  bool operator==(const Member& other) const {
    return name == other.name && *set == *other.set && version == other.version;
  }
};

TEST(Store, LetsANewObjectTakeOverWhatTheStoredOneHas) {
  Store<Member> store;
  const auto put = [&store](const char* set, int version) {
    const auto member =
        std::make_shared<Member>(Member{"a", std::make_shared<std::string>(set), version});
    store.put(member);
    return store.get("", "a");
  };
  const auto first = put("gpu", 1);
  const auto second = put("gpu", 2);
  EXPECT_EQ(second->set, first->set);
  EXPECT_EQ(second->version, 2);
  EXPECT_EQ(*put("cpu", 3)->set, "cpu");
  EXPECT_EQ(*first->set, "gpu");
}

TEST_F(StoreTest, HandlersSeeWhatWasAndWhatIs) {
  record();
  store_.put(worker("gpu-0", "a"));
  store_.put(worker("gpu-0", "b"));
  store_.erase({"slurm", "gpu-0"});
  store_.erase({"slurm", "gpu-0"});

  EXPECT_THAT(seen_, ElementsAre("gpu-0: - -> a", "gpu-0: a -> b", "gpu-0: b -> -"));
  EXPECT_THAT(store_.get("slurm", "gpu-0"), IsNull());
}

TEST_F(StoreTest, AnEqualObjectReplacesTheStoredOneInSilence) {
  record();
  const auto index = store_.add_index(by_node);
  store_.put(worker("gpu-0", "a", "1"));
  store_.put(worker("gpu-0", "a", "2"));

  EXPECT_THAT(seen_, ElementsAre("gpu-0: - -> a"));
  EXPECT_EQ(store_.get("slurm", "gpu-0")->meta.resource_version, "2");
  EXPECT_EQ(store_.find(index, "a").at(0)->meta.resource_version, "2");
}

TEST_F(StoreTest, AnObjectMovesFromIndexValueToIndexValue) {
  const auto index = store_.add_index(by_node);
  store_.put(worker("gpu-0", "a"));
  store_.put(worker("gpu-1", "a"));
  store_.put(worker("gpu-0", "b"));
  store_.put(worker("gpu-2", ""));

  EXPECT_THAT(names(index, "a"), ElementsAre("gpu-1"));
  EXPECT_THAT(names(index, "b"), ElementsAre("gpu-0"));
  EXPECT_THAT(names(index, ""), IsEmpty());
}

TEST_F(StoreTest, AnIndexCoversWhatWasThereBeforeIt) {
  store_.put(worker("gpu-0", "a"));
  const auto first = store_.add_index(by_node);
  const auto second = store_.add_index([](const Worker& object, std::vector<std::string>& values) {
    values.insert(values.end(), {object.meta.ns, object.meta.name, object.meta.ns});
  });

  EXPECT_THAT(names(first, "a"), ElementsAre("gpu-0"));
  EXPECT_THAT(names(second, "slurm"), ElementsAre("gpu-0"));
  EXPECT_THAT(names(second, "gpu-0"), ElementsAre("gpu-0"));
}

TEST_F(StoreTest, AHandlerSeesWhatWasThereBeforeItAsNew) {
  store_.put(worker("gpu-0", "a"));
  record();
  EXPECT_THAT(seen_, ElementsAre("gpu-0: - -> a"));
}

TEST_F(StoreTest, AHandlerAddedByAHandlerSeesEachObjectOnce) {
  bool added = false;
  store_.add_handler([&](const Workers::Object&, const Workers::Object&) {
    if (!std::exchange(added, true)) record();
  });
  store_.begin_replace();
  store_.put(worker("gpu-0", "a"));
  store_.put(worker("gpu-1", "b"));
  store_.end_replace();

  EXPECT_THAT(seen_, UnorderedElementsAre("gpu-0: - -> a", "gpu-1: - -> b"));
}

TEST_F(StoreTest, AReplacementIsSeenAllAtOnce) {
  const auto index = store_.add_index(by_node);
  store_.put(worker("old", "a"));
  store_.put(worker("kept", "a"));
  store_.put(worker("moved", "a"));
  std::set<std::size_t> sizes;
  store_.add_handler([&](const Workers::Object&, const Workers::Object&) {
    sizes.insert(store_.size() * 10 + store_.find(index, "a").size());
  });
  record();
  seen_.clear();
  sizes.clear();

  store_.begin_replace();
  store_.put(worker("kept", "a"));
  store_.put(worker("moved", "b"));
  store_.put(worker("new", "b"));
  store_.put(worker("brief", "b"));
  store_.erase({"slurm", "brief"});
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(names(index, "a").size(), 3U);
  store_.end_replace();

  EXPECT_THAT(seen_, UnorderedElementsAre("old: a -> -", "moved: a -> b", "new: - -> b"));
  EXPECT_THAT(sizes, ElementsAre(31));
}

TEST_F(StoreTest, AnAbandonedReplacementLeavesNoTrace) {
  store_.put(worker("gpu-0", "a"));
  record();
  seen_.clear();
  store_.begin_replace();
  store_.put(worker("gpu-1", "b"));
  store_.abandon_replace();
  EXPECT_FALSE(store_.synced());

  store_.begin_replace();
  store_.put(worker("gpu-2", "b"));
  store_.begin_replace();
  store_.put(worker("gpu-0", "a"));
  store_.end_replace();

  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(StoreTest, AReplacementSharesWhatIsTheSameAndKeepsTheNewestVersion) {
  store_.put(worker("same", "a", "1"));
  store_.put(worker("touched", "a", "2"));
  const auto same = store_.get("slurm", "same");
  store_.begin_replace();
  store_.put(worker("same", "a", "1"));
  store_.put(worker("touched", "a", "3"));
  store_.end_replace();

  EXPECT_EQ(store_.get("slurm", "same"), same);
  EXPECT_EQ(store_.get("slurm", "touched")->meta.resource_version, "3");
}

TEST_F(StoreTest, TellsOnceWhenItIsComplete) {
  int early = 0;
  int late = 0;
  store_.on_synced([&] { early += static_cast<int>(store_.size()); });
  store_.put(worker("gpu-0", "a"));
  EXPECT_FALSE(store_.synced());
  for (int i = 0; i < 2; ++i) {
    store_.begin_replace();
    store_.put(worker("gpu-0", "a"));
    store_.end_replace();
  }
  store_.on_synced([&] { ++late; });

  EXPECT_TRUE(store_.synced());
  EXPECT_EQ(early, 1);
  EXPECT_EQ(late, 1);
}

TEST_F(StoreTest, AnErasedObjectsKeyMayPointIntoIt) {
  store_.put(worker("gpu-0", "a"));
  store_.erase(store_.get("slurm", "gpu-0")->meta.key());
  EXPECT_EQ(store_.size(), 0U);
}

// Any writes, some of them inside replacements, leave store, indexes and handlers like a std::map.
void check_against_map(const std::vector<std::uint16_t>& script) {
  Workers store;
  const auto nodes = store.add_index(by_node);
  const auto letters = store.add_index([](const Worker& object, std::vector<std::string>& values) {
    for (const char c : object.node) values.emplace_back(1, c);
  });
  std::map<std::string, std::string> told;
  store.add_handler([&](const Workers::Object& before, const Workers::Object& after) {
    const std::string& name = (after ? after : before)->meta.name;
    RC_ASSERT(told.contains(name) == (before != nullptr));
    if (before) RC_ASSERT(told[name] == before->node);
    if (before && after) RC_ASSERT(before->node != after->node);
    if (after) told[name] = after->node;
    if (!after) told.erase(name);
  });
  static const std::vector<std::string> kNodes = {"", "a", "ab", "aab", "b"};
  std::map<std::string, std::string> model;
  std::map<std::string, std::string> staged;
  bool replacing = false;
  for (const std::uint16_t step : script) {
    auto& target = replacing ? staged : model;
    const std::string name = std::to_string(step / 16 % 7);
    const std::string& node = kNodes[step / 128 % kNodes.size()];
    switch (step % 16) {
      case 0:
        store.begin_replace();
        staged.clear();
        replacing = true;
        break;
      case 1:
      case 2:
        if (!replacing) break;
        if (step % 16 == 1) {
          store.end_replace();
          model = staged;
        } else {
          store.abandon_replace();
        }
        replacing = false;
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        store.erase({"slurm", name});
        target.erase(name);
        break;
      default:
        store.put(worker(name, node, std::to_string(step)));
        target[name] = node;
    }
    RC_ASSERT(told == model);
    RC_ASSERT(store.size() == model.size());
    for (const auto& wanted : kNodes) {
      const auto here = std::count_if(model.begin(), model.end(), [&](const auto& member) {
        return !wanted.empty() && member.second == wanted;
      });
      RC_ASSERT(static_cast<std::ptrdiff_t>(store.find(nodes, wanted).size()) == here);
    }
    for (const auto& object : store.find(letters, "b")) {
      RC_ASSERT(store.get(object->meta.key()) == object);
      RC_ASSERT(object->node.find('b') != std::string::npos);
    }
  }
}

TEST(StoreProperty, IsAMapWithIndexesThatToldEveryChange) {
  EXPECT_TRUE(rc::check("like std::map", check_against_map));
}

std::shared_ptr<const Worker> in(std::string ns, std::string name) {
  return std::make_shared<const Worker>(Worker{{std::move(ns), std::move(name), "1"}, "n"});
}

TEST_F(StoreTest, IsSyncedWhenEachOfItsPartsHasBeenFilled) {
  record();
  bool synced = false;
  store_.expect_parts(2);
  store_.on_synced([&] { synced = true; });
  store_.begin_replace("a");
  store_.begin_replace("b");
  store_.put(in("a", "one"));
  store_.put(in("b", "two"));
  store_.end_replace("a");
  EXPECT_THAT(seen_, ElementsAre("one: - -> n"));
  store_.begin_replace("a");
  store_.put(in("a", "one"));
  store_.end_replace("a");
  EXPECT_FALSE(synced);
  store_.end_replace("b");
  EXPECT_TRUE(synced);
  EXPECT_EQ(store_.size(), 2U);
}

TEST_F(StoreTest, IsDoubtedUntilEachOfItsPartsHasBeenConfirmed) {
  store_.expect_parts(2);
  for (const char* const part : {"a", "b"}) {
    store_.begin_replace(part);
    store_.end_replace(part);
  }
  EXPECT_TRUE(store_.current());
  int told = 0;
  store_.on_confirmed([&told] { ++told; });
  store_.confirm("a");  // Of nothing that is doubted.
  store_.doubt();
  EXPECT_TRUE(store_.synced());
  EXPECT_FALSE(store_.current());
  store_.confirm("b");
  store_.confirm("b");
  EXPECT_FALSE(store_.current());
  store_.confirm("a");
  EXPECT_TRUE(store_.current());
  EXPECT_EQ(told, 1);
}

TEST_F(StoreTest, IsNotCurrentBeforeItIsComplete) {
  EXPECT_FALSE(store_.current());
  store_.doubt();
  store_.confirm();
  EXPECT_FALSE(store_.current());
}

TEST_F(StoreTest, APartIsReplacedByItself) {
  store_.expect_parts(2);
  for (const char* part : {"a", "b"}) {
    store_.begin_replace(part);
    store_.put(in(part, "one"));
    store_.end_replace(part);
  }
  record();
  seen_.clear();
  store_.begin_replace("a");
  store_.put(in("b", "seen at once"));
  store_.put(in("a", "two"));
  EXPECT_THAT(seen_, ElementsAre("seen at once: - -> n"));
  store_.end_replace("a");
  EXPECT_EQ(store_.get("a", "one"), nullptr);
  EXPECT_NE(store_.get("a", "two"), nullptr);
  EXPECT_NE(store_.get("b", "one"), nullptr);
  store_.begin_replace("b");
  store_.abandon_replace("b");
  EXPECT_EQ(store_.size(), 3U);
}

}  // namespace
}  // namespace mainspring
