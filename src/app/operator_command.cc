#include "app/operator_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/process_flags.h"
#include "app/slurm_push.h"
#include "app/slurm_server.h"
#include "operator/operator.h"
#include "operator/webhook/webhooks.h"

namespace mainspring::app {
namespace {

// Of a Controller.
constexpr std::string_view kPushPath = "/slurm/events/{namespace}/{name}";

struct Flags {
  ProcessFlags process{"mainspring"};
  PushFlags push;
  SlurmServerFlags server;
  std::vector<std::string> namespaces;
  std::vector<std::string> propagated_conditions;
  std::vector<std::string> rest_urls;
  int deletions_per_minute = 600;
  std::size_t workers = 4;
};

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
  MS_TRY(auto described, process_options(flags.process, "mainspring-operator"));
  described.namespaces = flags.namespaces;
  MS_TRY(const std::unique_ptr<control::Process> process,
         control::Process::make(std::move(described)));
  MS_TRY(const auto webhooks,
         serve_webhooks(flags.process, *process, [&](http::Router& router, kube::Client& client) {
           op::add_webhooks(
               router, {.client = client, .metrics = &process->metrics(), .log = process->log()});
         }));

  MS_TRY(const std::unique_ptr<http::Client> transport, slurm_transport(flags.server, *process));
  op::OperatorOptions options;
  options.cluster_domain = cluster_domain(flags.process);
  options.propagated_node_conditions = flags.propagated_conditions;
  options.rest_urls = std::move(urls);
  options.deletions_per_minute = flags.deletions_per_minute;
  options.workers = flags.workers;
  options.metrics = &process->metrics();
  options.log = process->log();
  op::Operator everything(process->manager(), *transport, std::move(options));
  MS_CHECK(serve_pushes(flags.push, *process, kPushPath,
                        [&everything](KeyView controller, const slurm::PushedEvent& event) {
                          everything.pushed(controller, event);
                        }));
  return process->run();
}

void add_flags(CLI::App& command, Flags& flags) {
  add_process_flags(command, flags.process);
  add_push_flags(command, flags.push);
  add_slurm_server_flags(command, flags.server);
  command.add_option("--namespaces", flags.namespaces, "Whose objects to manage; without: all")
      ->delimiter(',');
  command
      .add_option("--propagated-node-conditions", flags.propagated_conditions,
                  "Node conditions that explain a cordon in Slurm's reason")
      ->delimiter(',');
  command.add_option(
      "--rest-url", flags.rest_urls,
      "NAMESPACE/CONTROLLER=URL of its slurmrestd, for an operator outside the cluster");
  command
      .add_option("--deletions-per-minute", flags.deletions_per_minute,
                  "Worker pods deleted a minute at most")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--workers", flags.workers, "Objects of a kind that are worked on at once")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

}  // namespace

std::function<int()> add_operator_command(CLI::App& line) {
  CLI::App* const command =
      line.add_subcommand("operator", "Deploy and run Slurm clusters on Kubernetes.");
  const auto flags = std::make_shared<Flags>();
  add_flags(*command, *flags);
  return [flags] { return exit_code("operator", run(*flags)); };
}

}  // namespace mainspring::app
