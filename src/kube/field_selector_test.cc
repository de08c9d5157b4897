#include "kube/field_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kube/pod.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<FieldTerm> terms(std::string_view text) { return FieldSelector::parse(text)->terms(); }

TEST(FieldSelector, ReadsAllThreeOperators) {
  EXPECT_THAT(terms("a=b,c==d,e!=f"),
              ElementsAre(FieldTerm{"a", "b", true}, FieldTerm{"c", "d", true},
                          FieldTerm{"e", "f", false}));
  EXPECT_THAT(terms("spec.nodeName="), ElementsAre(FieldTerm{"spec.nodeName", "", true}));
  EXPECT_THAT(terms(""), ElementsAre());
  EXPECT_THAT(terms(",a=b,,"), ElementsAre(FieldTerm{"a", "b", true}));
  EXPECT_THAT(terms(" a = b"), ElementsAre(FieldTerm{" a ", " b", true}));
  EXPECT_THAT(terms(R"(a=b\,c\=d\\)"), ElementsAre(FieldTerm{"a", R"(b,c=d\)", true}));
}

TEST(FieldSelector, RefusesWhatTheApiServerRefuses) {
  for (const std::string_view bad : {"a", "a!b", "a=b=c", R"(a=\x)", R"(a=b\)"}) {
    EXPECT_FALSE(FieldSelector::parse(bad)) << bad;
  }
}

TEST(FieldSelector, OfAnyValueComesBackFromItsText) {
  EXPECT_TRUE(rc::check([](const std::string& value, bool equal) {
    const FieldSelector selector({{"metadata.name", value, equal}});
    const auto back = FieldSelector::parse(selector.to_string());
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == selector);
  }));
}

TEST(FieldSelector, SelectsPods) {
  Pod pod;
  pod.meta.name = "p";
  pod.node_name = "gpu-0";
  pod.status.phase = PodPhase::kRunning;
  const auto matches = [&](std::string_view text) {
    return FieldSelector::parse(text)->matches(
        [&](std::string_view field) { return pod_field(pod, field); });
  };
  EXPECT_TRUE(matches("spec.nodeName=gpu-0,status.phase!=Failed"));
  EXPECT_TRUE(matches("spec.hostNetwork=false,spec.restartPolicy=Always,metadata.name==p"));
  EXPECT_FALSE(matches("status.phase=Pending"));
  EXPECT_FALSE(matches("spec.nodeName=gpu-0,spec.schedulerName=x"));
}

TEST(FieldSelector, NamesAFieldThatCannotBeSelectedBy) {
  EXPECT_TRUE(FieldSelector::parse("status.phase=Running")->check(pod_fields()));
  EXPECT_THAT(FieldSelector::parse("spec.foo=1")->check(pod_fields()).error().message(),
              HasSubstr("spec.foo"));
}

}  // namespace
}  // namespace mainspring::kube
