#include "json/strategic_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

using testing::HasSubstr;

std::string merge(std::string_view target, std::string_view patch,
                  MergeType type = MergeType::kPodSpec) {
  auto result = apply_strategic_merge(*parse(target), *parse(patch), type);
  return result ? to_text(*result) : result.error().to_string();
}

TEST(StrategicMerge, MergesContainersAndTheirListsByKey) {
  EXPECT_EQ(
      merge(
          R"({"containers":[{"name":"slurmd","image":"a","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"args":["-D"]}]})",
          R"({"containers":[{"name":"slurmd","env":[{"name":"B","value":"3"}],"args":["-Z","-D"]}]})"),
      R"({"containers":[{"name":"slurmd","image":"a","env":[{"name":"A","value":"1"},{"name":"B","value":"3"}],"args":["-Z","-D"]}]})");
}

TEST(StrategicMerge, PutsNewElementsOfThePatchFirst) {
  EXPECT_EQ(merge(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"name":"new"},{"name":"b","image":"x"}]})"),
            R"({"containers":[{"name":"new"},{"name":"a"},{"name":"b","image":"x"}]})");
  EXPECT_EQ(merge(R"({"metadata":{"finalizers":["a","b"]}})",
                  R"({"metadata":{"finalizers":["c","a"]}})", MergeType::kPod),
            R"({"metadata":{"finalizers":["c","a","b"]}})");
}

TEST(StrategicMerge, UsesTheKeyOfEachList) {
  EXPECT_EQ(
      merge(
          R"({"containers":[{"name":"c","ports":[{"containerPort":1,"name":"x"}],"volumeMounts":[{"mountPath":"/a","name":"v"}],"volumeDevices":[{"devicePath":"/d"}]}],"hostAliases":[{"ip":"1"}],"imagePullSecrets":[{"name":"s"}],"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1}]})",
          R"({"containers":[{"name":"c","ports":[{"containerPort":1,"protocol":"UDP"}],"volumeMounts":[{"mountPath":"/a","readOnly":true}],"volumeDevices":[{"devicePath":"/d","name":"n"}]}],"hostAliases":[{"ip":"1","hostnames":["h"]}],"imagePullSecrets":[{"name":"s"}],"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":2}]})"),
      R"({"containers":[{"name":"c","ports":[{"containerPort":1,"name":"x","protocol":"UDP"}],"volumeMounts":[{"mountPath":"/a","name":"v","readOnly":true}],"volumeDevices":[{"devicePath":"/d","name":"n"}]}],"hostAliases":[{"ip":"1","hostnames":["h"]}],"imagePullSecrets":[{"name":"s"}],"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":2}]})");
}

TEST(StrategicMerge, ReplacesListsThatHaveNoKey) {
  EXPECT_EQ(merge(R"({"tolerations":[{"key":"a"}],"unknown":[{"name":"a"}]})",
                  R"({"tolerations":[{"key":"b"}],"unknown":[{"name":"b"}]})"),
            R"({"tolerations":[{"key":"b"}],"unknown":[{"name":"b"}]})");
  // The same field name is a merging list in one type and an atomic one in another.
  EXPECT_EQ(merge(R"({"ports":[{"containerPort":1}]})", R"({"ports":[{"containerPort":2}]})"),
            R"({"ports":[{"containerPort":2}]})");
}

TEST(StrategicMerge, LetsExplicitEmptyValuesWin) {
  EXPECT_EQ(
      merge(
          R"({"hostNetwork":true,"priority":5,"nodeName":"n","subdomain":"s","nodeSelector":{"a":"b"},"tolerations":[{}]})",
          R"({"hostNetwork":false,"priority":0,"nodeName":"","subdomain":null,"nodeSelector":{},"tolerations":[]})"),
      R"({"hostNetwork":false,"priority":0,"nodeName":"","nodeSelector":{"a":"b"},"tolerations":[]})");
  EXPECT_EQ(merge("{}", R"({"securityContext":{"runAsUser":0,"fsGroup":null}})"),
            R"({"securityContext":{"runAsUser":0}})");
}

TEST(StrategicMerge, ObeysPatchDirectives) {
  EXPECT_EQ(merge(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"name":"a","$patch":"delete"}]})"),
            R"({"containers":[{"name":"b"}]})");
  EXPECT_EQ(merge(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"containers":[{"$patch":"replace"},{"name":"c"}]})"),
            R"({"containers":[{"name":"c"}]})");
  EXPECT_EQ(
      merge(R"({"securityContext":{"a":1}})", R"({"securityContext":{"$patch":"replace","b":2}})"),
      R"({"securityContext":{"b":2}})");
  EXPECT_EQ(merge(R"({"securityContext":{"a":1}})", R"({"securityContext":{"$patch":"delete"}})"),
            R"({"securityContext":{}})");
  // A directive for something that is not there leaves no trace.
  EXPECT_EQ(merge("{}", R"({"containers":[{"name":"a","$patch":"delete"},{"name":"b"}]})"),
            R"({"containers":[{"name":"b"}]})");
}

