// kube/config.h
//
// Where the API server is and who we are to it, as a plain value, and the ways to come by one: a
// kubeconfig (kube/kubeconfig.h) or the service account of the pod we run in. Read once, by main,
// before the loop starts. Opens no connection and runs no plugin: that is kube/connect.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "http/url.h"
#include "json/value.h"
#include "kube/client.h"

namespace mainspring::kube {

// A certificate or key: as text, or in a file that may change while we run. Both empty: none.
struct Pem {
  Secret text;
  std::string file;

  bool empty() const { return text.empty() && file.empty(); }
};

// A program that tells who we are:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
struct ExecPlugin {
  std::string command;  // A path, or a name to look for in PATH.
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
  // Whether it is told about the cluster, and what the cluster's entry has for it.
  bool provide_cluster_info = false;
  json::Value cluster_config;
};

struct Config {
  // What it was read from, for messages: "kubeconfig /home/a/.kube/config", "service account".
  std::string origin;
  http::Url server;
  std::string ns = "default";

  Pem ca;  // Empty: what the machine trusts.
  Pem client_cert;
  Pem client_key;
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  Secret proxy_url;  // It may hold a password. Empty: what the environment says.

  // At most one way of these; none where a client certificate says it all. A token file that can be
  // read wins over the token.
  Secret token;
  std::string token_file;
  std::string username;
  Secret password;
  std::optional<ExecPlugin> exec;

  Impersonation impersonate;
};

// Environment variables by name; nullopt where unset.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

struct ConfigOptions {
  Environment env;
  // This file alone, which must exist, instead of what KUBECONFIG names. "--kubeconfig"
  std::string kubeconfig;
  // Instead of the current context and of the namespace found. "--context", "--namespace"
  std::string context;
  std::string ns;
  // Where /var/run/secrets is. For tests.
  std::string root;
};

// As kubectl chooses: the kubeconfig given, else those that KUBECONFIG names, else ~/.kube/config;
// where none of these exists, the service account of the pod.
Result<Config> load_config(const ConfigOptions& options);

// The service account alone. kNotFound outside of a pod.
Result<Config> load_in_cluster_config(const ConfigOptions& options);

}  // namespace mainspring::kube
