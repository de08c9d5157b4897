#include "operator/sync/slurm_client_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"

namespace mainspring::op {

using control::Key;
using control::Requeue;

SlurmClientSync::SlurmClientSync(World& world) : world_(world) {
  watch(world_.manager.add({.name = "slurmclient",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = 1}));
}

void SlurmClientSync::watch(control::Controller& queue) {
  using control::Controller;
  queue.watch(world_.controllers);
  queue.watch<api::RestApi>(world_.restapis,
                            [](const auto& before, const auto& after, Controller& to) {
                              for (const auto* one : {before.get(), after.get()}) {
                                if (one != nullptr)
                                  to.enqueue(Key(one->meta.ns, one->spec.controller_ref.name));
                              }
                            });
  queue.watch<kube::Service>(
      world_.services, [this](const auto& before, const auto& after, Controller& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        if (meta.labels.find(api::label::kName) != api::app::kRestApi) return;
        const auto instance = meta.labels.find(api::label::kInstance);
        const auto restapi = instance ? world_.restapis.get(meta.ns, *instance) : nullptr;
        if (restapi) to.enqueue(Key(meta.ns, restapi->spec.controller_ref.name));
      });
  queue.watch<kube::SecretObject>(
      world_.secrets, [this](const auto& before, const auto& after, Controller& to) {
        const KeyView secret = (after ? after : before)->meta.key();
        for (const auto& controller : world_.controllers_using("Secret", secret)) {
          to.enqueue(controller->meta.key());
        }
      });
}

std::string SlurmClientSync::address_of(const api::Controller& controller) const {
  const std::string key = fmt::format("{}/{}", controller.meta.ns, controller.meta.name);
  if (const auto it = world_.options.rest_urls.find(key); it != world_.options.rest_urls.end()) {
    return it->second;
  }
  const auto& all = world_.restapis_of(controller.meta.key());
  const auto oldest = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a->meta.created, a->meta.name) < std::tie(b->meta.created, b->meta.name);
  });
  if (oldest == all.end()) return {};
  const std::string name = api::restapi_name((*oldest)->meta.name);
  const auto service = world_.services.get(controller.meta.ns, name);
  if (!service || service->ports.empty()) return {};
  const auto port = std::find_if(service->ports.begin(), service->ports.end(),
                                 [](const auto& one) { return one.name == "slurmrestd"; });
  const int number = (port == service->ports.end() ? *service->ports.begin() : *port).port;
  // By its address: no DNS has to work for a worker to be drained.
  const std::string_view ip = service->cluster_ip;
  if (ip.empty() || ip == "None")
    return fmt::format("http://{}.{}:{}", name, controller.meta.ns, number);
  if (ip.find(':') != std::string_view::npos) return fmt::format("http://[{}]:{}", ip, number);
  return fmt::format("http://{}:{}", ip, number);
}

net::Task<Result<Requeue>> SlurmClientSync::reconcile(Key key) {
  const auto controller = world_.controllers.get(key.view());
  const std::string id = key.to_string();
  const api::KeyRef* const ref = controller ? api::jwt_key_of(controller->spec) : nullptr;
  const auto secret = ref != nullptr ? world_.secrets.get(key.ns, ref->name) : nullptr;
  const Secret* const jwt = secret ? secret->find(ref->key) : nullptr;
  std::string url = controller ? address_of(*controller) : "";
  if (jwt == nullptr || url.empty()) {
    keys_.erase(id);
    world_.slurm.remove(key.view());
    co_return Requeue{};
  }
  const Sha256Digest digest = sha256(jwt->reveal() + "\n" + url);
  if (const auto it = keys_.find(id); it != keys_.end() && it->second == digest) {
    co_return Requeue{};
  }
  keys_[id] = digest;
  world_.slurm.set(key.view(), std::move(url), slurm::minted_tokens(*jwt, world_.clock));
  co_return Requeue{};
}

}  // namespace mainspring::op
