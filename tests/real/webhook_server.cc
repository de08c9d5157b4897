// A server as an operator runs one, for webhook_test.py: admission and conversion webhooks and an
// aggregated API, under certificates that it makes and renews by itself, so fast that the test sees
// several generations of them. The environment says where the API server is and how long
// certificates live; the port is printed. Runs until it is killed.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/log_stderr.h"
#include "base/text.h"
#include "control/admission.h"
#include "control/aggregated_api.h"
#include "control/conversion.h"
#include "control/serving.h"
#include "control/webhook_certs.h"
#include "http/client.h"
#include "net/event_loop.h"
#include "net/socket_network.h"

namespace mainspring::control {
namespace {

using json::Value;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set; run tests/real/webhook_test.py instead\n", name);
    std::exit(2);
  }
  return value;
}

Duration seconds_in(const char* name) { return seconds(*parse_integer<int>(variable(name))); }

std::string contents(const char* name) {
  std::ostringstream text;
  text << std::ifstream(variable(name)).rdbuf();
  return text.str();
}

// One loop's way to the API server.
struct Kube {
  Kube(net::Executor& executor, net::Network& network)
      : http(executor, network, http_options()),
        client(http, executor.clock(), random,
               {.server = *http::Url::parse(variable("KUBE_URL"))}) {}
  static http::Client::Options http_options() {
    net::TlsClientOptions tls;
    tls.ca_pem = contents("KUBE_CA");
    tls.cert_pem = contents("KUBE_CERT");
    tls.key_pem = contents("KUBE_KEY");
    http::Client::Options options;
    options.tls = *net::TlsContext::client(tls);
    return options;
  }

  Random random = Random::from_system();
  http::Client http;
  kube::Client client;
};

Task<Result<AdmissionResponse>> validate(AdmissionRequest request) {
  if (request.object.at_pointer("/data/forbidden") != nullptr) {
    co_return fail(Code::kInvalid, "data.forbidden: nobody may set it");
  }
  if (request.object.at_pointer("/data/broken") != nullptr) {
    co_return fail(Code::kTransient, "the webhook cannot tell today");
  }
  AdmissionResponse response = AdmissionResponse::allow();
  if (request.object.at_pointer("/data/old") != nullptr) {
    response.warnings.emplace_back("data.old: use data.new instead");
  }
  co_return response;
}

Task<Result<AdmissionResponse>> mutate(AdmissionRequest request) {
  Value object = std::move(request.object);
  object["metadata"]["labels"]["webhook.test/by"] = request.user.username;
  co_return AdmissionResponse::allow_as(std::move(object));
}

Converter::Convert renaming(const char* from, const char* to) {
  return [from, to](Value object) -> Result<Value> {
    Value& spec = object["spec"];
    const Value* value = spec.find(from);
    if (value == nullptr)
      return fail(Code::kInvalid, std::string("spec.") + from + ": it is missing");
    Value moved = *value;
    spec.erase(from);
    spec.set(to, std::move(moved));
    return object;
  };
}

Task<Result<http::Response>> who_am_i(UserInfo user, http::Request request) {
  Value groups = Value::array();
  for (const std::string& group : user.groups) groups.push_back(group);
  co_return http::json_response(
      200, json::to_text(Value::object({{"kind", "Identity"},
                                        {"apiVersion", "served.webhook.test/v1"},
                                        {"user", user.username},
                                        {"groups", std::move(groups)},
                                        {"asked", request.parameter("name")}})));
}

void add_webhooks(http::Router& router) {
  add_admission(router, "/validate", {.kind = AdmissionKind::kValidating, .handler = validate});
  add_admission(router, "/mutate", {.kind = AdmissionKind::kMutating, .handler = mutate});
  Converter converter;
  converter.add("webhook.test/v1", "webhook.test/v2", renaming("size", "replicas"));
  converter.add("webhook.test/v2", "webhook.test/v1", renaming("replicas", "size"));
  add_conversion(router, "/convert", std::move(converter));
}

WebhookCerts::Options certs_options(std::shared_ptr<ServingTls> tls, Logger log) {
  WebhookCerts::Options options;
  options.ns = "default";
  options.secret = "webhook-certs";
  options.policy.dns_names = service_dns_names("webhook", "default");
  options.policy.ip_addresses = {variable("ADDRESS")};
  options.policy.serving_life = seconds_in("SERVING_LIFE");
  options.policy.ca_life = seconds_in("CA_LIFE");
  options.policy.overlap = seconds_in("OVERLAP");
  options.targets = {{CaTarget::Kind::kValidatingWebhooks, "webhook-test"},
                     {CaTarget::Kind::kMutatingWebhooks, "webhook-test"},
                     {CaTarget::Kind::kCrdConversion, "things.webhook.test"},
                     {CaTarget::Kind::kApiService, "v1.served.webhook.test"}};
  options.tls = std::move(tls);
  options.log = std::move(log);
  options.pause = milliseconds(100);
  return options;
}

Result<void> run() {
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  const Logger log({.clock = &loop.clock(),
                    .sink = stderr_log_sink(),
                    .format = LogFormat::kText,
                    .level = LogLevel::kInfo});
  Kube ours(loop, network);
  MS_TRY(auto tls, ServingTls::make(loop.clock()));
  WebhookCerts certs(loop, ours.client, certs_options(tls, log));
  MS_CHECK(loop.run(certs.sync()));

  Serving serving(log);
  Kube theirs(serving.loop(), serving.network());
  DelegatedAuth auth(theirs.client);
  AggregatedApi api(
      theirs.client, auth, tls,
      {.groups = {{"served.webhook.test", "v1", {{"identities", "Identity", true, {"get"}}}}},
       .log = log});
  MS_CHECK(serving.loop().run(api.load()));
  http::Router router;
  add_webhooks(router);
  api.add_discovery(router);
  api.add(router, http::Method::kGet,
          "/apis/served.webhook.test/v1/namespaces/{ns}/identities/{name}", who_am_i);
  MS_TRY(const std::uint16_t port,
         serving.listen("webhooks", net::Endpoint::tcp(variable("ADDRESS"), 0), std::move(router),
                        tls));
  serving.add_task("front proxy settings", api.run());
  serving.start();
  std::printf("%d\n", port);
  std::fflush(stdout);
  return loop.run(certs.run());
}

}  // namespace
}  // namespace mainspring::control

int main() {
  const auto ended = mainspring::control::run();
  std::fprintf(stderr, "%s\n", ended ? "ended" : ended.error().to_string().c_str());
  return 1;
}
