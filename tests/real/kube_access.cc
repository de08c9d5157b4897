// Who we are to the real API server: rights that are missing, tokens that expire and are renewed,
// acting as somebody else, and a server that asks for patience. Run by kube_test.py.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "kube/dynamic.h"
#include "kube_fixture.h"
#include "net/task_group.h"

namespace mainspring::kube {
namespace {

using json::Value;
using ::testing::HasSubstr;

class Access : public KubeTest {
 protected:
  ~Access() override {
    std::remove(token_file_.c_str());
    std::remove(config_file_.c_str());
  }
  // A token of a service account in the test's namespace.
  std::string token_for(const std::string& account) {
    Value request;
    request["spec"]["expirationSeconds"] = 600;
    const RawApi accounts(client(), {"", "v1", "serviceaccounts", "ServiceAccount", true}, ns_);
    const auto answer = run(accounts.post(account, "token", request, {}));
    EXPECT_TRUE(answer) << why(answer);
    return std::string(*json::parse(*answer)->at_pointer("/status/token")->as_string());
  }
  void make(const Resource& resource, Value object) {
    const auto made = run(Api<Dynamic>(client(), resource, ns_).create(std::move(object)));
    ASSERT_TRUE(made) << why(made);
  }
  void make_account(const std::string& name) {
    Value object;
    object["metadata"]["name"] = name;
    make({"", "v1", "serviceaccounts", "ServiceAccount", true}, object);
  }
  void allow_account(const std::string& account, const char* verb) {
    allow(Value::object({{"kind", "ServiceAccount"}, {"name", account}, {"namespace", ns_}}), verb);
  }
  void allow(Value subject, const char* verb) {
    Value role;
    role["metadata"]["name"] = "r";
    role["rules"] = Value::array({Value::object({{"apiGroups", Value::array({""})},
                                                 {"resources", Value::array({"configmaps"})},
                                                 {"verbs", Value::array({verb})}})});
    make({"rbac.authorization.k8s.io", "v1", "roles", "Role", true}, role);
    Value binding;
    binding["metadata"]["name"] = "b";
    binding["roleRef"] =
        Value::object({{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "r"}});
    binding["subjects"] = Value::array({std::move(subject)});
    make({"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true}, binding);
  }

  // A kubeconfig with a token file, as a pod's service account has it.
  std::string config_with_token_file() {
    const auto text = [](const char* pem) {
      return std::string(from_environment(pem).value_or(""));
    };
    std::ofstream(config_file_) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                << "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                << "clusters: [{name: k, cluster: {server: '" << text("KUBE_URL")
                                << "', certificate-authority: '" << text("KUBE_CA") << "'}}]\n"
                                << "users: [{name: u, user: {tokenFile: '" << token_file_
                                << "'}}]\n";
    return config_file_;
  }

  const std::string token_file_ = ::testing::TempDir() + "token-" + std::to_string(::getpid());
  const std::string config_file_ =
      ::testing::TempDir() + "kubeconfig-" + std::to_string(::getpid());
};

TEST_F(Access, RightsThatAreMissingAreNamed) {
  make_account("weak");
  allow_account("weak", "get");
  std::ofstream(token_file_) << token_for("weak");
  Peer weak(config_with_token_file());
  const Api<ConfigMap> maps(*weak.client, ns_);
  EXPECT_EQ(weak.run(maps.get("absent")).error().code(), Code::kNotFound);
  const auto refused = weak.run(maps.list());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("system:serviceaccount:" + ns_ + ":weak"));
}

TEST_F(Access, ATokenThatIsNoLongerGoodIsReadAnew) {
  make_account("rotating");
  allow_account("rotating", "list");
  std::ofstream(token_file_) << "a.stale.token";
  Peer rotating(config_with_token_file());
  const Api<ConfigMap> maps(*rotating.client, ns_);
  const auto refused = rotating.run(maps.list());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnauthorized);
  // As the kubelet does it, while we hold the old one.
  std::ofstream(token_file_) << token_for("rotating");
  const auto listed = rotating.run(maps.list());
  EXPECT_TRUE(listed) << why(listed);
}

TEST_F(Access, ActingAsSomebodyElseIsActingWithHisRights) {
  Peer other({}, [](Client::Options& options) {
    options.impersonate.user = "nobody@example.com";
    options.impersonate.groups = {"system:authenticated"};
  });
  const auto refused = other.run(Api<ConfigMap>(*other.client, ns_).list());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("nobody@example.com"));
}

Task<Result<void>> list_once(Client* client, std::string ns) {
  const Api<ConfigMap> maps(*client, std::move(ns));
  MS_CO_CHECK(co_await maps.list());
  co_return Result<void>();
}

// A priority level without a seat of its own or a queue serves one request at a time and asks the
// others to come again.
TEST_F(Access, AServerThatAsksForPatienceGetsIt) {
  Value level;
  level["metadata"]["name"] = "narrow-" + ns_;
  level["spec"]["type"] = "Limited";
  level["spec"]["limited"]["nominalConcurrencyShares"] = 0;
  level["spec"]["limited"]["lendablePercent"] = 0;
  level["spec"]["limited"]["borrowingLimitPercent"] = 0;
  level["spec"]["limited"]["limitResponse"]["type"] = "Reject";
  const Resource levels{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
                        "PriorityLevelConfiguration", false};
  const auto made = run(Api<Dynamic>(client(), levels, "").create(level));
  ASSERT_TRUE(made) << why(made);
  Value schema = *json::parse(R"({"spec":{"matchingPrecedence":100,"rules":[{"subjects":[
      {"kind":"User","user":{"name":"crowd"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],
      "resources":["*"],"namespaces":["*"]}]}]}})");
  schema["metadata"]["name"] = "narrow-" + ns_;
  schema["spec"]["priorityLevelConfiguration"]["name"] = "narrow-" + ns_;
  const Resource schemas{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false};
  ASSERT_TRUE(run(Api<Dynamic>(client(), schemas, "").create(schema)));

  allow(Value::object({{"kind", "User"}, {"name", "crowd"}}), "list");

  int throttled = 0;
  Peer crowd({}, [&](Client::Options& options) {
    options.impersonate.user = "crowd";
    options.impersonate.groups = {"system:authenticated"};
    options.on_attempt = [&](const Client::Attempt& attempt) {
      if (attempt.status == 429) ++throttled;
    };
    options.timeout = seconds(40);
  });
  // The server takes a moment to learn of a new level.
  for (int i = 0; i < 50 && throttled == 0; ++i) {
    net::TaskGroup many(crowd.loop);
    for (int n = 0; n < 20; ++n) many.spawn(list_once(&*crowd.client, ns_));
    const auto all = crowd.run(many.join());
    EXPECT_TRUE(all) << why(all);
  }
  EXPECT_GT(throttled, 0) << "the server never asked for patience";
  EXPECT_TRUE(run(Api<Dynamic>(client(), schemas, "").remove("narrow-" + ns_)));
  EXPECT_TRUE(run(Api<Dynamic>(client(), levels, "").remove("narrow-" + ns_)));
}

}  // namespace
}  // namespace mainspring::kube