TEST(StrategicMerge, RetainsOnlyTheKeysItIsTold) {
  EXPECT_EQ(
      merge(
          R"({"volumes":[{"name":"v","emptyDir":{}}]})",
          R"({"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]})"),
      R"({"volumes":[{"name":"v","hostPath":{"path":"/x"}}]})");
  EXPECT_THAT(merge("{}", R"({"volumes":[{"name":"v","$retainKeys":["name"],"emptyDir":{}}]})"),
              HasSubstr("volumes[0]: \"emptyDir\" is set by the patch and missing"));
}

TEST(StrategicMerge, SetsTheOrderOfElements) {
  EXPECT_EQ(
      merge(
          R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
          R"({"$setElementOrder/containers":[{"name":"c"},{"name":"new"},{"name":"a"}],"containers":[{"name":"new"}]})"),
      R"({"containers":[{"name":"b"},{"name":"c"},{"name":"new"},{"name":"a"}]})");
  EXPECT_EQ(merge(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                  R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})"),
            R"({"containers":[{"name":"b"},{"name":"a"}]})");
  EXPECT_THAT(
      merge("{}", R"({"$setElementOrder/containers":[{"name":"b"}],"containers":[{"name":"a"}]})"),
      HasSubstr("does not name the elements"));
}

TEST(StrategicMerge, DeletesFromListsOfScalars) {
  EXPECT_EQ(
      merge(R"({"metadata":{"finalizers":["a","b","c"]}})",
            R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"],"finalizers":["d"]}})",
            MergeType::kPod),
      R"({"metadata":{"finalizers":["d","a","c"]}})");
}

TEST(StrategicMerge, KnowsTheShapeOfKinds) {
  EXPECT_EQ(
      merge(R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x"}]}}}})",
            R"({"spec":{"template":{"spec":{"containers":[{"name":"a","tty":true}]}}}})",
            merge_type_of_kind("StatefulSet")),
      R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x","tty":true}]}}}})");
  EXPECT_EQ(merge(R"({"spec":{"selector":{"a":"1"}}})", R"({"spec":{"selector":{"b":"2"}}})",
                  merge_type_of_kind("PodDisruptionBudget")),
            R"({"spec":{"selector":{"b":"2"}}})");
  EXPECT_EQ(merge(R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
                  R"({"status":{"conditions":[{"type":"A","status":"False"},{"type":"B"}]}})",
                  merge_type_of_kind("Node")),
            R"({"status":{"conditions":[{"type":"A","status":"False"},{"type":"B"}]}})");
  EXPECT_EQ(
      merge(
          R"({"metadata":{"ownerReferences":[{"uid":"1"}]},"spec":{"containers":[{"name":"a"}]}})",
          R"({"metadata":{"ownerReferences":[{"uid":"2"}]},"spec":{"containers":[{"name":"b"}]}})",
          merge_type_of_kind("SomebodyElsesKind")),
      R"({"metadata":{"ownerReferences":[{"uid":"2"},{"uid":"1"}]},"spec":{"containers":[{"name":"b"}]}})");
}

TEST(StrategicMerge, NamesAnElementWithoutItsKey) {
  EXPECT_EQ(merge("{}", R"({"containers":[{"name":"a"},{"image":"x"}]})"),
            "containers[1]: has no \"name\", by which this list is merged");
  EXPECT_THAT(merge("{}", R"({"containers":["a"]})"), HasSubstr("containers[0]: has no"));
  EXPECT_THAT(merge("{}", R"({"securityContext":{"$patch":"burn"}})"),
              HasSubstr("securityContext: $patch must be"));
  EXPECT_THAT(merge("{}", "[]"), HasSubstr("must be an object"));
}

TEST(StrategicMerge, ChangesNothingWhenItIsAppliedAgain) {
  EXPECT_TRUE(rc::check("merge(merge(a, p), p) == merge(a, p)", [] {
    const auto spec = [] {
      Value list = Value::array();
      for (const auto letter : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
        const std::string name(1, static_cast<char>('a' + letter % 5));
        const bool taken = std::any_of(list.begin(), list.end(), [&](const Value& item) {
          return item.find("name")->as_string() == name;
        });
        if (taken) continue;
        list.push_back(Value::object({{"name", name}, {"x", *any_value(false, 1)}}));
      }
      return Value::object({{"containers", list}, {"other", *any_value(false, 2)}});
    };
    const Value target = spec();
    const Value patch = spec();
    const auto once = apply_strategic_merge(target, patch, MergeType::kPodSpec);
    RC_ASSERT(once.has_value());
    const auto twice = apply_strategic_merge(*once, patch, MergeType::kPodSpec);
    RC_ASSERT(twice.has_value());
    RC_ASSERT(*twice == *once);
  }));
}

}  // namespace
}  // namespace mainspring::json
