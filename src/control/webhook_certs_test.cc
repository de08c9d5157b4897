#include "control/webhook_certs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "base/base64.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

using json::Value;

// Objects by path, with the part of an API server's manners that matters here: versions, refusals
// of stale writes, and watches that begin with the present state.
class Objects final : public http::Transport {
 public:
  std::map<std::string, Value> objects;
  std::string refuse_patches_of;
  int writes = 0;
  const Clock* clock = nullptr;
  std::vector<TimePoint> secret_writes;

  void put(const std::string& path, Value object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (object.find("data") != nullptr && clock != nullptr) secret_writes.push_back(clock->now());
    objects[path] = std::move(object);
    change_.notify_all();
  }
  void remove(const std::string& path) { objects.erase(path); }

  Task<Result<http::Response>> send(http::Request request) override {
    // Long enough for others to come between a read and a write.
    MS_CO_CHECK(co_await net::sleep(milliseconds(10)));
    co_return answer(request);
  }
  Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    const std::string selector = *request.url.query_value("fieldSelector");
    co_return std::make_unique<Stream>(this,
                                       request.url.path + selector.substr(selector.find('=')));
  }
  Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "no upgrades");
  }

 private:
  class Stream final : public http::StreamingResponse {
   public:
    Stream(Objects* owner, std::string path) : owner_(owner), path_(std::move(path)) {
      path_[path_.find('=')] = '/';
    }
    int status() const override { return 200; }
    const http::Headers& headers() const override { return headers_; }
    Task<Result<std::string_view>> next_chunk() override {
      while (true) {
        const auto found = owner_->objects.find(path_);
        if (found != owner_->objects.end() && found->second != last_) {
          last_ = found->second;
          text_ = R"({"type":"MODIFIED","object":)" + json::to_text(last_) + "}\n";
          co_return std::string_view(text_);
        }
        MS_CO_CHECK(co_await owner_->change_.wait());
      }
    }

   private:
    Objects* owner_;
    std::string path_;
    http::Headers headers_;
    Value last_;
    std::string text_;
  };

  static http::Response refusal(int code, const char* reason) {
    return http::json_response(
        code, json::to_text(Value::object(
                  {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}})));
  }

  http::Response answer(const http::Request& request) {
    const std::string& path = request.url.path;
    const auto found = objects.find(path);
    if (request.method == http::Method::kPost) return create(request);
    if (found == objects.end()) return refusal(404, "NotFound");
    if (request.method == http::Method::kPatch) return patch(request, found->second);
    return http::json_response(200, json::to_text(found->second));
  }
  http::Response create(const http::Request& request) {
    const Value object = *json::parse(request.body);
    const std::string path =
        request.url.path + "/" + std::string(*object.at_pointer("/metadata/name")->as_string());
    if (objects.count(path) > 0) return refusal(409, "AlreadyExists");
    ++writes;
    put(path, object);
    return http::json_response(201, json::to_text(objects[path]));
  }
  http::Response patch(const http::Request& request, const Value& object) {
    if (request.url.path == refuse_patches_of) return refusal(403, "Forbidden");
    const Value change = *json::parse(request.body);
    const Value* expected = change.at_pointer("/metadata/resourceVersion");
    if (expected != nullptr && *expected != *object.at_pointer("/metadata/resourceVersion")) {
      return refusal(409, "Conflict");
    }
    ++writes;
    if (change.is_array()) {
      auto patched = json::apply_json_patch(object, change);
      if (!patched) return refusal(422, "Invalid");
      put(request.url.path, *patched);
    } else {
      put(request.url.path, json::apply_merge_patch(object, change));
    }
    return http::json_response(200, json::to_text(objects[request.url.path]));
  }

  int version_ = 0;
  net::Notify change_;
};

const std::string kSecret = "/api/v1/namespaces/slurm/secrets/hook-certs";
const std::string kHooks =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks";
const std::string kCrd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.dev";

struct WebhookCertsTest : ::testing::Test {
  struct Replica {
    std::shared_ptr<ServingTls> tls;
    std::unique_ptr<WebhookCerts> certs;
  };

