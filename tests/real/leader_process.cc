// One of several processes of which only the leader may write. While it leads it writes its name
// into a ConfigMap again and again, through a client that the lease guards. kube_test.py starts
// several, stops, continues and kills them, and reads from the API server's own history that no two
// of them wrote by turns.
//
// Its lease lasts so long that an honest leader keeps it beside the other tests of a busy
// machine.
//
//   leader_process IDENTITY NAMESPACE
#include <fmt/core.h>

#include "control/leader.h"
#include "kube_fixture.h"
#include "net/signals.h"
#include "net/task_group.h"

namespace mainspring {
namespace {

using net::Task;

Task<Result<void>> write_always(kube::Client* client, std::string ns, std::string identity) {
  const kube::Api<kube::ConfigMap> api(*client, ns);
  for (int i = 0;; ++i) {
    json::Value object;
    object["metadata"]["name"] = "log";
    object["data"]["writer"] = identity;
    object["data"]["count"] = std::to_string(i);
    kube::ApplyOptions options;
    options.field_manager = identity;
    const auto written = co_await api.apply(std::move(object), std::move(options));
    if (!written && written.error().code() == Code::kCancelled) co_return fail(written.error());
    MS_CO_CHECK(co_await net::sleep(milliseconds(20)));
  }
}

Task<Result<void>> lead(control::LeaderElector* elector, net::EventLoop* loop, kube::Client* client,
                        std::string ns, std::string identity) {
  MS_CO_CHECK(co_await elector->acquire());
  fmt::print("leading\n");
  std::fflush(stdout);
  net::TaskGroup writers(*loop);
  writers.spawn(write_always(client, std::move(ns), std::move(identity)));
  Result<void> ended = co_await elector->hold();
  if (ended.error().code() != Code::kCancelled) co_return ended;
  writers.cancel();
  static_cast<void>(co_await writers.join());
  co_return co_await elector->release();
}

Task<Result<void>> stop_on_signal(net::EventLoop* loop, net::CancelScope* stop) {
  net::Signals signals(*loop, {SIGTERM});
  MS_CO_CHECK(co_await signals.next());
  stop->cancel();
  co_return Result<void>();
}

int run(const std::string& identity, const std::string& ns) {
  kube::Peer peer;
  control::LeaderElector elector(peer.loop, *peer.client, peer.random,
                                 {.ns = ns,
                                  .name = "leader",
                                  .identity = identity,
                                  .lease_duration = seconds(12),
                                  .renew_deadline = seconds(8),
                                  .retry_period = seconds(1)});
  peer.client->set_may_write([&] { return elector.may_write(); });
  net::CancelScope stop;
  net::TaskGroup signals(peer.loop);
  signals.spawn(stop_on_signal(&peer.loop, &stop));
  const auto ended = peer.loop.run(lead(&elector, &peer.loop, &*peer.client, ns, identity), &stop);
  fmt::print("{}\n", ended ? "released" : ended.error().to_string());
  return ended ? 0 : 1;
}

}  // namespace
}  // namespace mainspring

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: leader_process IDENTITY NAMESPACE\n");
    return 2;
  }
  return mainspring::run(argv[1], argv[2]);
}
