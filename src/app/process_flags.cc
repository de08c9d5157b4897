#include "app/process_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <utility>

namespace mainspring::app {
namespace {

// "0" is off, as upstream has it.
std::string address(const std::string& text) { return text == "0" ? "" : text; }

void add_webhook_flags(CLI::App& command, ProcessFlags& flags) {
  command
      .add_option("--webhook-addr", flags.webhook_address,
                  "Where to serve the admission webhooks, ':9443' mostly; 0: nowhere")
      ->capture_default_str();
  command
      .add_option("--webhook-service", flags.webhook_service,
                  "The Service that the API server calls")
      ->capture_default_str();
  command.add_option("--webhook-namespace", flags.webhook_namespace,
                     "Where that Service is, and the Secret with its certificates");
  command.add_option("--webhook-secret", flags.webhook_secret, "The name of that Secret")
      ->capture_default_str();
  command
      .add_option("--webhook-configuration", flags.webhook_configuration,
                  "The name of the two webhook configurations that get our authority")
      ->capture_default_str();
  command.add_option("--webhook-ip", flags.webhook_ips,
                     "An address by which an API server outside the cluster calls the webhooks");
}

}  // namespace

ProcessFlags::ProcessFlags(const std::string& webhooks)
    : webhook_service(webhooks + "-webhook"),
      webhook_secret(webhooks + "-webhook-certs"),
      webhook_configuration(webhooks) {}

void add_process_flags(CLI::App& command, ProcessFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig,
                     "Which kubeconfig to use; without: the pod's service account");
  command
      .add_option("--health-addr", flags.health_address,
                  "Where to serve /healthz and /readyz; 0: nowhere")
      ->capture_default_str();
  command
      .add_option("--metrics-addr", flags.metrics_address, "Where to serve /metrics; 0: nowhere")
      ->capture_default_str();
  command.add_flag("--metrics-secure", flags.metrics_secure,
                   "Serve metrics only to those whom the API server lets see them");
  command.add_flag("--leader-elect", flags.leader_elect, "Act only while holding the lease");
  command.add_option("--leader-elect-namespace", flags.leader_namespace,
                     "Where the lease is; without: the namespace we run in");
  command.add_option("--cluster-domain", flags.cluster_domain,
                     "The cluster's DNS domain; without: as /etc/resolv.conf has it");
  command.add_option("--log-level", flags.log_level, "What to log")->capture_default_str();
  add_webhook_flags(command, flags);
}

Result<control::Process::Options> process_options(const ProcessFlags& flags, std::string name) {
  control::Process::Options options;
  options.name = std::move(name);
  options.config.kubeconfig = flags.kubeconfig;
  options.health_address = address(flags.health_address);
  options.metrics_address = address(flags.metrics_address);
  options.metrics_secure = flags.metrics_secure;
  options.leader_elect = flags.leader_elect;
  options.leader_namespace = flags.leader_namespace;
  MS_TRY(options.log_level, parse_log_level(flags.log_level));
  return options;
}

// What follows "svc." in the first such search entry.
std::string cluster_domain(const ProcessFlags& flags) {
  if (!flags.cluster_domain.empty()) return flags.cluster_domain;
  std::ifstream file("/etc/resolv.conf");
  for (std::string word; file >> word;) {
    if (word.starts_with("svc.")) return word.substr(4);
  }
  return "cluster.local";
}

Result<std::unique_ptr<control::WebhookServer>> serve_webhooks(
    const ProcessFlags& flags, control::Process& process,
    const control::WebhookServer::AddRoutes& add_routes) {
  if (address(flags.webhook_address).empty()) return nullptr;
  if (flags.webhook_namespace.empty()) {
    return fail(Code::kInvalid, "--webhook-namespace: needed with --webhook-addr");
  }
  control::WebhookServer::Options options;
  options.service = flags.webhook_service;
  options.ns = flags.webhook_namespace;
  options.secret = flags.webhook_secret;
  options.address = flags.webhook_address;
  options.configuration = flags.webhook_configuration;
  options.cluster_domain = cluster_domain(flags);
  options.ip_addresses = flags.webhook_ips;
  return control::WebhookServer::make(process, std::move(options), add_routes);
}

int exit_code(const char* command, const Result<int>& code) {
  if (code) return *code;
  fmt::print(stderr, "mainspring {}: {}\n", command, code.error().to_string());
  return 1;
}

}  // namespace mainspring::app
