// kube/kubeconfig.h
//
// Kubeconfig files: read, merged by the rules of kubectl, and one context of them made into a
// Config. Pure functions over text; kube/config.h finds and reads the files.
//
// Where kubectl would only fail later, or warn, this refuses at once: every error names the file,
// the field, and what to do about it. No error repeats a token, a password or a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "json/value.h"
#include "kube/config.h"

namespace mainspring::kube {

struct KubeconfigExec {
  ExecPlugin plugin;
  std::string interactive_mode;
};

struct KubeconfigCluster {
  std::string server;
  std::string ca_file;
  std::string ca_data;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  Secret proxy_url;
  json::Value exec_extension;  // client.authentication.k8s.io/exec
};

struct KubeconfigUser {
  std::string cert_file;
  std::string cert_data;
  std::string key_file;
  Secret key_data;
  Secret token;
  std::string token_file;
  std::string username;
  Secret password;
  Impersonation impersonate;
  std::optional<KubeconfigExec> exec;
  bool has_auth_provider = false;
};

struct KubeconfigContext {
  std::string cluster;
  std::string user;
  std::string ns;
};

template <class T>
struct Named {
  std::string name;
  T value;
  std::string file;  // Where it was found.
};

struct Kubeconfig {
  std::string file;  // The one, or a list of them.
  std::string current_context;
  std::vector<Named<KubeconfigCluster>> clusters;
  std::vector<Named<KubeconfigUser>> users;
  std::vector<Named<KubeconfigContext>> contexts;
};

// One file. Paths in it that are relative are made relative to `file`'s folder.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);

// The first file that has a value or an entry of some name wins; entries are never mixed.
Kubeconfig merge_kubeconfigs(std::vector<Kubeconfig> files);

// The context named, or the current one if `context` is empty.
Result<Config> resolve_kubeconfig(const Kubeconfig& kubeconfig, std::string_view context);

}  // namespace mainspring::kube
