#include "slurm/rest_transport.h"

#include <utility>

#include "net/rotating_tls.h"

namespace mainspring::slurm {
namespace {

// Those that the machine trusts are a hundred certificates and a megabyte, which most never need:
// inside a cluster slurmrestd is spoken to without TLS.
class MachineRoots final : public net::TlsSource {
 public:
  explicit MachineRoots(Logger log) : log_(std::move(log)) {}

  std::shared_ptr<const net::TlsContext> current() override {
    if (made_) return made_;
    auto made = net::TlsContext::client({});
    if (made) {
      made_ = *std::move(made);
    } else {
      log_.error("the machine's certificates cannot be used", {{"error", made.error()}});
    }
    return made_;
  }

 private:
  Logger log_;
  std::shared_ptr<const net::TlsContext> made_;
};

Result<std::shared_ptr<net::TlsSource>> make_tls(const RestTransportOptions& options,
                                                 const net::TlsClientOptions& rules) {
  if (options.ca_file.empty()) return std::make_shared<MachineRoots>(options.log);
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
  made.proxy_tls = made.tls;
  if (!options.ca_file.empty()) {
    MS_TRY(made.proxy_tls, make_tls(options, {.system_roots = true}));
  }
  if (options.env) {
    MS_TRY(made.proxy, http::ProxyConfig::from_env(options.env));
  }
  return std::make_unique<http::Client>(options.executor, options.network, std::move(made));
}

}  // namespace mainspring::slurm
