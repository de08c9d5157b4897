// Our side of bench/kube_compare, against the API server that KUBECONFIG names. Each prints lines
// of JSON; those of follow are what bench/informer prints for client-go.
//
//   kube_client pods COUNT             a list of pods, for `informer serve`
//   kube_client load COUNT             creates pods that stay pending, in the namespace "bench"
//   kube_client follow [UPDATES]       fills a store with all pods, then counts updates
//   kube_client rest SECONDS           ten reflectors with nothing to do
//   kube_client apply|raw COUNT NAME   applies ConfigMaps (bench/kube_apply.h)
#include <charconv>
#include <tuple>

#include "control/reflector.h"
#include "json_samples.h"
#include "kube/apps.h"
#include "kube/batch.h"
#include "kube/controller_revision.h"
#include "kube/core_objects.h"
#include "kube/dynamic.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/policy.h"
#include "kube/storage.h"
#include "kube_apply.h"
#include "kube_process.h"
#include "net/notify.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::bench {
namespace {

using net::Task;

constexpr std::string_view kNamespace = "bench";
constexpr std::string_view kUpdateAnnotation = "bench.mainspring.dev/update";
constexpr std::size_t kInFlight = 32;
constexpr Duration kSyncLimit = minutes(5);
constexpr Duration kSettle = seconds(1);
// Without an update for this long, those that are missing will not come.
constexpr Duration kSilenceLimit = seconds(10);

// A pod as a user would write it: nothing that the server or the kubelet adds, no owner that the
// garbage collector would miss, and a scheduler that does not exist.
json::Value pending_pod(int i) {
  std::string text;
  append_pod_metadata(text, i);
  append_pod_spec(text, i);
  text.back() = '}';
  json::Value pod = must(json::parse(text));
  pod["metadata"]["namespace"] = kNamespace;
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "managedFields",
                          "generateName", "ownerReferences"}) {
    pod["metadata"].erase(key);
  }
  for (const char* key : {"nodeName", "priority", "preemptionPolicy"}) pod["spec"].erase(key);
  pod["spec"]["schedulerName"] = "nobody";
  return pod;
}

Task<Result<void>> create_some(kube::RawApi pods, int* next, int count) {
  while (*next < count) {
    const int i = (*next)++;
    MS_CO_CHECK(co_await pods.create(pending_pod(i), {}));
  }
  co_return Result<void>();
}

// A pod can be created only when its namespace has its service account.
Task<Result<void>> make_namespace(kube::Client* client) {
  json::Value ns;
  ns["metadata"]["name"] = kNamespace;
  MS_CO_CHECK(co_await kube::Api<kube::Namespace>(*client).apply(ns));
  const kube::Api<kube::Dynamic> accounts(
      *client, {"", "v1", "serviceaccounts", "ServiceAccount", true}, std::string(kNamespace));
  for (int attempt = 0;; ++attempt) {
    const auto account = co_await accounts.get("default");
    if (account) co_return Result<void>();
    if (account.error().code() != Code::kNotFound || attempt == 300) {
      co_return fail(account.error());
    }
    MS_CO_CHECK(co_await net::sleep(milliseconds(100)));
  }
}

Task<Result<void>> create_all(Process* process, int count) {
  MS_CO_CHECK(co_await make_namespace(&process->client));
  const kube::Api<kube::Pod> pods(process->client, std::string(kNamespace));
  net::TaskGroup group(process->loop);
  int next = 0;
  for (std::size_t lane = 0; lane < kInFlight; ++lane) {
    group.spawn(create_some(pods.raw(), &next, count));
  }
  MS_CO_CHECK(co_await group.join());
  MS_CO_TRY(const std::string page, co_await pods.raw().list({.limit = 100}));
  json::Value line;
  line["bytes"] = page.size() / static_cast<std::size_t>(std::min(count, 100));
  print_line(line);
  co_return Result<void>();
}

struct Following {
  Store<kube::Pod> store;
  net::Notify synced;
  std::int64_t updates = 0;
};

Task<Result<void>> wait_for_updates(const Following* following, std::int64_t updates,
                                    const Clock* clock) {
  std::int64_t last = -1;
  TimePoint changed = clock->now();
  while (following->updates < updates && clock->now() - changed < kSilenceLimit) {
    if (std::exchange(last, following->updates) != following->updates) changed = clock->now();
    MS_CO_CHECK(co_await net::sleep(milliseconds(20)));
  }
  co_return Result<void>();
}

