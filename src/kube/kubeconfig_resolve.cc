#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "http/proxy.h"
#include "kube/kubeconfig.h"

namespace mainspring::kube {
namespace {

template <class T>
const Named<T>* find(const std::vector<Named<T>>& entries, std::string_view name) {
  for (const Named<T>& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

template <class T>
std::string names(const std::vector<Named<T>>& entries) {
  // Enough to choose from; a fleet's file has hundreds.
  constexpr std::size_t kMost = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(entries.size(), kMost); ++i) {
    list += (i == 0 ? "" : ", ") + mainspring::quoted(entries[i].name);
  }
  return entries.size() > kMost ? list + ", ..." : list;
}

tl::unexpected<Error> refuse(std::string_view file, std::string message) {
  return fail(
      Error(Code::kInvalid, std::move(message)).with_context(fmt::format("kubeconfig {}", file)));
}

// "users[b].user", the way errors name a place.
template <class T>
std::string place(std::string_view list, const Named<T>& entry, std::string_view field) {
  return fmt::format("{}[{}].{}", list, entry.name, field);
}

// The bytes of a *-data field. Go's reader of these skips line breaks.
Result<Secret> decode_data(std::string_view file, const std::string& field, std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  auto bytes = base64_decode(text);
  if (!bytes) {
    return refuse(file, fmt::format("{}: {}: give the PEM text encoded in base64", field,
                                    bytes.error().message()));
  }
  return Secret(*std::move(bytes));
}

// FIELD (a path) or FIELD-data (the content).
Result<Pem> read_pem(std::string_view file, const std::string& field, const std::string& path,
                     const std::string& data) {
  if (!path.empty() && !data.empty()) {
    return refuse(file, fmt::format("{0} and {0}-data are both set: keep one", field));
  }
  Pem pem;
  pem.file = path;
  if (!data.empty()) {
    MS_TRY(pem.text, decode_data(file, field + "-data", data));
  }
  return pem;
}

const Named<KubeconfigContext>* choose_context(const Kubeconfig& from, std::string_view wanted) {
  return find(from.contexts, wanted.empty() ? std::string_view(from.current_context) : wanted);
}

Error no_context(const Kubeconfig& from, std::string_view wanted) {
  const std::string name(wanted.empty() ? std::string_view(from.current_context) : wanted);
  std::string message;
  if (from.contexts.empty()) {
    message = "there are no contexts: add one that names a cluster and a user";
  } else if (name.empty()) {
    message = fmt::format("current-context is not set: set it, or ask for one of {}",
                          names(from.contexts));
  } else {
    message = fmt::format("{} {} is not in contexts: use one of {}",
                          wanted.empty() ? "current-context" : "context", mainspring::quoted(name),
                          names(from.contexts));
  }
  return Error(Code::kInvalid, std::move(message)).with_context("kubeconfig " + from.file);
}

template <class T>
Result<const Named<T>*> follow(const Named<KubeconfigContext>& context,
                               const std::vector<Named<T>>& entries, const std::string& name,
                               std::string_view what) {
  if (name.empty()) {
    return refuse(context.file,
                  fmt::format("context {} names no {}: set contexts[{}].context.{}",
                              mainspring::quoted(context.name), what, context.name, what));
  }
  if (const Named<T>* entry = find(entries, name)) return entry;
  return refuse(context.file,
                fmt::format("context {} names {} {}, which is not in {}s: add it or change "
                            "contexts[{}].context.{}",
                            mainspring::quoted(context.name), what, mainspring::quoted(name), what,
                            context.name, what));
}

Result<http::Url> read_server(const Named<KubeconfigCluster>& entry) {
  const KubeconfigCluster& cluster = entry.value;
  const std::string field = place("clusters", entry, "cluster.server");
  if (cluster.server.empty()) {
    return refuse(entry.file, field + " is not set: give the API server's URL");
  }
  std::string text = cluster.server;
  if (text.find("://") == std::string::npos) {
    const bool tls =
        !cluster.ca_file.empty() || !cluster.ca_data.empty() || cluster.insecure_skip_tls_verify;
    text.insert(0, tls ? "https://" : "http://");
  }
  auto url = http::Url::parse(text);
  if (!url) return refuse(entry.file, fmt::format("{}: {}", field, url.error().message()));
  if (!url->query.empty()) return refuse(entry.file, field + " has a query: remove it");
  while (url->path.size() > 1 && url->path.back() == '/') url->path.pop_back();
  return url;
}

Result<void> apply_cluster(const Named<KubeconfigCluster>& entry, Config& config) {
  const KubeconfigCluster& cluster = entry.value;
  MS_TRY(config.server, read_server(entry));
  MS_TRY(config.ca, read_pem(entry.file, place("clusters", entry, "cluster.certificate-authority"),
                             cluster.ca_file, cluster.ca_data));
  config.insecure_skip_tls_verify = cluster.insecure_skip_tls_verify;
  config.tls_server_name = cluster.tls_server_name;
  if (cluster.insecure_skip_tls_verify && !config.ca.empty()) {
    return refuse(entry.file,
                  place("clusters", entry, "cluster") +
                      " has insecure-skip-tls-verify and a certificate authority: keep one");
  }
  if (!cluster.proxy_url.empty() &&
      !http::ProxyServer::parse(cluster.proxy_url.reveal()).has_value()) {
    // Its own error would repeat the text, and with it a password.
    return refuse(entry.file, place("clusters", entry, "cluster.proxy-url") +
                                  " cannot be used: give http://host:port or https://host:port");
  }
  config.proxy_url = cluster.proxy_url;
  return {};
}

Result<void> apply_client_cert(const Named<KubeconfigUser>& entry, Config& config) {
  const KubeconfigUser& user = entry.value;
  MS_TRY(config.client_cert, read_pem(entry.file, place("users", entry, "user.client-certificate"),
                                      user.cert_file, user.cert_data));
  MS_TRY(config.client_key, read_pem(entry.file, place("users", entry, "user.client-key"),
                                     user.key_file, user.key_data.reveal()));
  if (config.client_cert.empty() != config.client_key.empty()) {
    return refuse(entry.file, fmt::format("{} has a client {} without a client {}: give both",
                                          place("users", entry, "user"),
                                          config.client_key.empty() ? "certificate" : "key",
                                          config.client_key.empty() ? "key" : "certificate"));
  }
  return {};
}

Result<ExecPlugin> read_exec(const Named<KubeconfigUser>& entry, const json::Value& extension) {
  const KubeconfigExec& exec = *entry.value.exec;
  const std::string field = place("users", entry, "user.exec");
  if (exec.plugin.command.empty()) {
    return refuse(entry.file, field + ".command is not set: name the program to run");
  }
  if (exec.plugin.api_version != "client.authentication.k8s.io/v1" &&
      exec.plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return refuse(entry.file, fmt::format("{}.apiVersion {} is not known: use "
                                          "client.authentication.k8s.io/v1 or .../v1beta1",
                                          field, mainspring::quoted(exec.plugin.api_version)));
  }
  if (exec.interactive_mode == "Always") {
    return refuse(entry.file, field +
                                  ".interactiveMode is Always, and there is no terminal here: use "
                                  "IfAvailable or Never, or another way to authenticate");
  }
  if (!exec.interactive_mode.empty() && exec.interactive_mode != "Never" &&
      exec.interactive_mode != "IfAvailable") {
    return refuse(entry.file, fmt::format("{}.interactiveMode {} is not known: use Never or "
                                          "IfAvailable",
                                          field, mainspring::quoted(exec.interactive_mode)));
  }
  for (const auto& [name, value] : exec.plugin.env) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return refuse(entry.file, fmt::format("{}.env: {} is no name of a variable", field,
                                            mainspring::quoted(name)));
    }
  }
  ExecPlugin plugin = exec.plugin;
  plugin.cluster_config = extension;
  return plugin;
}

Result<void> apply_user(const Named<KubeconfigUser>& entry, const json::Value& exec_extension,
                        Config& config) {
  const KubeconfigUser& user = entry.value;
  const std::string field = place("users", entry, "user");
  if (user.has_auth_provider) {
    return refuse(entry.file,
                  field + ".auth-provider was removed from Kubernetes in 1.26: use exec");
  }
  const bool token = !user.token.empty() || !user.token_file.empty();
  const bool basic = !user.username.empty() || !user.password.empty();
  if (int{token} + int{basic} + int{user.exec.has_value()} > 1) {
    return refuse(entry.file,
                  field + " has more than one of token, username and exec: keep one of them");
  }
  MS_CHECK(apply_client_cert(entry, config));
  config.token = user.token;
  config.token_file = user.token_file;
  config.username = user.username;
  config.password = user.password;
  if (user.exec) {
    MS_TRY(config.exec, read_exec(entry, exec_extension));
  }
  const Impersonation& who = user.impersonate;
  if (who.user.empty() && (!who.uid.empty() || !who.groups.empty() || !who.extra.empty())) {
    return refuse(entry.file, field + " has as-uid, as-groups or as-user-extra without as: set as");
  }
  config.impersonate = who;
  return {};
}

}  // namespace

Result<Config> resolve_kubeconfig(const Kubeconfig& kubeconfig, std::string_view context) {
  const Named<KubeconfigContext>* chosen = choose_context(kubeconfig, context);
  if (chosen == nullptr) return fail(no_context(kubeconfig, context));
  MS_TRY(const Named<KubeconfigCluster>* cluster,
         follow(*chosen, kubeconfig.clusters, chosen->value.cluster, "cluster"));
  MS_TRY(const Named<KubeconfigUser>* user,
         follow(*chosen, kubeconfig.users, chosen->value.user, "user"));
  Config config;
  config.origin = "kubeconfig " + kubeconfig.file;
  if (!chosen->value.ns.empty()) config.ns = chosen->value.ns;
  MS_CHECK(apply_cluster(*cluster, config));
  MS_CHECK(apply_user(*user, cluster->value.exec_extension, config));
  return config;
}

}  // namespace mainspring::kube
