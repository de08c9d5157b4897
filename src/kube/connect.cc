#include "kube/connect.h"

#include <optional>
#include <utility>

#include "base/base64.h"
#include "kube/exec_credentials.h"
#include "kube/token_credentials.h"
#include "net/rotating_tls.h"
#include "net/small_file.h"

namespace mainspring::kube {
namespace {

struct TlsParts {
  net::TlsClientOptions rules;
  net::RotatingTls::Options rotation;

  Result<std::shared_ptr<net::TlsSource>> make() const {
    if (!rotation.files.any()) {
      MS_TRY(std::shared_ptr<net::TlsSource> fixed, net::TlsContext::client(rules));
      return fixed;
    }
    MS_TRY(std::shared_ptr<net::TlsSource> rotating, net::RotatingTls::client(rotation, rules));
    return rotating;
  }
};

// Changes when a plugin gives a new client certificate.
class PluginTls final : public net::TlsSource {
 public:
  PluginTls(TlsParts parts, std::shared_ptr<net::TlsSource> first)
      : parts_(std::move(parts)), now_(std::move(first)) {}

  std::shared_ptr<const net::TlsContext> current() override { return now_->current(); }

  Result<void> use(const std::string& cert_pem, const Secret& key_pem) {
    TlsParts parts = parts_;
    parts.rules.cert_pem = cert_pem;
    parts.rules.key_pem = key_pem.reveal();
    parts.rotation.files.cert.clear();
    parts.rotation.files.key.clear();
    MS_TRY(now_, parts.make());
    return {};
  }

 private:
  TlsParts parts_;
  std::shared_ptr<net::TlsSource> now_;
};

TlsParts tls_parts(const Config& config, const ConnectOptions& options) {
  TlsParts parts;
  parts.rules.ca_pem = config.ca.text.reveal();
  parts.rules.cert_pem = config.client_cert.text.reveal();
  parts.rules.key_pem = config.client_key.text.reveal();
  parts.rules.insecure_skip_verify = config.insecure_skip_tls_verify;
  parts.rotation.files = {config.ca.file, config.client_cert.file, config.client_key.file};
  parts.rotation.clock = &options.executor.clock();
  parts.rotation.log = options.log;
  parts.rotation.metrics = options.metrics;
  return parts;
}

// A proxy is checked against the machine's authorities too, and is shown no client certificate.
Result<std::shared_ptr<net::TlsSource>> proxy_tls(TlsParts parts) {
  parts.rules.system_roots = true;
  parts.rules.cert_pem.clear();
  parts.rules.key_pem.clear();
  parts.rotation.files.cert.clear();
  parts.rotation.files.key.clear();
  return parts.make();
}

std::optional<std::string> find_variable(const std::vector<std::string>& environment,
                                         std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

Result<http::ProxyConfig> choose_proxy(const Config& config,
                                       const std::vector<std::string>& environment) {
  if (config.proxy_url.empty()) {
    return http::ProxyConfig::from_env(
        [&](std::string_view name) { return find_variable(environment, name); });
  }
  MS_TRY(http::ProxyServer proxy, http::ProxyServer::parse(config.proxy_url.reveal()));
  return http::ProxyConfig::always(std::move(proxy));
}

// spec.cluster of what a plugin is told, in the words of its API.
Result<json::Value> cluster_info(const Config& config) {
  if (!config.exec->provide_cluster_info) return json::Value();
  json::Value cluster = json::Value::object({{"server", config.server.to_string()}});
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
  std::string ca = config.ca.text.reveal();
  if (!config.ca.file.empty()) {
    MS_TRY(ca, net::read_small_file(config.ca.file));
  }
  if (!ca.empty()) cluster["certificate-authority-data"] = base64_encode(ca);
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url.reveal();
  if (!config.exec->cluster_config.is_null()) cluster["config"] = config.exec->cluster_config;
  return cluster;
}

Result<std::shared_ptr<Credentials>> exec_credentials(const Config& config, const Clock& clock,
                                                      const std::vector<std::string>& environment,
                                                      std::shared_ptr<PluginTls> tls,
                                                      const std::weak_ptr<http::Client>& client) {
  ExecCredentials::Options options;
  options.plugin = *config.exec;
  MS_TRY(options.cluster, cluster_info(config));
  options.environment = environment;
  options.clock = &clock;
  options.on_certificate = [tls = std::move(tls), client](const std::string& cert_pem,
                                                          const Secret& key_pem) -> Result<void> {
    if (tls) MS_CHECK(tls->use(cert_pem, key_pem));
    // Kept connections still say who we were.
    if (const auto transport = client.lock()) transport->close_idle_connections();
    return {};
  };
  return std::make_shared<ExecCredentials>(std::move(options));
}

// Null where a client certificate, or nothing, says who we are.
Result<std::shared_ptr<Credentials>> plain_credentials(const Config& config, const Clock& clock) {
  if (!config.token_file.empty()) {
    MS_TRY(std::shared_ptr<Credentials> file,
           TokenFile::open({config.token_file, config.token, &clock}));
    return file;
  }
  if (!config.token.empty()) {
    MS_TRY(std::shared_ptr<Credentials> token,
           StaticCredentials::bearer(config.token, "the user's token"));
    return token;
  }
  if (!config.username.empty() || !config.password.empty()) {
    return StaticCredentials::basic(config.username, config.password);
  }
  return nullptr;
}

Result<Connection> connect_as_told(const Config& config, ConnectOptions options) {
  const Clock& clock = options.executor.clock();
  http::Client::Options transport;
  transport.accept_gzip = true;
  transport.user_agent = options.user_agent;
  transport.server_name = config.tls_server_name;
  MS_TRY(transport.proxy, choose_proxy(config, options.environment));
  const TlsParts parts = tls_parts(config, options);
  const http::ProxyServer* proxy = transport.proxy.choose(config.server);
  if (proxy != nullptr && proxy->url.is_https()) {
    MS_TRY(transport.proxy_tls, proxy_tls(parts));
  }
  std::shared_ptr<PluginTls> plugin_tls;
  if (config.server.is_https()) {
    MS_TRY(transport.tls, parts.make());
    if (config.exec) {
      plugin_tls = std::make_shared<PluginTls>(parts, std::move(transport.tls));
      transport.tls = plugin_tls;
    }
  }
  Connection connection;
  connection.transport =
      std::make_shared<http::Client>(options.executor, options.network, std::move(transport));
  connection.client.server = config.server;
  connection.client.impersonate = config.impersonate;
  if (config.exec) {
    MS_TRY(connection.client.credentials,
           exec_credentials(config, clock, options.environment, std::move(plugin_tls),
                            connection.transport));
  } else {
    MS_TRY(connection.client.credentials, plain_credentials(config, clock));
  }
  return connection;
}

}  // namespace

Result<Connection> connect(const Config& config, ConnectOptions options) {
  return with_context(connect_as_told(config, std::move(options)), config.origin);
}

}  // namespace mainspring::kube
