#include "control/cert_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;

const WallTime kStart(seconds(1'700'000'000));

CertPolicy policy() {
  CertPolicy made;
  made.dns_names = service_dns_names("hook", "slurm");
  return made;
}

CertPlan plan(const ServingCerts& stored, WallTime now, bool published = true) {
  auto made = plan_certs(stored, policy(), published, now);
  EXPECT_TRUE(made.has_value()) << made.error().to_string();
  return made ? *made : CertPlan();
}

std::size_t authorities(const ServingCerts& certs) {
  return net::inspect_all(certs.ca_bundle)->size();
}

// What callers check: an authority of the bundle signed it, and both are valid now.
bool trusted(const net::CertifiedKey& serving, const std::string& bundle, WallTime now) {
  const auto cas = net::inspect_all(bundle);
  return net::inspect(serving.cert_pem)->validity.contains(now) &&
         std::any_of(cas->begin(), cas->end(), [&](const net::CertificateInfo& ca) {
           return ca.validity.contains(now) && net::is_issued_by(serving.cert_pem, ca.pem);
         });
}

TEST(CertPlan, BeginsWithAnAuthorityAndACertificateForAllNames) {
  const CertPlan first = plan({}, kStart);
  EXPECT_TRUE(first.changed);
  EXPECT_TRUE(net::key_fits(first.certs.serving));
  EXPECT_TRUE(trusted(first.certs.serving, first.certs.ca_bundle, kStart));
  EXPECT_THAT(net::inspect(first.certs.serving.cert_pem)->dns_names,
              ElementsAre("hook.slurm.svc", "hook.slurm.svc.cluster.local", "hook.slurm", "hook"));
}

TEST(CertPlan, ChangesNothingUntilItSaysSo) {
  const CertPlan first = plan({}, kStart);
  EXPECT_EQ(first.look_again, kStart + hours(24 * 60));
  const CertPlan later = plan(first.certs, first.look_again - seconds(1));
  EXPECT_FALSE(later.changed);
  EXPECT_EQ(later.certs, first.certs);
  const CertPlan due = plan(first.certs, first.look_again);
  EXPECT_TRUE(due.changed);
  EXPECT_EQ(due.certs.ca_bundle, first.certs.ca_bundle);
  EXPECT_NE(due.certs.serving, first.certs.serving);
}

TEST(CertPlan, ANewAuthorityIsKnownBeforeItIsUsed) {
  ServingCerts certs = plan({}, kStart).certs;
  const WallTime due = kStart + policy().ca_life / 3 * 2;
  certs = plan(certs, due - hours(24)).certs;  // A serving certificate that is not due too.
  const CertPlan added = plan(certs, due);
  EXPECT_EQ(authorities(added.certs), 2u);
  EXPECT_EQ(added.certs.serving, certs.serving);
  EXPECT_EQ(added.look_again, due + hours(1));

  EXPECT_FALSE(plan(added.certs, due + minutes(59)).changed);
  // Somebody could not be told: nobody may meet the new one.
  EXPECT_FALSE(plan(added.certs, due + hours(2), false).changed);
  const CertPlan moved = plan(added.certs, due + hours(1));
  EXPECT_TRUE(moved.changed);
  EXPECT_TRUE(trusted(moved.certs.serving, moved.certs.ca_bundle, due + hours(1)));
  // A late replica that still shows the old one is trusted too.
  EXPECT_EQ(moved.certs.ca_bundle, added.certs.ca_bundle);
}

TEST(CertPlan, AnExpiredAuthorityLeavesTheBundle) {
  ServingCerts certs = plan({}, kStart).certs;
  const WallTime due = kStart + policy().ca_life / 3 * 2;
  certs = plan(certs, due).certs;
  certs = plan(certs, due + hours(1)).certs;
  const WallTime end = kStart + policy().ca_life + seconds(1);
  EXPECT_EQ(authorities(plan(certs, end).certs), 1u);
}

TEST(CertPlan, WhatCannotBeUsedIsMadeAnewAndWhatCanIsKept) {
  const ServingCerts good = plan({}, kStart).certs;
  ServingCerts bad = good;
  bad.ca_key = Secret("nonsense");
  const CertPlan rescued = plan(bad, kStart + hours(1));
  EXPECT_EQ(authorities(rescued.certs), 2u);
  EXPECT_EQ(rescued.certs.serving, good.serving);

  bad = good;
  bad.serving.key_pem = Secret("nonsense");
  EXPECT_EQ(plan(bad, kStart).why, "the serving key does not fit");
  EXPECT_EQ(plan(bad, kStart).certs.ca_bundle, good.ca_bundle);

  bad = good;
  bad.ca_bundle = "nonsense";
  const CertPlan anew = plan(bad, kStart);
  EXPECT_TRUE(trusted(anew.certs.serving, anew.certs.ca_bundle, kStart));
}

TEST(CertPlan, OtherNamesNeedAnotherCertificateAtOnce) {
  const ServingCerts certs = plan({}, kStart).certs;
  CertPolicy other = policy();
  other.ip_addresses = {"127.0.0.1"};
  auto made = plan_certs(certs, other, true, kStart);
  EXPECT_TRUE(made->changed);
  EXPECT_EQ(made->certs.ca_bundle, certs.ca_bundle);
}

TEST(CertPlan, RefusesAPolicyUnderWhichCertificatesRunOut) {
  CertPolicy hasty = policy();
  hasty.overlap = hasty.serving_life / 2;
  EXPECT_FALSE(hasty.check().has_value());
  CertPolicy nameless;
  EXPECT_FALSE(nameless.check().has_value());
}

// Five years, always at the moment that the plan asked for: whatever a replica showed last is
// trusted through what callers learn now, and what it shows now through what callers learned last.
TEST(CertPlanAtScale, NobodyIsEverDistrusted) {
  CertPlan last = plan({}, kStart);
  int renewed = 0;
  while (last.look_again < kStart + hours(24 * 365 * 5)) {
    const WallTime now = last.look_again;
    const CertPlan next = plan(last.certs, now);
    if (next.certs.serving != last.certs.serving) ++renewed;
    EXPECT_TRUE(trusted(next.certs.serving, next.certs.ca_bundle, now));
    EXPECT_TRUE(trusted(next.certs.serving, last.certs.ca_bundle, now)) << "a caller that is late";
    EXPECT_TRUE(trusted(last.certs.serving, next.certs.ca_bundle, now)) << "a replica that is late";
    last = next;
  }
  EXPECT_GT(renewed, 25);
}

}  // namespace
}  // namespace mainspring::control
