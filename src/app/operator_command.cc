#include "app/operator_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/process.h"
#include "http/client.h"
#include "operator/operator.h"
#include "operator/webhook/webhook_server.h"

namespace mainspring::app {
namespace {

struct Flags {
  std::string kubeconfig;
  std::string health_address = ":8081";
  std::string metrics_address = ":8080";
  bool metrics_secure = false;
  bool leader_elect = false;
  std::string leader_namespace;
  std::vector<std::string> namespaces;
  std::vector<std::string> propagated_conditions;
  std::vector<std::string> rest_urls;
  std::string cluster_domain;
  std::string webhook_address = "0";
  std::string webhook_service = "mainspring-webhook";
  std::string webhook_namespace;
  std::string webhook_secret = "mainspring-webhook-certs";
  std::string webhook_configuration = "mainspring";
  std::vector<std::string> webhook_ips;
  int deletions_per_minute = 600;
  std::size_t workers = 4;
  std::string log_level = "info";
};

op::WebhookServer::Options webhook_options(const Flags& flags, std::string cluster_domain) {
  op::WebhookServer::Options options;
  options.service = flags.webhook_service;
  options.ns = flags.webhook_namespace;
  options.secret = flags.webhook_secret;
  options.address = flags.webhook_address;
  options.configuration = flags.webhook_configuration;
  options.cluster_domain = std::move(cluster_domain);
  options.ip_addresses = flags.webhook_ips;
  return options;
}

// "0" is off, as upstream has it.
std::string address(const std::string& text) { return text == "0" ? "" : text; }

// The domain of the cluster: what follows "svc." in the first such search entry that the kubelet
// gave us.
std::string find_cluster_domain() {
  std::ifstream file("/etc/resolv.conf");
  for (std::string word; file >> word;) {
    if (word.starts_with("svc.")) return word.substr(4);
  }
  return "cluster.local";
}

Result<std::map<std::string, std::string, std::less<>>> parse_urls(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string, std::less<>> urls;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || text.find('/') > equals) {
      return fail(Code::kInvalid,
                  fmt::format("--rest-url {}: expected NAMESPACE/CONTROLLER=URL", text));
    }
    urls.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return urls;
}

Result<int> run(const Flags& flags) {
  MS_TRY(auto urls, parse_urls(flags.rest_urls));
  control::Process::Options process_options;
  process_options.name = "mainspring-operator";
  process_options.config.kubeconfig = flags.kubeconfig;
  process_options.namespaces = flags.namespaces;
  process_options.health_address = address(flags.health_address);
  process_options.metrics_address = address(flags.metrics_address);
  process_options.metrics_secure = flags.metrics_secure;
  process_options.leader_elect = flags.leader_elect;
  process_options.leader_namespace = flags.leader_namespace;
  MS_TRY(process_options.log_level, parse_log_level(flags.log_level));
  MS_TRY(const std::unique_ptr<control::Process> process,
         control::Process::make(std::move(process_options)));

  const std::string domain =
      flags.cluster_domain.empty() ? find_cluster_domain() : flags.cluster_domain;
  std::unique_ptr<op::WebhookServer> webhooks;
  if (!address(flags.webhook_address).empty()) {
    if (flags.webhook_namespace.empty()) {
      return fail(Code::kInvalid, "--webhook-namespace: needed with --webhook-addr");
    }
    MS_TRY(webhooks, op::WebhookServer::make(*process, webhook_options(flags, domain)));
  }

  http::Client slurm_transport(process->manager().executor(), process->network(), {});
  op::OperatorOptions options;
  options.cluster_domain = domain;
  options.propagated_node_conditions = flags.propagated_conditions;
  options.rest_urls = std::move(urls);
  options.deletions_per_minute = flags.deletions_per_minute;
  options.workers = flags.workers;
  options.metrics = &process->metrics();
  options.log = process->log();
  const op::Operator everything(process->manager(), slurm_transport, std::move(options));
  return process->run();
}

void add_flags(CLI::App& command, Flags& flags) {
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
  command.add_option("--namespaces", flags.namespaces, "Whose objects to manage; without: all")
      ->delimiter(',');
  command
      .add_option("--propagated-node-conditions", flags.propagated_conditions,
                  "Node conditions that explain a cordon in Slurm's reason")
      ->delimiter(',');
  command.add_option(
      "--rest-url", flags.rest_urls,
      "NAMESPACE/CONTROLLER=URL of its slurmrestd, for an operator outside the cluster");
  command.add_option("--cluster-domain", flags.cluster_domain,
                     "The cluster's DNS domain; without: as /etc/resolv.conf has it");
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
  command
      .add_option("--deletions-per-minute", flags.deletions_per_minute,
                  "Worker pods deleted a minute at most")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--workers", flags.workers, "Objects of a kind that are worked on at once")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--log-level", flags.log_level, "What to log")->capture_default_str();
}

}  // namespace

std::function<int()> add_operator_command(CLI::App& line) {
  CLI::App* const command =
      line.add_subcommand("operator", "Deploy and run Slurm clusters on Kubernetes.");
  const auto flags = std::make_shared<Flags>();
  add_flags(*command, *flags);
  return [flags] {
    const Result<int> code = run(*flags);
    if (code) return *code;
    fmt::print(stderr, "mainspring operator: {}\n", code.error().to_string());
    return 1;
  };
}

}  // namespace mainspring::app
