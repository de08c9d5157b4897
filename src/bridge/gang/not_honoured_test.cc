#include "bridge/gang/not_honoured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/fields.h"

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> said_of(const std::string& spec) {
  json::Reader reader;
  const auto group =
      json::decode<kube::PodGroup>(reader, R"({"metadata":{"name":"g"},"spec":{)" + spec + "}}");
  EXPECT_TRUE(group.has_value());
  return group ? not_honoured(*group) : std::vector<std::string>();
}

TEST(NotHonoured, IsNothingOfAnOrdinaryGroup) {
  EXPECT_THAT(said_of(R"("schedulingPolicy":{"gang":{"minCount":2}},"priorityClassName":"high",)"
                      R"("priority":7,"disruptionMode":{"all":{}},)"
                      R"("schedulingConstraints":{"topology":[{"key":"zone"}]})"),
              IsEmpty());
}

TEST(NotHonoured, IsNamedWithWhatToDoInstead) {
  EXPECT_THAT(said_of(R"("preemptionPolicy":"Never")"),
              ElementsAre(HasSubstr("PodGroup g: spec.preemptionPolicy Never is not honoured")));
  EXPECT_THAT(said_of(R"("resourceClaims":[{"name":"c","resourceClaimName":"x"}])"),
              ElementsAre(HasSubstr("spec.resourceClaims")));
  EXPECT_THAT(said_of(R"("parentCompositePodGroupName":"all")"),
              ElementsAre(HasSubstr("it does not wait for the other groups of all")));
}

}  // namespace
}  // namespace mainspring::bridge
