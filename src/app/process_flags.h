// app/process_flags.h
//
// The flags that every long-running subcommand has, and what they mean for its process: where the
// API server is, what is served and where, who leads, webhooks. A value, filled by the command
// line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/process.h"
#include "control/webhook_server.h"

namespace CLI {
class App;
}

namespace mainspring::app {

struct ProcessFlags {
  std::string kubeconfig;
  std::string health_address = ":8081";
  std::string metrics_address = ":8080";
  bool metrics_secure = false;
  bool leader_elect = false;
  std::string leader_namespace;
  std::string log_level = "info";

  std::string cluster_domain;
  std::string webhook_address = "0";
  std::string webhook_service;
  std::string webhook_namespace;
  std::string webhook_secret;
  std::string webhook_configuration;
  std::vector<std::string> webhook_ips;

  // `webhooks` is how the names of the Service, the Secret and the configurations begin where no
  // flag says otherwise.
  explicit ProcessFlags(const std::string& webhooks);
};

// Must outlive the parsing.
void add_process_flags(CLI::App& command, ProcessFlags& flags);

Result<control::Process::Options> process_options(const ProcessFlags& flags, std::string name);
// The flag, or what the kubelet gave us.
std::string cluster_domain(const ProcessFlags& flags);
// Null where the flags ask for none.
Result<std::unique_ptr<control::WebhookServer>> serve_webhooks(
    const ProcessFlags& flags, control::Process& process,
    const control::WebhookServer::AddRoutes& add_routes);

// What the process exits with; says on stderr why, where `command` failed.
int exit_code(const char* command, const Result<int>& code);

}  // namespace mainspring::app
