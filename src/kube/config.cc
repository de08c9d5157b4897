#include "kube/config.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "kube/kubeconfig.h"
#include "net/small_file.h"

namespace mainspring::kube {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string variable(const ConfigOptions& options, std::string_view name) {
  return options.env ? options.env(name).value_or("") : std::string();
}

// In order of precedence.
std::vector<std::string> kubeconfig_files(const ConfigOptions& options) {
  if (!options.kubeconfig.empty()) return {options.kubeconfig};
  std::vector<std::string> files;
  if (const std::string list = variable(options, "KUBECONFIG"); !list.empty()) {
    for (const std::string_view file : split(list, ':')) {
      if (!file.empty()) files.emplace_back(file);
    }
  } else if (const std::string home = variable(options, "HOME"); !home.empty()) {
    files.push_back(home + "/.kube/config");
  }
  return files;
}

// Those that exist; a file named by hand must.
Result<std::vector<Kubeconfig>> read_kubeconfigs(const ConfigOptions& options,
                                                 const std::vector<std::string>& files) {
  std::vector<Kubeconfig> found;
  for (const std::string& file : files) {
    auto text = net::read_small_file(file);
    if (!text) {
      if (text.error().code() == Code::kNotFound && options.kubeconfig.empty()) continue;
      return fail(std::move(text).error().with_context("kubeconfig"));
    }
    MS_TRY(Kubeconfig kubeconfig, parse_kubeconfig(*text, file));
    found.push_back(std::move(kubeconfig));
  }
  return found;
}

Error nothing_found(const std::vector<std::string>& files) {
  return {Code::kNotFound,
          fmt::format("no kubeconfig and no service account: {} not there and "
                      "KUBERNETES_SERVICE_HOST is not set. Set KUBECONFIG to a kubeconfig file, or "
                      "run in a pod",
                      files.empty() ? "KUBECONFIG and HOME are" : join(files, " and ") + " is")};
}

}  // namespace

Result<Config> load_config(const ConfigOptions& options) {
  const std::vector<std::string> files = kubeconfig_files(options);
  MS_TRY(std::vector<Kubeconfig> found, read_kubeconfigs(options, files));
  if (found.empty()) {
    if (variable(options, "KUBERNETES_SERVICE_HOST").empty()) return fail(nothing_found(files));
    return load_in_cluster_config(options);
  }
  MS_TRY(Config config, resolve_kubeconfig(merge_kubeconfigs(std::move(found)), options.context));
  if (!options.ns.empty()) config.ns = options.ns;
  return config;
}

Result<Config> load_in_cluster_config(const ConfigOptions& options) {
  const std::string host = variable(options, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(options, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Code::kNotFound,
                "this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  const bool ipv6 = host.find(':') != std::string::npos;
  auto server = http::Url::parse(
      fmt::format(fmt::runtime(ipv6 ? "https://[{}]:{}" : "https://{}:{}"), host, port));
  if (!server) {
    return fail(std::move(server).error().with_context(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"));
  }
  const std::string folder = options.root + std::string(kServiceAccount);
  Config config;
  config.origin = "service account " + folder;
  config.server = *std::move(server);
  config.token_file = folder + "token";
  config.ca.file = folder + "ca.crt";
  for (const std::string& file : {config.token_file, config.ca.file}) {
    auto text = net::read_small_file(file);
    if (text) continue;
    return fail(Code::kNotFound,
                fmt::format("service account: {}: mount its token "
                            "(automountServiceAccountToken: true), or set KUBECONFIG",
                            text.error().to_string()));
  }
  if (auto ns = net::read_small_file(folder + "namespace"); ns && !trim(*ns).empty()) {
    config.ns = std::string(trim(*ns));
  }
  if (!options.ns.empty()) config.ns = options.ns;
  return config;
}

}  // namespace mainspring::kube