json::Value what_was_seen(const Following& following, double cpu_before) {
  json::Value line;
  line["updates"] = following.updates;
  line["cpu"] = cpu_seconds() - cpu_before;
  std::int64_t sum = 0;
  following.store.for_each([&sum](const std::shared_ptr<const kube::Pod>& pod) {
    const std::string_view text = pod->meta.annotations.find(kUpdateAnnotation).value_or("");
    std::int64_t update = 0;
    std::from_chars(text.data(), text.data() + text.size(), update);
    sum += update;
  });
  line["sum"] = sum;
  line["resident"] = memory("VmRSS:");
  return line;
}

Task<Result<void>> follow(Process* process, std::int64_t updates) {
  Following following;
  following.store.add_handler([&following](const auto& before, const auto&) {
    if (before) ++following.updates;
  });
  double cpu_at_sync = 0;
  following.store.on_synced([&following, &cpu_at_sync] {
    cpu_at_sync = cpu_seconds();
    following.synced.notify_all();
  });
  control::Reflector<kube::Pod> reflector(kube::Api<kube::Pod>(process->client), following.store,
                                          {});
  net::TaskGroup group(process->loop);
  group.spawn(reflector.run());
  MS_CO_CHECK(co_await net::with_timeout(kSyncLimit, "the first list", following.synced.wait()));
  MS_CO_CHECK(co_await net::sleep(kSettle));
  json::Value line;
  line["objects"] = following.store.size();
  line["cpu"] = cpu_at_sync;
  line["resident"] = memory("VmRSS:");
  line["peak"] = memory("VmHWM:");
  print_line(line);
  if (updates > 0) {
    const double before = cpu_seconds();
    MS_CO_CHECK(co_await wait_for_updates(&following, updates, &process->loop.clock()));
    print_line(what_was_seen(following, before));
  }
  co_return Result<void>();
}

// A store and what fills it.
template <class T>
struct Mirror {
  explicit Mirror(kube::Client& client) : reflector(kube::Api<T>(client), store, {}) {}
  Store<T> store;
  control::Reflector<T> reflector;
};

template <class... T>
struct Mirrors {
  explicit Mirrors(kube::Client& client) : all((static_cast<void>(sizeof(T)), client)...) {}
  std::tuple<Mirror<T>...> all;

  bool synced() const {
    return std::apply([](const auto&... one) { return (one.store.synced() && ...); }, all);
  }
  void spawn(net::TaskGroup& group) {
    std::apply([&group](auto&... one) { (group.spawn(one.reflector.run()), ...); }, all);
  }
};

using TenKinds = Mirrors<kube::Pod, kube::Node, kube::Namespace, kube::ConfigMap,
                         kube::SecretObject, kube::Service, kube::StatefulSet,
                         kube::ControllerRevision, kube::Job, kube::PersistentVolumeClaim>;

Task<Result<void>> rest(Process* process, Duration time) {
  TenKinds kinds(process->client);
  net::TaskGroup group(process->loop);
  kinds.spawn(group);
  for (int attempt = 0; !kinds.synced(); ++attempt) {
    if (attempt == 600) co_return fail(Code::kTimeout, "the ten stores are not filled after 60 s");
    MS_CO_CHECK(co_await net::sleep(milliseconds(100)));
  }
  MS_CO_CHECK(co_await net::sleep(seconds(5)));
  const double before = cpu_seconds();
  MS_CO_CHECK(co_await net::sleep(time));
  json::Value line;
  line["cpu_percent"] =
      100 * (cpu_seconds() - before) / std::chrono::duration<double>(time).count();
  line["resident"] = memory("VmRSS:");
  print_line(line);
  co_return Result<void>();
}

int run(const std::vector<std::string>& arguments) {
  const auto number = [&arguments](std::size_t i) {
    return i < arguments.size() ? std::atoi(arguments[i].c_str()) : 0;
  };
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "pods") return std::fputs(pod_list(number(1)).c_str(), stdout) < 0 ? 1 : 0;
  Process process;
  if (verb == "load") {
    must(process.loop.run(create_all(&process, number(1))));
  } else if (verb == "follow") {
    must(process.loop.run(follow(&process, number(1))));
  } else if (verb == "rest") {
    must(process.loop.run(rest(&process, seconds(number(1)))));
  } else if ((verb == "apply" || verb == "raw") && arguments.size() == 3) {
    apply_config_maps(process, verb == "raw", number(1), arguments[2]);
  } else {
    std::fputs("kube_client: pods|load|follow|rest|apply|raw, see kube_client.cc\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mainspring::bench

int main(int argc, char** argv) {
  return mainspring::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