  void SetUp() override {
    api.put(kHooks, *json::parse(R"({"metadata":{"name":"hooks"},"webhooks":[)"
                                 R"({"name":"a","clientConfig":{}},{"name":"b","clientConfig":)"
                                 R"({"caBundle":"eA=="},"rules":[1]}]})"));
    api.put(kCrd,
            *json::parse(R"({"metadata":{"name":"things.x.dev"},"spec":{"conversion":)"
                         R"({"strategy":"Webhook","webhook":{"clientConfig":{"url":"u"}}}}})"));
  }

  Replica replica() {
    Replica made;
    made.tls = *ServingTls::make(executor.clock());
    WebhookCerts::Options options;
    options.ns = "slurm";
    options.secret = "hook-certs";
    options.policy.dns_names = service_dns_names("hook", "slurm");
    options.targets = {{CaTarget::Kind::kValidatingWebhooks, "hooks"},
                       {CaTarget::Kind::kMutatingWebhooks, "not-installed"},
                       {CaTarget::Kind::kCrdConversion, "things.x.dev"}};
    options.tls = made.tls;
    options.resync = hours(24 * 7);
    made.certs = std::make_unique<WebhookCerts>(executor, client, std::move(options));
    return made;
  }

  std::string secret(const char* key) {
    const Value* value = api.objects[kSecret].find("data");
    value = value == nullptr ? nullptr : value->find(key);
    return value == nullptr ? "" : *base64_decode(*value->as_string());
  }
  std::string bundle_at(const std::string& path, const char* pointer) {
    const Value* value = api.objects[path].at_pointer(pointer);
    return value == nullptr ? "" : *base64_decode(*value->as_string());
  }
  void expect_published() {
    EXPECT_EQ(bundle_at(kHooks, "/webhooks/0/clientConfig/caBundle"), secret("ca.crt"));
    EXPECT_EQ(bundle_at(kHooks, "/webhooks/1/clientConfig/caBundle"), secret("ca.crt"));
    EXPECT_EQ(bundle_at(kCrd, "/spec/conversion/webhook/clientConfig/caBundle"), secret("ca.crt"));
  }

  net::VirtualExecutor executor;
  Random random{1};
  Objects api;
  kube::Client client{api, executor.clock(), random, {.server = {.scheme = "http", .host = "api"}}};
};

TEST_F(WebhookCertsTest, MakesTheSecretAndTellsTheConfigurations) {
  Replica one = replica();
  const auto before = one.tls->current();
  auto done = executor.run(one.certs->sync());
  ASSERT_TRUE(done.has_value()) << done.error().to_string();
  EXPECT_TRUE(net::is_issued_by(secret("tls.crt"), secret("ca.crt")));
  EXPECT_NE(one.tls->current(), before);
  expect_published();
  EXPECT_EQ(*api.objects[kHooks].at_pointer("/webhooks/1/rules/0"), Value(1));
}

TEST_F(WebhookCertsTest, AtRestWritesNothing) {
  Replica one = replica();
  ASSERT_TRUE(executor.run(one.certs->sync()).has_value());
  const int writes = api.writes;
  const auto shown = one.tls->current();
  ASSERT_TRUE(executor.run(one.certs->sync()).has_value());
  EXPECT_EQ(api.writes, writes);
  EXPECT_EQ(one.tls->current(), shown);
}

TEST_F(WebhookCertsTest, ReplicasThatStartTogetherAgree) {
  std::vector<Replica> replicas;
  for (int i = 0; i < 5; ++i) replicas.push_back(replica());
  net::TaskGroup group(executor);
  for (Replica& each : replicas) group.spawn(each.certs->sync());
  ASSERT_TRUE(executor.run(group.join()).has_value());
  const std::string winner = secret("tls.crt");
  expect_published();
  // All took over the winner's: another look changes nothing anywhere.
  const int writes = api.writes;
  for (Replica& each : replicas) {
    const auto shown = each.tls->current();
    ASSERT_TRUE(executor.run(each.certs->sync()).has_value());
    EXPECT_EQ(each.tls->current(), shown);
  }
  EXPECT_EQ(secret("tls.crt"), winner);
  EXPECT_EQ(api.writes, writes);
}

