// control/aggregated_api.h
//
// An API group served by us behind the API server: it passes requests on, says who the user is, and
// we ask it back whether he may. Adds routes to a Router: discovery, so that kubectl finds the
// resources, and the resources themselves, which see only callers that were let in.
//
//   AggregatedApi api(client, auth, tls, {.groups = {{"external.metrics.k8s.io", "v1beta1",
//   ...}}}); MS_CO_CHECK(co_await api.load()); api.add(router, Method::kGet,
//   "/apis/external.metrics.k8s.io/v1beta1/{rest...}", handler); api.add_discovery(router);
//   group.spawn(api.run());
//
// Callers with a bearer token come directly; client certificates count only for the front proxy.
// Lives on the loop that serves, with a Client of that loop. It must outlive the router.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "control/request_header.h"
#include "control/serving_tls.h"
#include "http/router.h"

namespace mainspring::control {

struct ServedResource {
  std::string plural;
  std::string kind;
  bool namespaced = true;
  std::vector<std::string> verbs;
};

// One group in one version, which is all that ours have.
struct ServedGroup {
  std::string group;
  std::string version;
  std::vector<ServedResource> resources;
};

class AggregatedApi {
 public:
  struct Options {
    std::vector<ServedGroup> groups;
    // Open to everybody, without asking who it is.
    std::vector<std::string> exempt_paths = {"/healthz", "/livez", "/readyz"};
    // That tokens of direct callers must be meant for; empty: the API server's own.
    std::vector<std::string> audiences;
    // How long a change of the front proxy's authority may go unseen. It changes when somebody
    // rotates it, with overlap.
    Duration reload = minutes(1);
    Logger log;
  };
  using UserHandler = std::function<Task<Result<http::Response>>(UserInfo, http::Request)>;

  // All must outlive this. `tls` gets the front proxy's authority.
  AggregatedApi(kube::Client& client, DelegatedAuth& auth, std::shared_ptr<ServingTls> tls,
                Options options);

  // Reads the cluster's front proxy settings. Until it has succeeded nobody comes in by headers.
  Task<Result<void>> load();
  // Keeps them fresh until cancelled.
  Task<Result<void>> run();

  void add(http::Router& router, http::Method method, std::string_view pattern,
           UserHandler handler);
  // /apis, /apis/GROUP and /apis/GROUP/VERSION, for those who may read them (as a rule everybody
  // who is known).
  void add_discovery(http::Router& router);

  // Who it is; kUnauthorized where nobody vouches for him.
  Task<Result<UserInfo>> authenticate(const http::Request* request);

 private:
  Task<Result<http::Response>> guarded(const UserHandler* handler, http::Request request);
  void add_document(http::Router& router, const std::string& path, const json::Value& document);

  kube::Client& client_;
  DelegatedAuth& auth_;
  std::shared_ptr<ServingTls> tls_;
  Options options_;
  RequestHeaderConfig config_;
};

}  // namespace mainspring::control
