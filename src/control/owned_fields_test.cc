// control/owned_fields_test.cc
#include "control/owned_fields.h"

#include <gmock/gmock.h>

namespace mainspring::control {
namespace {

using json::Value;

Value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value();
}

// A pod as we want it, and as the server has it: with defaults, and with what others added.
const char* const kDesired = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "p", "namespace": "ns", "labels": {"a": "b"}, "finalizers": ["f/x"]},
  "spec": {"containers": [{"name": "c", "image": "i", "args": ["x", "y"], "ports": [{"containerPort": 80}]}],
           "volumes": [{"name": "v", "emptyDir": {}}]}})";
const char* const kLive = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "p", "namespace": "ns", "labels": {"a": "b", "theirs": "x"},
    "finalizers": ["f/theirs", "f/x"],
    "managedFields": [
      {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}}},
      {"manager": "mainspring", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"f/x\"": {}}},
        "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {},
                     "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}},
                   "f:volumes": {"k:{\"name\":\"v\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}}}}}]},
  "spec": {"restartPolicy": "Always",
    "containers": [{"name": "sidecar", "image": "s"},
                   {"name": "c", "image": "i", "args": ["x", "y"], "imagePullPolicy": "Always",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
    "volumes": [{"name": "v", "emptyDir": {}}]},
  "status": {"phase": "Running"}})";

struct OwnedFields : ::testing::Test {
  bool nothing() const { return apply_changes_nothing(desired, live, "mainspring"); }
  Value desired = parse(kDesired);
  Value live = parse(kLive);
};

TEST_F(OwnedFields, DefaultsAndFieldsOfOthersDoNotMatter) { EXPECT_TRUE(nothing()); }

TEST_F(OwnedFields, AChangedValueMatters) {
  const Value good = live;
  for (const char* path : {"/metadata/labels/a", "/spec/containers/1/image",
                           "/spec/containers/1/args/1", "/metadata/finalizers/1"}) {
    live = good;
    *live.at_pointer(path) = "edited";
    EXPECT_FALSE(nothing()) << path;
  }
}

TEST_F(OwnedFields, AnyChangeOfWhatIsDesiredMatters) {
  const Value good = desired;
  for (const char* path : {"/metadata/labels/a", "/spec/containers/0/image",
                           "/spec/containers/0/args/1", "/metadata/finalizers/0",
                           "/spec/containers/0/ports/0/containerPort", "/spec/volumes/0/name"}) {
    desired = good;
    *desired.at_pointer(path) = "new";
    EXPECT_FALSE(nothing()) << path;
  }
}

TEST_F(OwnedFields, ADesiredFieldThatWeDoNotHoldMatters) {
  desired["spec"]["restartPolicy"] = "Always";
  EXPECT_FALSE(nothing()) << "the value is right, but anybody may change it";
  desired = parse(kDesired);
  desired["spec"]["containers"].push_back(parse(R"({"name":"sidecar","image":"s"})"));
  EXPECT_FALSE(nothing());
  desired = parse(kDesired);
  desired["metadata"]["finalizers"].push_back("f/theirs");
  EXPECT_FALSE(nothing());
}

TEST_F(OwnedFields, AHeldFieldThatIsNoLongerDesiredMatters) {
  desired["spec"]["containers"].at(0).erase("args");
  EXPECT_FALSE(nothing());
  desired = parse(kDesired);
  desired["metadata"].erase("labels");
  EXPECT_FALSE(nothing());
  desired = parse(kDesired);
  desired.erase("spec");
  EXPECT_FALSE(nothing());
}

TEST_F(OwnedFields, AFieldThatSomebodyRemovedMatters) {
  live["metadata"]["labels"].erase("a");
  EXPECT_FALSE(nothing());
  live = parse(kLive);
  live["spec"]["containers"].erase_at(1);
  EXPECT_FALSE(nothing());
}

TEST_F(OwnedFields, WithoutAnEntryOfOursNothingIsKnown) {
  EXPECT_FALSE(apply_changes_nothing(desired, live, "somebody"));
  EXPECT_FALSE(apply_changes_nothing(desired, live, "mainspring", "status"));
  desired["apiVersion"] = "v2";
  EXPECT_FALSE(nothing());
  live["metadata"].erase("managedFields");
  desired = parse(kDesired);
  EXPECT_FALSE(nothing());
}

TEST(OwnedFieldsOfStatus, AreThoseOfTheSubresource) {
  const Value desired = parse(R"({"apiVersion":"v1","metadata":{"name":"x"},"status":{"n":1}})");
  Value live = parse(
      R"({"metadata":{"managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1",
          "subresource":"status","fieldsV1":{"f:status":{"f:n":{}}}}]},"status":{"n":1,"o":2}})");
  EXPECT_TRUE(apply_changes_nothing(desired, live, "m", "status"));
  live["status"]["n"] = 2;
  EXPECT_FALSE(apply_changes_nothing(desired, live, "m", "status"));
}

}  // namespace
}  // namespace mainspring::control
