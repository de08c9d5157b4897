#include "app/bridge_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "app/process_flags.h"
#include "app/slurm_push.h"
#include "app/slurm_server.h"
#include "bridge/bridge.h"
#include "bridge/config.h"
#include "bridge/sync/cluster_follower.h"
#include "bridge/webhook/pod_webhooks.h"
#include "slurm/connection.h"
#include "slurm/push.h"
#include "slurm/replaceable_tokens.h"
#include "slurm/tokens.h"

namespace mainspring::app {
namespace {

struct Flags {
  ProcessFlags process{"slurm-bridge"};
  PushFlags push;
  SlurmServerFlags server;
  std::string config = "/etc/slurm-bridge/config.yaml";
  std::string user;
  std::string slurm_user = "slurm";
  std::string jwt_file = "/var/run/secrets/slurm/auth-token";
  std::string jwt_key_file;
  int deletions_per_minute = 2000;
  int ended_percent = 10;
  std::size_t workers = 64;
};

// Without a server and a token where a Cluster has both: those come when it is read.
Result<slurm::Client::Options> client_options(const Flags& flags,
                                              const bridge::BridgeConfig& config,
                                              control::Process& process) {
  const Clock& clock = process.manager().executor().clock();
  slurm::Client::Options options;
  options.log = process.log();
  options.metrics = &process.metrics();
  options.user = flags.slurm_user;
  options.may_write = process.manager().may_write();
  if (config.slurm_cluster) return options;
  MS_TRY(options.server, http::Url::parse(config.slurm_rest_api));
  options.tokens = flags.jwt_key_file.empty()
                       ? slurm::token_file(flags.jwt_file, clock)
                       : slurm::minted_tokens_from(flags.jwt_key_file, clock);
  return options;
}

// Null where the configuration names no Cluster.
std::shared_ptr<slurm::ReplaceableTokens> tokens_of_cluster(const bridge::BridgeConfig& config,
                                                            control::Process& process) {
  if (!config.slurm_cluster) return nullptr;
  return std::make_shared<slurm::ReplaceableTokens>(
      slurm::no_token("the Cluster has not been read"), process.manager().executor().clock());
}
std::unique_ptr<bridge::ClusterFollower> follow_cluster(
    const bridge::BridgeConfig& config, control::Process& process, slurm::Connection& slurm,
    const std::shared_ptr<slurm::ReplaceableTokens>& tokens) {
  if (!config.slurm_cluster) return nullptr;
  bridge::ClusterFollower::Options options;
  options.cluster = *config.slurm_cluster;
  options.tokens = tokens;
  options.check = process.health().add("slurm cluster", control::HealthKind::kReady);
  options.log = process.log();
  return std::make_unique<bridge::ClusterFollower>(process.manager(), slurm, std::move(options));
}

slurm::CacheOptions cache_options(control::Process& process) {
  slurm::CacheOptions options = bridge::slurm_following();
  options.log = process.log();
  options.metrics = &process.metrics();
  return options;
}

Result<std::unique_ptr<control::WebhookServer>> serve_pod_webhooks(
    const Flags& flags, const bridge::BridgeConfig& config, control::Process& process) {
  if (flags.process.webhook_address != "0" && flags.user.empty()) {
    return fail(Code::kInvalid,
                "--user: needed with --webhook-addr; as whom the API server knows the bridge, "
                "\"system:serviceaccount:NAMESPACE:NAME\" in a cluster");
  }
  return serve_webhooks(flags.process, process, [&](http::Router& router, kube::Client& client) {
    bridge::add_pod_webhooks(router, {.config = config,
                                      .own_user = flags.user,
                                      .client = client,
                                      .metrics = &process.metrics()});
  });
}

Result<int> run(const Flags& flags) {
  MS_TRY(bridge::BridgeConfig config, bridge::read_bridge_config(flags.config));
  if (config.slurm_cluster && !flags.jwt_key_file.empty()) {
    return fail(Code::kInvalid, "--slurm-jwt-key-file: not with slurmCluster in " + flags.config +
                                    ", where the token is that of the Cluster's Secret");
  }
  MS_TRY(auto described, process_options(flags.process, "mainspring-bridge"));
  MS_TRY(const std::unique_ptr<control::Process> process,
         control::Process::make(std::move(described)));
  MS_TRY(const auto webhooks, serve_pod_webhooks(flags, config, *process));

  control::Manager& manager = process->manager();
  MS_TRY(const std::unique_ptr<http::Client> transport, slurm_transport(flags.server, *process));
  MS_TRY(auto client, client_options(flags, config, *process));
  const auto tokens = tokens_of_cluster(config, *process);
  if (tokens) client.tokens = tokens;
  slurm::Connection slurm(*transport, manager.executor(), manager.random(), std::move(client),
                          cache_options(*process), bridge::slurm_budget());
  MS_CHECK(serve_pushes(
      flags.push, *process, slurm::kPushPath,
      [&slurm](KeyView, const slurm::PushedEvent& event) { slurm.cache().pushed(event); }));
  const auto follower = follow_cluster(config, *process, slurm, tokens);
  bridge::BridgeOptions options;
  options.config = std::move(config);
  options.workers = flags.workers;
  options.deletions_per_minute = flags.deletions_per_minute;
  options.ended_percent = flags.ended_percent;
  options.metrics = &process->metrics();
  options.log = process->log();
  const bridge::Bridge everything(manager, slurm, std::move(options));
  return process->run();
}

void add_flags(CLI::App& command, Flags& flags) {
  command.add_option("--config", flags.config, "The bridge's configuration")->capture_default_str();
  add_process_flags(command, flags.process);
  add_push_flags(command, flags.push);
  add_slurm_server_flags(command, flags.server);
  command.add_option("--user", flags.user,
                     "As whom the API server knows us; only this user may change what the bridge "
                     "notes on pods. Needed with --webhook-addr");
  command.add_option("--slurm-user", flags.slurm_user, "Slurm's SlurmUser, as whom we ask")
      ->capture_default_str();
  command
      .add_option("--slurm-jwt-file", flags.jwt_file,
                  "A token of that user for slurmrestd; may be rotated. Not looked at where the "
                  "configuration has slurmCluster")
      ->envname("SLURM_JWT_FILE")
      ->capture_default_str();
  command.add_option("--slurm-jwt-key-file", flags.jwt_key_file,
                     "slurmctld's key for tokens; then we make them ourselves, one for each user");
  command
      .add_option("--deletions-per-minute", flags.deletions_per_minute,
                  "Pods deleted a minute at most because Slurm ended their jobs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      .add_option("--ended-percent", flags.ended_percent,
                  "Of all jobs with pods at work the share that may end in a minute because Slurm "
                  "ended them or their nodes are lost; twenty always may. 100: no limit")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command.add_option("--workers", flags.workers, "Gangs that are worked on at once")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

}  // namespace

std::function<int()> add_bridge_command(CLI::App& line) {
  CLI::App* const command =
      line.add_subcommand("bridge", "Let Slurm's queue schedule Kubernetes pods.");
  const auto flags = std::make_shared<Flags>();
  add_flags(*command, *flags);
  return [flags] { return exit_code("bridge", run(*flags)); };
}

}  // namespace mainspring::app
