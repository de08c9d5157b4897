#include "control/cert_plan.h"

#include <algorithm>

namespace mainspring::control {

using net::CertificateInfo;

namespace {

// Certificates begin in the past, for callers whose clocks are behind ours.
constexpr Duration kBackdate = minutes(5);

WallTime made_at(const net::Validity& validity) { return validity.from + kBackdate; }

WallTime renew_at(const net::Validity& validity) {
  const Duration life = validity.until - made_at(validity);
  return made_at(validity) + life / 3 * 2;
}

std::vector<CertificateInfo> live_authorities(const std::string& bundle, WallTime now) {
  auto found = net::inspect_all(bundle);
  if (!found) return {};
  std::erase_if(*found,
                [now](const CertificateInfo& ca) { return !ca.is_ca || ca.validity.until < now; });
  return *std::move(found);
}

bool same_names(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

class Planner {
 public:
  Planner(const ServingCerts& stored, const CertPolicy& policy, WallTime now)
      : policy_(policy), now_(now), authorities_(live_authorities(stored.ca_bundle, now)) {
    plan_.certs = stored;
  }

  Result<CertPlan> run(bool bundle_published) {
    MS_CHECK(renew_authority());
    MS_CHECK(renew_serving(bundle_published));
    std::string bundle;
    for (const CertificateInfo& ca : authorities_) bundle += ca.pem;
    if (bundle != plan_.certs.ca_bundle) {
      plan_.certs.ca_bundle = std::move(bundle);
      note("an expired authority was dropped");
    }
    plan_.look_again = next_step();
    return std::move(plan_);
  }

 private:
  void note(const char* why) {
    plan_.changed = true;
    if (plan_.why.empty()) plan_.why = why;
  }

  Result<void> renew_authority() {
    const char* why = nullptr;
    if (authorities_.empty()) {
      why = "there was no authority";
    } else if (!net::key_fits({authorities_.front().pem, plan_.certs.ca_key})) {
      why = "the authority's key does not belong to its certificate";
    } else if (now_ >= renew_at(authorities_.front().validity)) {
      why = "two thirds of the authority's life have passed";
    }
    if (why == nullptr) return {};
    MS_TRY(net::CertifiedKey made,
           net::make_ca({policy_.ca_name, {now_ - kBackdate, now_ + policy_.ca_life}}));
    MS_TRY(CertificateInfo info, net::inspect(made.cert_pem));
    authorities_.insert(authorities_.begin(), std::move(info));
    plan_.certs.ca_key = std::move(made.key_pem);
    note(why);
    return {};
  }

  // Why the stored serving certificate cannot be shown to anybody; null if it can.
  const char* why_unusable(const CertificateInfo& serving) const {
    if (!net::key_fits(plan_.certs.serving)) return "the serving key does not fit";
    if (serving.validity.until <= now_) return "the serving certificate has expired";
    if (!same_names(serving.dns_names, policy_.dns_names) ||
        !same_names(serving.ip_addresses, policy_.ip_addresses)) {
      return "the names that are served have changed";
    }
    const bool known = std::any_of(
        authorities_.begin(), authorities_.end(),
        [&](const CertificateInfo& ca) { return net::is_issued_by(serving.pem, ca.pem); });
    return known ? nullptr : "no authority vouches for the serving certificate";
  }

  Result<void> renew_serving(bool bundle_published) {
    auto serving = net::inspect(plan_.certs.serving.cert_pem);
    if (!serving) return issue_serving("there was no serving certificate");
    if (const char* why = why_unusable(*serving)) return issue_serving(why);
    const CertificateInfo& newest = authorities_.front();
    serving_ = *serving;
    if (net::is_issued_by(serving->pem, newest.pem)) {
      if (now_ < renew_at(serving->validity)) return {};
      return issue_serving("two thirds of the serving certificate's life have passed");
    }
    // The key of the authority before is gone, so renewing means moving to the newest one.
    moves_at_ = made_at(newest.validity) + policy_.overlap;
    if (now_ < *moves_at_ || !bundle_published) return {};
    return issue_serving("all callers know the new authority");
  }

  Result<void> issue_serving(const char* why) {
    const CertificateInfo& ca = authorities_.front();
    net::CertificateRequest request;
    // Names count; the common name is for people, and is bounded.
    request.common_name = policy_.dns_names.empty() ? "mainspring" : policy_.dns_names.front();
    if (request.common_name.size() > 64) request.common_name = "mainspring";
    request.dns_names = policy_.dns_names;
    request.ip_addresses = policy_.ip_addresses;
    request.validity = {now_ - kBackdate, std::min(now_ + policy_.serving_life, ca.validity.until)};
    MS_TRY(plan_.certs.serving, net::issue({ca.pem, plan_.certs.ca_key}, request));
    MS_TRY(serving_, net::inspect(plan_.certs.serving.cert_pem));
    moves_at_.reset();
    note(why);
    return {};
  }

  WallTime next_step() const {
    WallTime next = std::min(renew_at(authorities_.front().validity),
                             moves_at_.value_or(renew_at(serving_.validity)));
    for (const CertificateInfo& ca : authorities_) next = std::min(next, ca.validity.until);
    // A step that waits for something else than time must not be waited for without end or pause.
    return std::max(next, now_ + seconds(1));
  }

  const CertPolicy& policy_;
  WallTime now_;
  std::vector<CertificateInfo> authorities_;
  CertificateInfo serving_;
  std::optional<WallTime> moves_at_;
  CertPlan plan_;
};

}  // namespace

Result<void> CertPolicy::check() const {
  if (dns_names.empty() && ip_addresses.empty()) {
    return fail(Code::kInvalid, "certificate policy: there is no name to serve under");
  }
  if (overlap < Duration(0) || serving_life / 3 <= overlap) {
    return fail(Code::kInvalid,
                "certificate policy: overlap must be less than a third of serving_life, or a "
                "serving certificate could expire before its successor may be used");
  }
  if (ca_life < serving_life) {
    return fail(Code::kInvalid, "certificate policy: ca_life must not be less than serving_life");
  }
  return {};
}

std::vector<std::string> service_dns_names(const std::string& service, const std::string& ns,
                                           const std::string& cluster_domain) {
  const std::string base = service + "." + ns;
  return {base + ".svc", base + ".svc." + cluster_domain, base, service};
}

Result<CertPlan> plan_certs(const ServingCerts& stored, const CertPolicy& policy,
                            bool bundle_published, WallTime now) {
  MS_CHECK(policy.check());
  return Planner(stored, policy, now).run(bundle_published);
}

}  // namespace mainspring::control
