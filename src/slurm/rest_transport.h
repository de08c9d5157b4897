// slurm/rest_transport.h
//
// The way to slurmrestd: https with the authorities that the site names, and the proxies of its
// environment (http/proxy.h). One a process, made by main, for every cluster that it speaks to;
// lives on the control loop. Connects to nothing by itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "http/client.h"

namespace mainspring::slurm {

struct RestTransportOptions {
  // Both must outlive the transport.
  net::Executor& executor;
  net::Network& network;
  // PEM, of those who may vouch for slurmrestd; read again when it changes. "": those that the
  // machine trusts.
  std::string ca_file = {};
  // Asked for names of environment variables; unset: no proxies.
  std::function<std::optional<std::string>(std::string_view name)> env = {};
  // Told of a file that was replaced and cannot be used.
  Logger log = {};
  Metrics* metrics = nullptr;
};

// kInvalid, or why the file cannot be read.
Result<std::unique_ptr<http::Client>> rest_transport(RestTransportOptions options);

}  // namespace mainspring::slurm
