#include "bridge_servers.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "control/in_parallel.h"
#include "http/client.h"
#include "kube/pod.h"
#include "kube/pods.h"
#include "slurm/client.h"
#include "slurm/jobs.h"

namespace mainspring::bench {
namespace {

using json::Value;
using net::Task;

constexpr std::string_view kJobName = "bench-servers";
constexpr std::string_view kJobLabel = "scheduler.slinky.slurm.net/slurm-jobid";
constexpr std::string_view kNodeAnnotation = "slinky.slurm.net/slurm-node";

// A client that nothing holds back but the server.
struct SlurmSide {
  explicit SlurmSide(Process& process)
      : governor(process.loop, process.random,
                 {.most_at_once = kBridgeInFlight, .most_per_second = 1e6, .slow_times = 1e6}),
        transport(process.loop, process.network, kept_open()),
        client(transport, process.loop, process.random, governor, options()) {}

  static http::Client::Options kept_open() {
    http::Client::Options made;
    made.pool.max_idle_per_origin = kBridgeInFlight;
    return made;
  }
  static slurm::Client::Options options() {
    slurm::Client::Options made;
    made.server = must(http::Url::parse(from_environment("SLURM_URL").value_or("")));
    made.tokens = slurm::static_token(Secret(from_environment("SLURM_TOKEN").value_or("")));
    return made;
  }

  slurm::Governor governor;
  http::Client transport;
  slurm::Client client;
};

slurm::JobRequest one_core(std::string_view name) {
  slurm::JobRequest job;
  job.name = name;
  job.partition = kBridgePartition;
  job.flags = {std::string(slurm::kExternalJobFlag)};
  job.current_working_directory = "/tmp";
  job.environment = {"A=b"};
  job.nodes = "1";
  job.minimum_nodes = job.maximum_nodes = job.tasks_per_node = job.cpus_per_task = 1;
  job.memory_per_node = 100;
  job.requeue = false;
  return job;
}

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Task<Result<void>> submit(slurm::Client* client, slurm::JobRequest job) {
  MS_CO_CHECK(co_await slurm::Jobs(*client).submit(std::move(job)));
  co_return Result<void>();
}

// Where Slurm put a job for one pod.
struct Allocated {
  std::string job, node;
};

Task<Result<Allocated>> allocate(slurm::Client* client) {
  const slurm::Jobs jobs(*client);
  MS_CO_TRY(const slurm::Submitted made, co_await jobs.allocate_now(one_core(kJobName)));
  MS_CO_TRY(const slurm::Job job, co_await jobs.get(made.job));
  co_return Allocated{std::string(made.job.text()), job.nodes.str()};
}

Task<Result<std::string>> create(kube::RawApi pods, std::string name) {
  MS_CO_TRY(const std::string text, co_await pods.create(bridge_pod(name, "nobody"), {}));
  MS_CO_TRY(const Value made, json::parse(text));
  const Value* const uid = made.at_pointer("/metadata/uid");
  co_return std::string(uid == nullptr ? "" : uid->as_string().value_or(""));
}

// What the bridge writes to a pod before it binds it is a finalizer; nobody would take this off.
Task<Result<void>> mark(kube::RawApi pods, std::string name, std::string uid) {
  Value body = Value::object();
  body["metadata"]["uid"] = uid;
  body["metadata"]["annotations"]["bench.mainspring.dev/marked"] = "true";
  MS_CO_CHECK(co_await pods.patch(name, {kube::PatchKind::kStrategic, std::move(body)}, {}));
  co_return Result<void>();
}

struct Servers {
  Process& process;
  SlurmSide& slurm;
  std::string name;
  bool api = false, jobs = false;

  kube::RawApi pods() const {
    return {process.client, kube::Pod::kResource, std::string(kBridgeNamespace)};
  }
  std::string pod(int number) const { return fmt::format("{}-{}", name, number); }
};

Task<Result<void>> one_pod(const Servers* servers, int number) {
  const std::string pod = servers->pod(number);
  std::string uid;
  Allocated allocated{"1", "k0"};
  if (servers->api) {
    MS_CO_TRY(uid, co_await create(servers->pods(), pod));
  }
  if (servers->jobs) {
    MS_CO_TRY(allocated, co_await allocate(&servers->slurm.client));
  }
  if (!servers->api) co_return Result<void>();
  MS_CO_CHECK(co_await mark(servers->pods(), pod, uid));
  co_return co_await kube::bind_pod(
      &servers->process.client, std::string(kBridgeNamespace), pod, uid, allocated.node,
      {.annotations = {{std::string(kNodeAnnotation), allocated.node}},
       .labels = {{std::string(kJobLabel), allocated.job}}});
}

Task<Result<void>> remove_one(const Servers* servers, int number) {
  MS_CO_CHECK(co_await servers->pods().remove(servers->pod(number), {.grace_seconds = 0}));
  co_return Result<void>();
}

Task<Result<void>> cancel_all(slurm::Client* client) {
  const slurm::Jobs jobs(*client);
  MS_CO_CHECK(co_await jobs.cancel_matching({.job_name = std::string(kJobName)}));
  co_return Result<void>();
}

}  // namespace

Value bridge_pod(const std::string& name, std::string_view scheduler, std::string_view group) {
  Value pod = Value::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
  pod["metadata"]["name"] = name;
  pod["metadata"]["namespace"] = kBridgeNamespace;
  pod["metadata"]["annotations"]["slurmjob.slinky.slurm.net/exclusive"] = "false";
  Value& spec = pod["spec"];
  spec["schedulerName"] = scheduler;
  spec["restartPolicy"] = "Never";
  spec["terminationGracePeriodSeconds"] = 5;
  Value container = Value::object({{"name", "main"}, {"image", "busybox:1"}});
  container["resources"]["requests"] = Value::object({{"cpu", "1"}, {"memory", "100Mi"}});
  spec["containers"].push_back(std::move(container));
  // As the bridge's webhook adds it.
  spec["tolerations"].push_back(Value::object({{"key", "slinky.slurm.net/managed-node"},
                                               {"operator", "Equal"},
                                               {"value", "slurm-bridge-scheduler"},
                                               {"effect", "NoExecute"}}));
  if (!group.empty()) spec["schedulingGroup"]["podGroupName"] = group;
  return pod;
}

void queue_jobs(Process& process, int count) {
  SlurmSide slurm(process);
  slurm::JobRequest job = one_core("bench-queued");
  const auto tomorrow = process.loop.clock().wall_now() + hours(24);
  job.begin_time = std::chrono::duration_cast<seconds>(tomorrow.time_since_epoch()).count();
  must(process.loop.run(control::in_parallel<int>(
      numbers(count), [&](int) { return submit(&slurm.client, job); }, kBridgeInFlight)));
}

void ask_servers(Process& process, std::string_view which, const std::string& name, int count) {
  SlurmSide slurm(process);
  const Servers servers{process, slurm, name, which != "slurm", which != "api"};
  const auto begin = std::chrono::steady_clock::now();
  must(process.loop.run(control::in_parallel<int>(
      numbers(count), [&](int number) { return one_pod(&servers, number); }, kBridgeInFlight)));
  const auto took = std::chrono::steady_clock::now() - begin;
  Value line;
  line["rate"] = count / std::chrono::duration<double>(took).count();
  print_line(line);
  if (servers.jobs) must(process.loop.run(cancel_all(&slurm.client)));
  if (!servers.api) return;
  must(process.loop.run(control::in_parallel<int>(
      numbers(count), [&](int number) { return remove_one(&servers, number); }, kBridgeInFlight)));
}

}  // namespace mainspring::bench
