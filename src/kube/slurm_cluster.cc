#include "kube/slurm_cluster.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "http/url.h"

namespace mainspring::kube {

SlurmAccess SlurmAccess::none(std::string_view reason, std::string message) {
  SlurmAccess out;
  out.reason = reason;
  out.message = std::move(message);
  return out;
}

SlurmAccess slurm_access(const SlurmCluster& cluster, const SecretObject* secret) {
  const Secret* const found = secret != nullptr ? secret->find(SlurmCluster::kTokenKey) : nullptr;
  Secret token(found != nullptr ? std::string(trim(found->reveal())) : std::string());
  if (token.empty()) {
    const std::string_view what = secret == nullptr  ? "is not there"
                                  : found == nullptr ? "lacks this key"
                                                     : "has nothing under this key";
    return SlurmAccess::none(
        "SecretMissing",
        fmt::format("spec.token.secretRef: the Secret {} with the key {} is needed, and "
                    "{}",
                    cluster.token_secret, SlurmCluster::kTokenKey, what));
  }
  if (!http::Url::parse(cluster.server)) {
    return SlurmAccess::none(
        "InvalidServer",
        fmt::format("spec.server: {} is not the URL of a slurmrestd", cluster.server));
  }
  SlurmAccess out;
  out.server = cluster.server;
  out.token = std::move(token);
  return out;
}

}  // namespace mainspring::kube
