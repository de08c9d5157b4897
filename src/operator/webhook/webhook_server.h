// operator/webhook/webhook_server.h
//
// The webhooks as a part of the operator's process: certificates that it makes and renews by itself
// (control/webhook_certs.h), and the server on the serving loop. Every replica runs it, leader or
// not.
//
//   MS_TRY(auto webhooks, WebhookServer::make(*process, {.service = "...", .ns = "...", ...}));
//   return process->run();
//
// Made by the app before process.run(); the process must outlive it. It needs the right to write
// the Secret and the caBundle of both configurations, and to read what the webhooks ask about.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "control/process.h"
#include "control/webhook_certs.h"

namespace mainspring::op {

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

  // Binds the port and adds its work to the process; talks to nobody yet. /readyz says no until the
  // certificate is there.
  static Result<std::unique_ptr<WebhookServer>> make(control::Process& process, Options options);
  ~WebhookServer();
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  // One loop's way to the API server, which may write without leading.
  struct Access;

  WebhookServer(control::Process& process, Options options);
  Result<void> start();
  control::WebhookCerts::Options certs_options() const;
  net::Task<Result<void>> keep_certs();

  control::Process& process_;
  Options options_;
  control::Check ready_;
  std::unique_ptr<Access> control_access_;
  std::unique_ptr<Access> serving_access_;
  std::shared_ptr<control::ServingTls> tls_;
  std::unique_ptr<control::WebhookCerts> certs_;
  std::uint16_t port_ = 0;
};

}  // namespace mainspring::op
