#include "slurm/rest_transport.h"

#include <utility>

#include "net/rotating_tls.h"

namespace mainspring::slurm {
namespace {

Result<std::shared_ptr<net::TlsSource>> make_tls(const RestTransportOptions& options,
                                                 const net::TlsClientOptions& rules) {
  if (options.ca_file.empty()) {
    MS_TRY(std::shared_ptr<net::TlsSource> fixed, net::TlsContext::client(rules));
    return fixed;
  }
  net::RotatingTls::Options rotation;
  rotation.files.ca = options.ca_file;
  rotation.clock = &options.executor.clock();
  rotation.log = options.log;
  rotation.metrics = options.metrics;
  MS_TRY(std::shared_ptr<net::TlsSource> rotating,
         net::RotatingTls::client(std::move(rotation), rules));
  return rotating;
}

}  // namespace

Result<std::unique_ptr<http::Client>> rest_transport(RestTransportOptions options) {
  http::Client::Options made;
  MS_TRY(made.tls, make_tls(options, {}));
  // A site's proxy is not slurmrestd: the machine's authorities may vouch for it as well.
  MS_TRY(made.proxy_tls, make_tls(options, {.system_roots = true}));
  if (options.env) {
    MS_TRY(made.proxy, http::ProxyConfig::from_env(options.env));
  }
  return std::make_unique<http::Client>(options.executor, options.network, std::move(made));
}

}  // namespace mainspring::slurm
