// control/delegated_auth.h
//
// Who a caller is and what he may do, asked of the API server: TokenReview for bearer tokens,
// SubjectAccessReview for permissions. For our own metrics endpoint and aggregated APIs, so that
// people are let in by the RBAC rules they know. Answers are kept for seconds, refusals too; a call
// that failed is not an answer and is not kept.
//
// Lives on the loop of its Client, which must outlive it. It must outlive its calls. Tokens are
// kept as digests only.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "json/value.h"
#include "kube/client.h"

namespace mainspring::control {

using net::Task;

struct UserInfo {
  std::string username;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;

  bool operator==(const UserInfo&) const = default;
};

bool read(json::Reader& reader, UserInfo& out);

// What somebody wants to do: to a resource, or, where `path` is set, to a path that is none.
struct AccessAttributes {
  std::string verb;  // "get", "list", "create", ...; of a path, the method in lower case
  std::string ns;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name;
  std::string path;

  // "get path /metrics", "list resource nodes.metrics.k8s.io in namespace web"
  std::string to_string() const;
  bool operator==(const AccessAttributes&) const = default;
};

class DelegatedAuth {
 public:
  struct Options {
    Duration token_ttl = seconds(10);
    Duration allow_ttl = seconds(10);
    Duration deny_ttl = seconds(10);
    // Of each kind of answer. Whoever sends many different tokens makes us ask more often, and
    // never keep more.
    std::size_t max_answers = 4096;
    Duration timeout = seconds(10);
  };

  explicit DelegatedAuth(kube::Client& client) : DelegatedAuth(client, Options()) {}
  DelegatedAuth(kube::Client& client, Options options) : client_(client), options_(options) {}

  // kUnauthorized where the token is not good, or good for none of the audiences (empty: the API
  // server's own).
  Task<Result<UserInfo>> authenticate(Secret token, std::vector<std::string> audiences);

  // kForbidden says who may not do what, and why as far as the server tells.
  Task<Result<void>> authorize(UserInfo user, AccessAttributes attributes);

 private:
  template <class T>
  struct Kept {
    Result<T> answer;
    TimePoint until;
  };
  template <class T>
  using Answers = std::unordered_map<std::string, Kept<T>>;

  template <class T>
  void keep(Answers<T>& answers, std::string key, Result<T> answer, Duration ttl);
  template <class T>
  const Result<T>* find(const Answers<T>& answers, const std::string& key) const;

  Task<Result<std::string>> post(std::string path, json::Value review, std::string what);

  kube::Client& client_;
  Options options_;
  Answers<UserInfo> tokens_;
  Answers<void> permissions_;
};

}  // namespace mainspring::control
