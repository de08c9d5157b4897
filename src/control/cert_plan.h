// control/cert_plan.h
//
// When our own authority and the serving certificate that it issues are made anew, and in which
// order, so that no caller ever meets a certificate that it does not trust yet. Pure but for the
// keys: the state in the Secret and the time in, the next state out. webhook_certs.h acts on it.
//
// A new authority is only added to the bundle of trusted ones at first. When every caller has had
// time to learn of it (`overlap`), the serving certificate is issued by it. The old one stays in
// the bundle until it expires, for a replica that is late.
#pragma once

#include <string>
#include <vector>

#include "net/certificate.h"

namespace mainspring::control {

struct CertPolicy {
  std::string ca_name = "mainspring webhook authority";
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  // Both are renewed after two thirds of it.
  Duration ca_life = hours(24 * 365);
  Duration serving_life = hours(24 * 90);
  Duration overlap = hours(1);

  // kInvalid where a certificate could expire before it may be replaced.
  Result<void> check() const;
};

// All names under which a Service is called: "hook.slurm.svc" and its shorter and longer forms.
std::vector<std::string> service_dns_names(const std::string& service, const std::string& ns,
                                           const std::string& cluster_domain = "cluster.local");

// What the Secret holds.
struct ServingCerts {
  std::string ca_bundle;  // Newest first: the one that ca_key belongs to.
  Secret ca_key;
  net::CertifiedKey serving;

  bool operator==(const ServingCerts&) const = default;
};

struct CertPlan {
  ServingCerts certs;
  bool changed = false;
  std::string why;      // For the log, where it changed.
  WallTime look_again;  // When time alone makes the next step due.
};

// `bundle_published`: every caller's configuration holds stored.ca_bundle. Without it the serving
// certificate never moves to an authority that callers may not know.
Result<CertPlan> plan_certs(const ServingCerts& stored, const CertPolicy& policy,
                            bool bundle_published, WallTime now);

}  // namespace mainspring::control
