#include "kube/resource.h"

#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

const Resource kPods{"", "v1", "pods", "Pod", true};
const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};

TEST(Resource, HasANameForObjectsAndOneForPeople) {
  EXPECT_EQ(kPods.api_version(), "v1");
  EXPECT_EQ(kPods.to_string(), "pods");
  EXPECT_EQ(kDeployments.api_version(), "apps/v1");
  EXPECT_EQ(kDeployments.to_string(), "deployments.apps");
}

TEST(Resource, LeavesOutPartsThatAreEmpty) {
  EXPECT_EQ(kPods.path(), "/api/v1/pods");
  EXPECT_EQ(kPods.path("web"), "/api/v1/namespaces/web/pods");
  EXPECT_EQ(kPods.path("web", "a"), "/api/v1/namespaces/web/pods/a");
  EXPECT_EQ(kPods.path("web", "a", "status"), "/api/v1/namespaces/web/pods/a/status");
  EXPECT_EQ(kDeployments.path("web", "site", "scale"),
            "/apis/apps/v1/namespaces/web/deployments/site/scale");
}

TEST(Resource, IgnoresTheNamespaceOfAKindThatHasNone) {
  EXPECT_EQ(kNodes.path("web", "n"), "/api/v1/nodes/n");
}

TEST(Resource, NeverLetsANameReachAnotherPath) {
  EXPECT_EQ(kPods.path("a/b", "../secrets?x=1#y", "log x"),
            "/api/v1/namespaces/a%2Fb/pods/..%2Fsecrets%3Fx%3D1%23y/log%20x");
  EXPECT_EQ(kNodes.path({}, "system:node"), "/api/v1/nodes/system%3Anode");
}

}  // namespace
}  // namespace mainspring::kube
