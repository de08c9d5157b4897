#include "app/slurm_push.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "http/router.h"
#include "slurm/push.h"

namespace mainspring::app {
namespace {

// The serving loop knows nothing of the caches, and they nothing of it.
slurm::OnPush handing_over(net::Executor& control_loop, TellCache tell) {
  const auto shared = std::make_shared<const TellCache>(std::move(tell));
  return [&control_loop, shared](const http::Request& request, slurm::PushedEvent event) {
    ObjectKey cluster(request.parameter("namespace"), request.parameter("name"));
    control_loop.post([shared, cluster = std::move(cluster), event = std::move(event)] {
      (*shared)(cluster.view(), event);
    });
  };
}

}  // namespace

void add_push_flags(CLI::App& command, PushFlags& flags) {
  command
      .add_option("--slurm-push-addr", flags.address,
                  "Where slurmctld's scripts may say that a job started or ended, ':8082' mostly; "
                  "0: nowhere")
      ->capture_default_str();
  command.add_option("--slurm-push-key-file", flags.key_file,
                     "The key that these scripts have; may be replaced. Needed with "
                     "--slurm-push-addr");
}

Result<void> serve_pushes(const PushFlags& flags, control::Process& process, std::string_view path,
                          TellCache tell) {
  if (flags.address == "0") return {};
  if (flags.key_file.empty()) {
    return fail(Code::kInvalid, "--slurm-push-key-file: needed with --slurm-push-addr");
  }
  slurm::PushKey key = slurm::push_key_file(flags.key_file);
  if (key().empty()) {
    return fail(Code::kInvalid, "--slurm-push-key-file " + flags.key_file +
                                    ": is empty or cannot be read; put a long random text there");
  }
  MS_TRY(const net::Endpoint at, net::Endpoint::parse(flags.address));
  http::Router router;
  slurm::add_push_route(router, path, std::move(key),
                        handing_over(process.manager().executor(), std::move(tell)));
  MS_CHECK(process.serving().listen("slurm pushes", at, std::move(router)));
  return {};
}

}  // namespace mainspring::app
