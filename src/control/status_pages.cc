#include "control/status_pages.h"

#include <utility>

#include "base/text.h"

namespace mainspring::control {
namespace {

using http::Request;
using http::Response;

Task<Result<Response>> health_page(const Health* health, HealthKind kind, Request request) {
  const Health::Report report = health->report(kind);
  const bool verbose = request.url.query_value("verbose").has_value();
  const bool plain = report.ok && !verbose;
  co_return http::text_response(report.ok ? 200 : 500, plain ? "ok" : report.to_text());
}

Result<Secret> bearer_token(const Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto header = request.headers.get("Authorization").value_or("");
  if (!starts_with_ignore_case(header, kScheme) || header.size() == kScheme.size()) {
    return fail(Code::kUnauthorized, "metrics are for those who show a bearer token");
  }
  return Secret(std::string(header.substr(kScheme.size())));
}

Task<Result<Response>> metrics_page(const Metrics* metrics, DelegatedAuth* auth, Request request) {
  if (auth != nullptr) {
    MS_CO_TRY(Secret token, bearer_token(request));
    MS_CO_TRY(UserInfo user, co_await auth->authenticate(std::move(token), {}));
    AccessAttributes wanted;
    wanted.verb = "get";
    wanted.path = "/metrics";
    MS_CO_CHECK(co_await auth->authorize(std::move(user), std::move(wanted)));
  }
  Response response = http::text_response(200, metrics->to_text());
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return response;
}

}  // namespace

void add_health_pages(http::Router& router, const Health& health) {
  const auto add = [&](std::string_view path, HealthKind kind) {
    router.add(http::Method::kGet, path, [&health, kind](Request request) {
      return health_page(&health, kind, std::move(request));
    });
  };
  add("/healthz", HealthKind::kLive);
  add("/livez", HealthKind::kLive);
  add("/readyz", HealthKind::kReady);
}

void add_metrics_page(http::Router& router, const Metrics& metrics, DelegatedAuth* auth) {
  router.add(http::Method::kGet, "/metrics", [&metrics, auth](Request request) {
    return metrics_page(&metrics, auth, std::move(request));
  });
}

}  // namespace mainspring::control
