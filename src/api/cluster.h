// api/cluster.h
//
// Cluster (v1alpha1): a Slurm that is known only by its REST address and a token, wherever it runs.
// What says how it is reached is in kube/slurm_cluster.h. A value.
#pragma once

#include "api/common.h"
#include "kube/slurm_cluster.h"

namespace mainspring::api {

struct ClusterStatus {
  bool is_ready = false;
  kube::Conditions conditions;
  std::int64_t observed_generation = 0;
  std::string slurm_version;
  std::string api_version;
  std::int32_t nodes = 0;
  std::int32_t jobs = 0;
  std::string freshness;

  bool operator==(const ClusterStatus&) const = default;
};

constexpr auto json_fields(json::Tag<ClusterStatus>) {
  using T = ClusterStatus;
  return json::fields(json::field("isReady", &T::is_ready),
                      json::field("conditions", &T::conditions),
                      json::field("observedGeneration", &T::observed_generation),
                      json::field("slurmVersion", &T::slurm_version),
                      json::field("apiVersion", &T::api_version), json::field("nodes", &T::nodes),
                      json::field("jobs", &T::jobs), json::field("freshness", &T::freshness));
}

struct Cluster : kube::SlurmCluster {
  ClusterStatus status;

  bool operator==(const Cluster&) const = default;
};

constexpr auto json_fields(json::Tag<Cluster>) {
  return json::fields(
      json::field("metadata", &Cluster::meta),
      json::group("spec", json::field("server", &Cluster::server),
                  json::group("token", json::field("secretRef", &Cluster::token_secret))),
      json::field("status", &Cluster::status));
}

}  // namespace mainspring::api
