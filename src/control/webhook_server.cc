// control/webhook_server.cc
#include "control/webhook_server.h"

#include <utility>

#include "net/wait.h"

namespace mainspring::control {

struct WebhookServer::Access {
  kube::Connection connection;
  Random random = Random::from_system();
  kube::Client client;

  Access(kube::Connection made, const Clock& clock)
      : connection(std::move(made)),
        client(*connection.transport, clock, random, connection.client) {}
};

WebhookServer::WebhookServer(Process& process, Options options)
    : process_(process),
      options_(std::move(options)),
      ready_(process.health().add("webhooks", HealthKind::kReady)) {}

WebhookServer::~WebhookServer() = default;

Result<std::unique_ptr<WebhookServer>> WebhookServer::make(Process& process, Options options,
                                                           const AddRoutes& add_routes) {
  std::unique_ptr<WebhookServer> server(new WebhookServer(process, std::move(options)));
  MS_CHECK(with_context(server->start(add_routes), "starting the webhooks"));
  return server;
}

WebhookCerts::Options WebhookServer::certs_options() const {
  WebhookCerts::Options options;
  options.ns = options_.ns;
  options.secret = options_.secret;
  options.policy.dns_names =
      service_dns_names(options_.service, options_.ns, options_.cluster_domain);
  options.policy.ip_addresses = options_.ip_addresses;
  options.targets = {{CaTarget::Kind::kValidatingWebhooks, options_.configuration},
                     {CaTarget::Kind::kMutatingWebhooks, options_.configuration}};
  options.tls = tls_;
  options.log = process_.log();
  return options;
}

Result<void> WebhookServer::start(const AddRoutes& add_routes) {
  Manager& manager = process_.manager();
  Serving& serving = process_.serving();
  MS_TRY(auto ours, process_.open_connection(Process::Loop::kControl));
  control_access_ = std::make_unique<Access>(std::move(ours), manager.executor().clock());
  MS_TRY(auto theirs, process_.open_connection(Process::Loop::kServing));
  serving_access_ = std::make_unique<Access>(std::move(theirs), serving.loop().clock());

  MS_TRY(tls_, ServingTls::make(manager.executor().clock()));
  certs_ =
      std::make_unique<WebhookCerts>(manager.executor(), control_access_->client, certs_options());
  http::Router router;
  add_routes(router, serving_access_->client);
  MS_TRY(const net::Endpoint at, net::Endpoint::parse(options_.address));
  MS_TRY(port_, serving.listen("webhooks", at, std::move(router), tls_));
  manager.add_work("webhook certificates", Manager::When::kAlways, [this] { return keep_certs(); });
  return {};
}

// Until there is a certificate that callers trust they must not be sent here.
Task<Result<void>> WebhookServer::keep_certs() {
  for (;;) {
    const auto synced = co_await certs_->sync();
    if (synced) break;
    if (synced.error().code() == Code::kCancelled) co_return synced;
    ready_.fail(synced.error().to_string());
    process_.log().warn("no certificate for the webhooks yet", {{"error", synced.error()}});
    MS_CO_CHECK(co_await net::sleep(seconds(2)));
  }
  ready_.ok();
  co_return co_await certs_->run();
}

}  // namespace mainspring::control
