// control/status_pages.h
//
// The pages that every process serves about itself: /healthz and /livez, /readyz, /metrics. Added
// to a router of the serving loop. Health and Metrics are safe from any thread and must outlive it.
#pragma once

#include "base/metrics.h"
#include "control/delegated_auth.h"
#include "control/health.h"
#include "http/router.h"

namespace mainspring::control {

// 200 with a line a check, or 500 where one fails; "ok" alone unless ?verbose or a failure.
void add_health_pages(http::Router& router, const Health& health);

// With `auth`, only for bearers of a token whose user may "get" the path /metrics, as RBAC says.
// `auth` lives on the serving loop and must outlive the router.
void add_metrics_page(http::Router& router, const Metrics& metrics, DelegatedAuth* auth);

}  // namespace mainspring::control
