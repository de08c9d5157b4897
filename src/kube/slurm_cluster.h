// kube/slurm_cluster.h
//
// How a Slurm is reached that is known by a Cluster (slinky.slurm.net/v1alpha1): the spec of that
// kind, and what follows from it and the Secret that it names. Values. Here, and not with our other
// kinds in `api`, because the bridge reads it as well as the operator. Who checks whether that
// Slurm answers, and shows it in the status, is the operator alone.
#pragma once

#include <string>
#include <string_view>

#include "base/secret.h"
#include "kube/core_objects.h"
#include "kube/meta.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct SlurmCluster {
  inline static const Resource kResource{"slinky.slurm.net", "v1alpha1", "clusters", "Cluster",
                                         true};
  // Of the Secret.
  static constexpr std::string_view kTokenKey = "auth-token";

  Meta meta;
  std::string server;
  std::string token_secret;  // In the same namespace; its kTokenKey holds the token.

  bool operator==(const SlurmCluster&) const = default;
};

constexpr auto json_fields(json::Tag<SlurmCluster>) {
  return json::fields(
      json::field("metadata", &SlurmCluster::meta),
      json::group("spec", json::field("server", &SlurmCluster::server),
                  json::group("token", json::field("secretRef", &SlurmCluster::token_secret))));
}

struct SlurmAccess {
  std::string server;  // A good URL.
  Secret token;        // Without the line break that editors and shells leave behind it.
  // What is missing or wrong, in the words of a condition: "SecretMissing". Empty: nothing, and
  // only then the others are set.
  std::string reason;
  std::string message;

  static SlurmAccess none(std::string_view reason, std::string message);
};

// `secret`: the one that the Cluster names, null where there is none.
SlurmAccess slurm_access(const SlurmCluster& cluster, const SecretObject* secret);

}  // namespace mainspring::kube
