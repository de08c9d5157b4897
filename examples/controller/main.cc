// A controller of one's own: in every namespace with the label example.com/team it keeps a
// ConfigMap "about" that names the team, whoever edits or deletes it. docs/controller-runtime.md
// explains it.
#include <cstdio>

#include "control/applier.h"
#include "control/process.h"
#include "kube/core_objects.h"

using namespace mainspring;
using control::ApplyRequest;
using control::Requeue;
using kube::ConfigMap;
using kube::Namespace;

constexpr std::string_view kLabel = "example.com/team";

struct About {
  Store<Namespace>& namespaces;
  Store<ConfigMap>& config_maps;
  control::Applier applier;

  net::Task<Result<Requeue>> reconcile(control::Key key) {
    const auto ns = namespaces.get(key.view());
    if (!ns || ns->meta.deleting()) co_return Requeue{};  // What is in it goes with it.
    const auto team = ns->meta.labels.find(kLabel);
    if (!team) co_return Requeue{};

    ApplyRequest wanted{.resource = ConfigMap::kResource};
    wanted.desired["metadata"]["name"] = "about";
    wanted.desired["metadata"]["namespace"] = key.name;
    wanted.desired["data"]["team"] = *team;
    if (const auto live = config_maps.get(key.name, "about")) wanted.seen = live->meta;
    MS_CO_CHECK(co_await applier.apply(std::move(wanted)));
    co_return Requeue{};
  }
};

int main() {
  auto process = control::Process::make({.name = "example.com-about", .leader_elect = true});
  if (!process) {
    std::fprintf(stderr, "%s\n", process.error().to_string().c_str());
    return 1;
  }
  control::Manager& manager = (*process)->manager();
  About about{manager.store<Namespace>(), manager.store<ConfigMap>(),
              control::Applier(manager.client(), {.field_manager = "about"})};

  control::Controller& controller = manager.add(
      {.name = "about", .reconcile = [&](control::Key key) { return about.reconcile(key); }});
  controller.watch(about.namespaces);
  controller.watch<ConfigMap>(about.config_maps,
                              [](const auto& before, const auto& after, auto& c) {
                                const kube::Meta& meta = after ? after->meta : before->meta;
                                if (meta.name == "about") c.enqueue(control::Key("", meta.ns));
                              });
  return (*process)->run();
}
