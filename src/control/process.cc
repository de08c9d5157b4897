#include "control/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/log_stderr.h"
#include "control/delegated_auth.h"
#include "control/status_pages.h"
#include "net/signals.h"
#include "net/socket_network.h"
#include "net/task_group.h"

namespace mainspring::control {
namespace {

std::optional<std::string> variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

void count_attempts(kube::Client::Options& options, Metrics& metrics) {
  options.on_attempt = [&metrics](const kube::Client::Attempt& attempt) {
    const std::string code = attempt.status == 0 ? "<error>" : std::to_string(attempt.status);
    metrics
        .counter("rest_client_requests_total", "Requests to the API server",
                 {{"code", code}, {"method", std::string(attempt.verb)}})
        .add();
  };
}

}  // namespace

// A client on the serving loop, to ask who may see what.
struct Process::Access {
  kube::Connection connection;
  Random random = Random::from_system();
  kube::Client client;
  DelegatedAuth auth;

  Access(kube::Connection made, const Clock& clock)
      : connection(std::move(made)),
        client(*connection.transport, clock, random, connection.client),
        auth(client) {}
};

Process::Process(Options options)
    : options_(std::move(options)),
      log_(Logger::Options{&loop_.clock(), stderr_log_sink(), log_format_for_stderr(),
                           options_.log_level}),
      network_(std::make_unique<net::SocketNetwork>(loop_)),
      health_(loop_.clock()),
      random_(Random::from_system()),
      serving_(log_) {}

Process::~Process() = default;

Result<std::unique_ptr<Process>> Process::make(Options options) {
  std::unique_ptr<Process> process(new Process(std::move(options)));
  MS_CHECK(process->connect());
  MS_CHECK(process->serve());
  return process;
}

Result<void> Process::connect() {
  options_.config.env = variable;
  MS_TRY(config_, kube::load_config(options_.config));
  MS_TRY(connection_, open_connection(Loop::kControl));
  kube::Client::Options client = connection_->client;
  count_attempts(client, metrics_);
  client_.emplace(*connection_->transport, loop_.clock(), random_, std::move(client));

  Manager::Options manager;
  manager.name = options_.name;
  manager.instance = host_name();
  manager.namespaces = options_.namespaces;
  manager.log = log_;
  manager.metrics = &metrics_;
  manager.health = &health_;
  if (options_.leader_elect) {
    LeaderElector::Options leader;
    leader.ns = options_.leader_namespace.empty() ? config_->ns : options_.leader_namespace;
    leader.name = options_.name;
    leader.identity = fmt::format("{}_{:016x}", host_name(), random_.next());
    manager.leader = std::move(leader);
  }
  manager_.emplace(loop_, *client_, random_, std::move(manager));
  return {};
}

Result<kube::Connection> Process::open_connection(Loop loop) {
  net::Executor& executor = loop == Loop::kControl ? loop_ : serving_.loop();
  net::Network& network = loop == Loop::kControl ? *network_ : serving_.network();
  return kube::connect(*config_,
                       {executor, network, environment(), options_.name, log_, &metrics_});
}

Result<void> Process::serve() {
  if (!options_.health_address.empty()) {
    MS_TRY(const net::Endpoint at, net::Endpoint::parse(options_.health_address));
    http::Router router;
    add_health_pages(router, health_);
    MS_CHECK(serving_.listen("health", at, std::move(router)));
  }
  if (options_.metrics_address.empty()) return {};
  if (options_.metrics_secure) {
    MS_TRY(auto made, open_connection(Loop::kServing));
    access_ = std::make_unique<Access>(std::move(made), serving_.loop().clock());
  }
  MS_TRY(const net::Endpoint at, net::Endpoint::parse(options_.metrics_address));
  http::Router router;
  add_metrics_page(router, metrics_, access_ ? &access_->auth : nullptr);
  MS_CHECK(serving_.listen("metrics", at, std::move(router)));
  return {};
}

int Process::run() {
  serving_.start();
  net::CancelScope stop;
  Result<void> ended;
  {
    net::TaskGroup beside(loop_);
    beside.spawn(obey_signals(&stop));
    ended = loop_.run(manager_->run(), &stop);
  }
  if (!ended) log_.error("stopped", {{"error", ended.error()}});
  // After a failure nothing may act on what is known, so there is nobody to wait for.
  serving_.stop(ended ? seconds(5) : seconds(0));
  return ended ? 0 : 1;
}

Task<Result<void>> Process::obey_signals(net::CancelScope* stop) {
  net::Signals signals(loop_, {SIGTERM, SIGINT});
  MS_CO_TRY(const int first, co_await signals.next());
  log_.info("stopping", {{"signal", first}});
  stop->cancel();
  MS_CO_CHECK(co_await signals.next());
  log_.warn("stopping at once: asked twice");
  loop_.stop();
  co_return Result<void>();
}

}  // namespace mainspring::control
