// control/revisions_test.cc
#include "control/revisions.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "control/scripted_api.h"

namespace mainspring::control {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr const char* kCollection = "/apis/apps/v1/namespaces/ns/controllerrevisions";

Value data(int n) { return Value::object({{"b", n}, {"a", "x"}}); }

Revision revision(std::string name, std::int64_t number, const Value& value = data(0)) {
  auto made = std::make_shared<kube::ControllerRevision>();
  made->meta.ns = "ns";
  made->meta.uid = "uid-" + name;
  made->meta.resource_version = "5";
  made->meta.name = std::move(name);
  made->revision = number;
  made->data = json::to_text(value);
  return made;
}

std::vector<std::string> names(const std::vector<Revision>& revisions) {
  std::vector<std::string> names;
  for (const Revision& r : revisions) names.push_back(r->meta.name);
  return names;
}

TEST(RevisionHash, IsOfTheValueNotOfItsText) {
  EXPECT_EQ(revision_hash(*json::parse(R"({"a":1,"b":2})"), 0),
            revision_hash(*json::parse(R"({"b":2,"a":1})"), 0));
  EXPECT_NE(revision_hash(data(1), 0), revision_hash(data(2), 0));
  EXPECT_NE(revision_hash(data(1), 0), revision_hash(data(1), 1));
  EXPECT_THAT(revision_hash(data(1), 0), MatchesRegex("[b-df-hj-np-tv-xz2-9]+"));
}

TEST(RevisionName, FitsWhateverTheOwnerIsCalled) {
  EXPECT_EQ(revision_name("gpu", "abc"), "gpu-abc");
  EXPECT_TRUE(is_dns1123_subdomain(revision_name(std::string(253, 'x'), "5b7d9f8c4")));
  EXPECT_TRUE(is_dns1123_subdomain(revision_name(std::string(222, 'x') + ".yy", "5b7d9f8c4")));
}

TEST(Revisions, AreSortedByNumberThenAgeThenName) {
  auto old = std::make_shared<kube::ControllerRevision>(*revision("z", 2));
  old->meta.created = WallTime(seconds(-5));
  std::vector<Revision> history{revision("c", 3), revision("b", 2), revision("a", 2), old,
                                revision("d", 1)};
  sort_revisions(history);
  EXPECT_THAT(names(history), ElementsAre("d", "z", "a", "b", "c"));
  EXPECT_EQ(next_revision(history), 4);
  EXPECT_EQ(next_revision({}), 1);
}

TEST(Revisions, EqualDataIsFoundWhateverItsText) {
  auto written = std::make_shared<kube::ControllerRevision>(*revision("a", 1));
  written->data = R"({"a": "x", "b": 7.0})";
  const Revision newer = revision("b", 2, data(7));
  EXPECT_EQ(find_equal_revision({written}, data(7)), written);
  EXPECT_EQ(find_equal_revision({newer, written}, data(7)), newer);
  EXPECT_EQ(find_equal_revision({newer, written}, data(8)), nullptr);
}

TEST(Revisions, SurplusIsTheOldestThatNobodyUses) {
  const std::vector<Revision> history{revision("e", 5), revision("a", 1), revision("b", 2),
                                      revision("c", 3), revision("d", 4)};
  EXPECT_THAT(names(surplus_revisions(history, {"a", "e"}, 1)), ElementsAre("b", "c"));
  EXPECT_THAT(names(surplus_revisions(history, {"a", "e"}, 0)), ElementsAre("b", "c", "d"));
  EXPECT_THAT(surplus_revisions(history, {"a", "e"}, 3), IsEmpty());
  EXPECT_THAT(surplus_revisions(history, {}, 10), IsEmpty());
}

struct RevisionsTest : ::testing::Test, ScriptedClient {
  Result<CurrentRevision> ensure(std::vector<Revision> history, const Value& value,
                                 std::int32_t collisions = 0) {
    RevisionOwner owner{{"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", true}, {}, {}};
    owner.meta.ns = "ns";
    owner.meta.name = "gpu";
    owner.meta.uid = "o";
    owner.labels = Value::object({{"app", "gpu"}});
    return executor.run(ensure_revision(&client, owner, std::move(history), value, collisions));
  }
  static Value stored(const Value& value, std::int64_t number, const char* owner_uid) {
    return Value::object(
        {{"metadata", Value::object({{"name", "gpu-x"},
                                     {"uid", "r"},
                                     {"resourceVersion", "9"},
                                     {"ownerReferences",
                                      Value::array({Value::object({{"apiVersion", "v1"},
                                                                   {"kind", "NodeSet"},
                                                                   {"name", "gpu"},
                                                                   {"uid", owner_uid},
                                                                   {"controller", true}})})}})},
         {"revision", number},
         {"data", value}});
  }
};

TEST_F(RevisionsTest, NewDataMakesANewRevision) {
  api.reply(stored(data(1), 3, "o"));
  const auto current = ensure({revision("a", 2)}, data(1));
  ASSERT_TRUE(current) << current.error().to_string();
  EXPECT_EQ(current->revision.revision, 3);
  EXPECT_THAT(api.calls(), ElementsAre(std::string("POST ") + kCollection));
  const Value body = api.body(0);
  const std::string hash = revision_hash(data(1), 0);
  EXPECT_EQ(*body.at_pointer("/metadata/name"), Value("gpu-" + hash));
  EXPECT_EQ(*body.at_pointer("/metadata/labels/controller.kubernetes.io~1hash"), Value(hash));
  EXPECT_EQ(*body.at_pointer("/metadata/labels/app"), Value("gpu"));
  EXPECT_EQ(*body.at_pointer("/metadata/ownerReferences/0/uid"), Value("o"));
  EXPECT_EQ(*body.find("revision"), Value(3));
  EXPECT_EQ(*body.find("data"), data(1));
}

TEST_F(RevisionsTest, AtRestNothingIsCalled) {
  const auto current = ensure({revision("a", 1), revision("b", 2, data(1))}, data(1));
  EXPECT_EQ(current.value().revision.meta.name, "b");
  EXPECT_THAT(api.calls(), IsEmpty());
}

TEST_F(RevisionsTest, GoingBackGivesTheOldOneTheNextNumber) {
  api.reply(stored(data(1), 3, "o"));
  ASSERT_TRUE(ensure({revision("a", 1, data(1)), revision("b", 2)}, data(1)));
  EXPECT_THAT(api.calls(), ElementsAre(std::string("PATCH ") + kCollection + "/a"));
  EXPECT_EQ(json::to_text(api.body(0)),
            R"({"metadata":{"uid":"uid-a","resourceVersion":"5"},"revision":3})");
}

TEST_F(RevisionsTest, OneThatTheCacheHasNotShownIsFoundByItsName) {
  api.refuse(409, "AlreadyExists");
  api.reply(stored(data(1), 1, "o"));
  const auto current = ensure({}, data(1));
  EXPECT_EQ(current.value().revision.meta.uid, "r");
  EXPECT_EQ(current->collision_count, 0);
  EXPECT_EQ(api.requests.size(), 2U);
}

TEST_F(RevisionsTest, ANameTakenByOtherDataOrAnotherOwnerIsACollision) {
  api.refuse(409, "AlreadyExists");
  api.reply(stored(data(2), 1, "o"));
  api.refuse(409, "AlreadyExists");
  api.reply(stored(data(1), 1, "former"));
  api.reply(stored(data(1), 1, "o"));
  const auto current = ensure({}, data(1), 4);
  EXPECT_EQ(current.value().collision_count, 6);
  EXPECT_EQ(*api.body(4).at_pointer("/metadata/name"), Value("gpu-" + revision_hash(data(1), 6)));
}

TEST_F(RevisionsTest, DeletesOnlyWhatWasDecidedAbout) {
  api.reply(200, "{}");
  api.refuse(409, "Conflict");
  api.refuse(404, "NotFound");
  api.refuse(403, "Forbidden");
  const auto deleted = executor.run(delete_revisions(
      &client, {revision("a", 1), revision("b", 2), revision("c", 3), revision("d", 4)}));
  EXPECT_EQ(deleted.error().code(), Code::kForbidden);
  EXPECT_EQ(api.requests.size(), 4U);
  EXPECT_EQ(*api.body(0).at_pointer("/preconditions/uid"), Value("uid-a"));
}

}  // namespace
}  // namespace mainspring::control
