// control/webhook_server.h
//
// Webhooks as a part of a process: certificates that it makes and renews by itself
// (control/webhook_certs.h), and the server on the serving loop. Every replica runs it, leader or
// not.
//
//   MS_TRY(auto webhooks, WebhookServer::make(*process, {.service = "...", .ns = "...", ...},
//                                             [](http::Router& router, kube::Client& client) {
//                                               add_admission(router, "/validate", {...});
//                                             }));
//   return process->run();
//
// Made before process.run(); the process must outlive it. It needs the right to write the Secret
// and the caBundle of both configurations, and to read what the webhooks ask about.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/process.h"
#include "control/webhook_certs.h"
#include "http/router.h"

namespace mainspring::control {

class WebhookServer {
 public:
  struct Options {
    // The Service that the API server calls, and the namespace it and the Secret are in.
    std::string service;
    std::string ns;
    std::string secret;
    std::string address = ":9443";
    // Name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration.
    std::string configuration = "mainspring";
    std::string cluster_domain = "cluster.local";
    // Under which the server is reached besides its Service, by an API server outside the cluster.
    std::vector<std::string> ip_addresses = {};
  };

  // What is served. The client is of the serving loop, may write without leading, and outlives the
  // router.
  using AddRoutes = std::function<void(http::Router& router, kube::Client& client)>;

  // Binds the port and adds its work to the process; talks to nobody yet. /readyz says no until the
  // certificate is there.
  static Result<std::unique_ptr<WebhookServer>> make(Process& process, Options options,
                                                     const AddRoutes& add_routes);
  ~WebhookServer();
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  // One loop's way to the API server, which may write without leading.
  struct Access;

  WebhookServer(Process& process, Options options);
  Result<void> start(const AddRoutes& add_routes);
  WebhookCerts::Options certs_options() const;
  Task<Result<void>> keep_certs();

  Process& process_;
  Options options_;
  Check ready_;
  std::unique_ptr<Access> control_access_;
  std::unique_ptr<Access> serving_access_;
  std::shared_ptr<ServingTls> tls_;
  std::unique_ptr<WebhookCerts> certs_;
  std::uint16_t port_ = 0;
};

}  // namespace mainspring::control