TEST_F(WebhookCertsTest, FillsASecretThatAnInstallerLeftEmpty) {
  api.put(kSecret, *json::parse(R"({"metadata":{"name":"hook-certs","labels":{"a":"b"}}})"));
  Replica one = replica();
  ASSERT_TRUE(executor.run(one.certs->sync()).has_value());
  EXPECT_TRUE(net::is_issued_by(secret("tls.crt"), secret("ca.crt")));
  EXPECT_EQ(*api.objects[kSecret].at_pointer("/metadata/labels/a"), Value("b"));
}

TEST_F(WebhookCertsTest, NonsenseInTheSecretReachesNobody) {
  api.put(kSecret, *json::parse(R"({"metadata":{"name":"hook-certs"},"data":{"ca.crt":"eA=="}})"));
  Replica one = replica();
  ASSERT_TRUE(executor.run(one.certs->sync()).has_value());
  expect_published();
  EXPECT_TRUE(net::is_issued_by(secret("tls.crt"), secret("ca.crt")));
}

using WebhookCertsAtScale = WebhookCertsTest;

TEST_F(WebhookCertsAtScale, RunsForYearsWithoutAGap) {
  api.clock = &executor.clock();
  Replica one = replica();
  Replica two = replica();
  net::TaskGroup group(executor);
  group.spawn(one.certs->run());
  group.spawn(two.certs->run());
  executor.advance(seconds(5));
  std::string serving = secret("tls.crt");
  std::string bundle = secret("ca.crt");
  int renewals = 0;
  int authorities = 0;
  for (int week = 0; week < 115; ++week) {
    executor.advance(hours(24 * 7));
    expect_published();
    const std::string now_serving = secret("tls.crt");
    EXPECT_TRUE(net::inspect(now_serving)->validity.contains(executor.clock().wall_now()));
    if (std::exchange(serving, now_serving) != now_serving) ++renewals;
    const std::string now_bundle = secret("ca.crt");
    if (std::exchange(bundle, now_bundle) != now_bundle) ++authorities;
  }
  EXPECT_GE(renewals, 13);
  EXPECT_GE(authorities, 3);
  // Each step is taken by one of the two, never by both: what follows of itself comes an overlap
  // later.
  for (std::size_t i = 1; i < api.secret_writes.size(); ++i) {
    EXPECT_GE(api.secret_writes[i] - api.secret_writes[i - 1], minutes(30)) << i;
  }
  group.cancel();
  (void)executor.run(group.join());
}

TEST_F(WebhookCertsTest, AConfigurationThatIsOverwrittenIsMendedAtOnce) {
  Replica one = replica();
  net::TaskGroup group(executor);
  group.spawn(one.certs->run());
  executor.advance(seconds(5));
  Value fresh = api.objects[kHooks];
  fresh["webhooks"].at(0)["clientConfig"].erase("caBundle");
  api.put(kHooks, fresh);
  executor.advance(seconds(3));
  expect_published();
  // So is one that is installed later.
  const std::string later =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/not-installed";
  api.put(later, *json::parse(R"({"webhooks":[{"name":"m","clientConfig":{}}]})"));
  executor.advance(seconds(3));
  EXPECT_EQ(bundle_at(later, "/webhooks/0/clientConfig/caBundle"), secret("ca.crt"));
  api.remove(kSecret);
  executor.advance(hours(24 * 8));
  expect_published();
  EXPECT_NE(secret("tls.crt"), "");
  group.cancel();
  (void)executor.run(group.join());
}

TEST_F(WebhookCertsAtScale, DoesNotMoveToAnAuthorityThatACallerCouldNotBeTold) {
  Replica one = replica();
  ASSERT_TRUE(executor.run(one.certs->sync()).has_value());
  net::TaskGroup group(executor);
  group.spawn(one.certs->run());
  const std::string first = secret("ca.crt");
  while (secret("ca.crt") == first) {
    api.refuse_patches_of = kCrd;
    executor.advance(hours(12));
  }
  const std::string serving = secret("tls.crt");
  executor.advance(minutes(90));
  EXPECT_EQ(secret("tls.crt"), serving);
  EXPECT_EQ(bundle_at(kHooks, "/webhooks/0/clientConfig/caBundle"), secret("ca.crt"));
  api.refuse_patches_of.clear();
  executor.advance(minutes(2));
  EXPECT_NE(secret("tls.crt"), serving);
  expect_published();
  group.cancel();
  (void)executor.run(group.join());
}

}  // namespace
}  // namespace mainspring::control
