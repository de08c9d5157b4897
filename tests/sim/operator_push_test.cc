// What slurmctld's scripts say reaches the change cache of the right cluster.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/base64.h"
#include "json/yaml.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "operator/operator.h"
#include "sim/kube_api.h"
#include "sim/operator_kinds.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {
namespace {

using slurm::JobId;
using slurm::PushedEvent;

// Notes which single jobs are asked for.
class Noting final : public http::Transport {
 public:
  explicit Noting(SlurmApi& slurm) : slurm_(slurm) {}
  net::Task<Result<http::Response>> send(http::Request request) override {
    const std::string& path = request.url.path;
    if (const auto at = path.find("/job/"); at != std::string::npos)
      asked.push_back(path.substr(at));
    return slurm_.send(std::move(request));
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    return slurm_.open(std::move(request));
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return slurm_.upgrade(std::move(request));
  }
  std::vector<std::string> asked;

 private:
  SlurmApi& slurm_;
};

class OperatorPush : public ::testing::Test {
 protected:
  void SetUp() override {
    serve_our_kinds(kube_);
    ASSERT_TRUE(kube_.add_namespace("hpc").has_value());
    const std::string key = base64_encode("0123456789abcdef0123456789abcdef");
    put("{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: hpc}, data: {slurm: " +
        key + ", jwt: " + key + "}}");
    put(R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: green, namespace: hpc}
spec:
  slurmKeyRef: {name: keys, key: slurm}
  jwtKeyRef: {name: keys, key: jwt}
  slurmctld: {image: slurmctld}
)");
    put(R"(
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: rest, namespace: hpc}
spec: {controllerRef: {name: green}, slurmrestd: {image: slurmrestd}}
)");
    life_.spawn(manager_.run());
    executor_.advance(seconds(30));
    wire_.asked.clear();
  }
  void put(const std::string& yaml) {
    const auto added = kube_.add(*json::parse_yaml(yaml));
    ASSERT_TRUE(added.has_value()) << added.error().to_string();
  }
  // What is asked about jobs in less time than any pace has.
  std::vector<std::string> asked_after(KeyView controller) {
    operator_.pushed(controller, {.kind = PushedEvent::Kind::kOther, .job = JobId(7)});
    executor_.advance(milliseconds(20));
    return wire_.asked;
  }

  net::VirtualExecutor executor_;
  KubeApi kube_{executor_, {}};
  SlurmApi slurm_{executor_, {}};
  Noting wire_{slurm_};
  Random random_{7};
  kube::Client client_{
      kube_, executor_.clock(), random_, {.server = *http::Url::parse("https://sim")}};
  control::Manager manager_{executor_, client_, random_, {.name = "test", .instance = "one"}};
  op::Operator operator_{manager_, wire_, {}};
  net::TaskGroup life_{executor_};
};

TEST_F(OperatorPush, IsLookedIntoAtOnce) {
  EXPECT_THAT(asked_after({"hpc", "green"}), ::testing::Contains("/job/7"));
}

TEST_F(OperatorPush, OfAClusterThatNobodyKnowsConcernsNobody) {
  EXPECT_TRUE(asked_after({"hpc", "blue"}).empty());
  EXPECT_TRUE(asked_after({"other", "green"}).empty());
  EXPECT_TRUE(asked_after({"", ""}).empty());
}

}  // namespace
}  // namespace mainspring::sim
