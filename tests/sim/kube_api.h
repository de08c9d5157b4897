// tests/sim/kube_api.h
//
// An API server in memory, spoken to like the real one: KubeApi is an http::Transport, so our own
// client, reflectors and controllers run against it unchanged, in virtual time. What it answers is
// what kube-apiserver answers; tests/real/kube_test.py runs the same random calls on both
// and compares.
//
//   net::VirtualExecutor executor;
//   sim::KubeApi api(executor, {.seed = 7});
//   api.add_namespace("slurm");
//   kube::Client client(api, executor.clock(), random, {.server =
//   *http::Url::parse("https://sim")});
//
// It contains, beside the server, what every cluster's controllers do to any object: garbage
// collection by owner and the emptying of namespaces. There is no kubelet, no scheduler and no
// controller for any built-in kind: a simulation plays those parts. Lives on one loop; must outlive
// the calls and watches made through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "http/transport.h"
#include "net/executor.h"
#include "sim/garbage.h"
#include "sim/kinds.h"
#include "sim/registry.h"
#include "sim/storage.h"

namespace mainspring::sim {

class KubeApi final : public http::Transport {
 public:
  struct Options {
    std::uint64_t seed = 1;
    // Before each answer.
    Duration latency = milliseconds(1);
    // How long after a change the garbage collector looks.
    Duration garbage_delay = milliseconds(100);
    Duration bookmark_every = minutes(1);
    // The `spec` of a SubjectAccessReview; unset: everything is allowed.
    std::function<bool(const json::Value& spec)> authorize;
    // The `status` of a TokenReview; unset: every token is the user "sim".
    std::function<json::Value(std::string_view token)> authenticate;
  };

  KubeApi(net::Executor& executor, Options options);
  KubeApi(const KubeApi&) = delete;
  KubeApi& operator=(const KubeApi&) = delete;

  http::Task<Result<http::Response>> send(http::Request request) override;
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override;
  // There is nothing to connect to: no pod runs.
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override;

  // The answer at once, for those who set the scene.
  http::Response answer(const http::Request& request);
  // Creates an object of any kind that is served, where its metadata says.
  Result<Object> add(json::Value object);
  Result<Object> add_namespace(std::string_view name);
  // Null where there is none.
  Object find(const kube::Resource& resource, std::string_view ns, std::string_view name) const;

  // Kubernetes 1.`minor`, which before 1.35 takes no labels with a binding.
  void set_minor(int minor) { minor_ = minor; }

  // Every watch breaks off, as when the server restarts.
  void drop_watches();
  // Nobody can begin at a version before now: watches and pages from there are 410.
  void compact() { storage_.compact(storage_.version()); }

  Storage& storage() { return storage_; }
  Registry& registry() { return registry_; }
  const Kinds& kinds() const { return kinds_; }

 private:
  struct Target;

  Result<Target> resolve(const http::Request& request) const;
  Result<http::Response> handle(const http::Request& request);
  Result<http::Response> handle_collection(const Target& target, const http::Request& request);
  Result<http::Response> handle_object(const Target& target, const http::Request& request);
  Result<http::Response> handle_subresource(const Target& target, const http::Request& request);
  Result<http::Response> handle_scale(const Target& target, const http::Request& request);
  Result<http::Response> bind(const Target& target, const json::Value& binding);
  Result<http::Response> evict(const Target& target, const json::Value& eviction);
  Result<http::Response> review(const Kind& kind, json::Value object) const;
  Result<http::Response> patch(const Target& target, const http::Request& request);
  Result<http::Response> remove(const Target& target, const http::Request& request);
  Result<http::Response> remove_all(const Target& target, const http::Request& request);
  Result<std::unique_ptr<http::StreamingResponse>> watch(const Target& target,
                                                         const http::Request& request);
  void note(const Change& change);

  net::Executor& executor_;
  Options options_;
  Random random_;
  Storage storage_;
  Kinds kinds_;
  Registry registry_;
  Garbage garbage_;
  std::uint64_t epoch_ = 0;
  int minor_ = 36;
};

}  // namespace mainspring::sim
