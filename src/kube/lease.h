// kube/lease.h
//
// Lease: who leads, and since when it has been silent. Read and replaced by leader election only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/projection.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct Lease {
  inline static const Resource kResource{"coordination.k8s.io", "v1", "leases", "Lease", true};

  Meta meta;
  std::string holder;  // Empty: nobody, released.
  std::int32_t duration_seconds = 0;
  std::int32_t transitions = 0;
  std::optional<WallTime> acquired;
  std::optional<WallTime> renewed;
  // Of coordinated leader election: who is asked to take over, and how the leader is chosen.
  std::string preferred_holder;
  std::string strategy;

  bool operator==(const Lease&) const = default;
};

constexpr auto json_fields(json::Tag<Lease>) {
  return json::fields(json::field("metadata", &Lease::meta),
                      json::group("spec", json::field("holderIdentity", &Lease::holder),
                                  json::field("leaseDurationSeconds", &Lease::duration_seconds),
                                  json::field("leaseTransitions", &Lease::transitions),
                                  time_field<&Lease::acquired>("acquireTime"),
                                  time_field<&Lease::renewed>("renewTime"),
                                  json::field("preferredHolder", &Lease::preferred_holder),
                                  json::field("strategy", &Lease::strategy)));
}

}  // namespace mainspring::kube
