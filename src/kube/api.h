// kube/api.h
//
// Api<T>: the verbs of the Kubernetes API on one kind, typed by a projection. Cheap to make and to
// copy; it holds a Client that must outlive it and its calls.
//
//   Api<Pod> pods(client, "slurm");
//   MS_CO_TRY(Pod pod, co_await pods.get("worker-0"));
//   MS_CO_CHECK(co_await pods.apply(desired, {.field_manager = "mainspring"}));
//
// Writes take JSON: apply and patch carry only what we own, so fields that we do not know survive.
// There is no read-modify-write of a whole object but replace(), which needs a resourceVersion and
// is for objects that are ours alone (a Lease). Errors are kube/status.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/fields.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/meta.h"
#include "kube/resource.h"
#include "kube/watch.h"

namespace mainspring::kube {

struct GetOptions {
  // Empty: the newest, from etcd. "0": whatever the server has in memory.
  std::string resource_version;
  std::string subresource;
  std::optional<Duration> timeout;
};

// How `resource_version` of a list is meant; see "Resource versions" in the Kubernetes docs.
enum class VersionMatch { kUnset, kNotOlderThan, kExact };

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  VersionMatch match = VersionMatch::kUnset;
  // Objects a page; 0: all in one answer. list_all() turns the pages.
  std::size_t limit = 0;
  std::string continue_token;
};

struct WriteOptions {
  std::string field_manager = "mainspring";
  std::string subresource;
  bool dry_run = false;
  // "Strict", "Warn" or "Ignore"; empty is the server's own, which warns.
  std::string field_validation;
  // See Call: for the lease of leader election only.
  bool always_allowed = false;
  // For all attempts together; unset: the client's own.
  std::optional<Duration> timeout;
};

struct ApplyOptions {
  std::string field_manager = "mainspring";
  std::string subresource;
  // Takes fields that others hold. Controllers should; without it a conflict is kConflict.
  bool force = true;
  bool dry_run = false;
};

enum class PatchKind { kMerge, kJson, kStrategic };

struct Patch {
  PatchKind kind = PatchKind::kMerge;
  json::Value body;
};

enum class Propagation { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;
  Propagation propagation = Propagation::kDefault;
  // Delete only this one: kConflict if the name has passed to another object or it has changed.
  std::string uid;
  std::string resource_version;
  bool dry_run = false;
};

template <class T>
struct List {
  std::vector<std::shared_ptr<const T>> items;
  std::string resource_version;
  std::string continue_token;  // Empty on the last page.
  std::int64_t remaining = 0;  // As far as the server says.
};

template <class T>
constexpr auto json_fields(json::Tag<List<T>>) {
  return json::fields(
      json::field("items", &List<T>::items),
      json::group("metadata", json::field("resourceVersion", &List<T>::resource_version),
                  json::field("continue", &List<T>::continue_token),
                  json::field("remainingItemCount", &List<T>::remaining)));
}

// The verbs on text, for any kind. Api<T> adds the decoding and nothing else.
class RawApi {
 public:
  // An empty `ns` is all namespaces, or a kind that has none.
  RawApi(Client& client, Resource resource, std::string ns)
      : client_(&client), resource_(std::move(resource)), ns_(std::move(ns)) {}

  Client& client() const { return *client_; }
  const Resource& resource() const { return resource_; }
  const std::string& ns() const { return ns_; }

  Task<Result<std::string>> get(std::string name, GetOptions options) const;
  Task<Result<std::string>> list(ListOptions options) const;
  Task<Result<std::unique_ptr<http::StreamingResponse>>> watch(WatchOptions options) const;
  Task<Result<std::string>> create(json::Value object, WriteOptions options) const;
  // POST to a subresource that acts: binding, eviction, token.
  Task<Result<std::string>> post(std::string name, std::string subresource, json::Value body,
                                 WriteOptions options) const;
  Task<Result<std::string>> replace(json::Value object, WriteOptions options) const;
  Task<Result<std::string>> patch(std::string name, Patch patch, WriteOptions options) const;
  Task<Result<std::string>> apply(json::Value object, ApplyOptions options) const;
  Task<Result<std::string>> remove(std::string name, DeleteOptions options) const;
  Task<Result<std::string>> remove_all(ListOptions which, DeleteOptions options) const;

 private:
  Call call(http::Method method, std::string_view verb, std::string_view name,
            std::string_view subresource) const;
  Task<Result<std::string>> body_of(Call call) const;

  Client* client_;
  Resource resource_;
  std::string ns_;
};

template <class T>
class Api {
 public:
  explicit Api(Client& client, std::string ns = {}) : Api(client, T::kResource, std::move(ns)) {}
  // For a kind whose version is found at run time, and for Dynamic.
  Api(Client& client, Resource resource, std::string ns)
      : raw_(client, std::move(resource), std::move(ns)) {}

  const RawApi& raw() const { return raw_; }
  Client& client() const { return raw_.client(); }
  const Resource& resource() const { return raw_.resource(); }

  Task<Result<T>> get(std::string name, GetOptions options = {}) const {
    co_return decode(co_await raw_.get(std::move(name), std::move(options)));
  }

  // One page, or all in one answer where options.limit is 0.
  Task<Result<List<T>>> list(ListOptions options = {}) const {
    co_return decode_as<List<T>>(co_await raw_.list(std::move(options)));
  }

  // All pages. A token that expires on the way (kGone) is the caller's to handle: start over.
  Task<Result<List<T>>> list_all(ListOptions options = {}) const {
    List<T> all;
    do {
      MS_CO_TRY(List<T> page, co_await list(options));
      all.resource_version = page.resource_version;
      all.items.insert(all.items.end(), std::make_move_iterator(page.items.begin()),
                       std::make_move_iterator(page.items.end()));
      options.continue_token = std::move(page.continue_token);
      // A version may not be named together with a token, which carries its own.
      options.resource_version.clear();
      options.match = VersionMatch::kUnset;
    } while (!options.continue_token.empty());
    co_return all;
  }

  Task<Result<Watch<T>>> watch(WatchOptions options = {}) const {
    MS_CO_TRY(auto response, co_await raw_.watch(std::move(options)));
    co_return Watch<T>(std::move(response));
  }

  Task<Result<T>> create(json::Value object, WriteOptions options = {}) const {
    co_return decode(co_await raw_.create(std::move(object), std::move(options)));
  }
  Task<Result<T>> replace(json::Value object, WriteOptions options = {}) const {
    co_return decode(co_await raw_.replace(std::move(object), std::move(options)));
  }
  Task<Result<T>> patch(std::string name, Patch patch, WriteOptions options = {}) const {
    co_return decode(co_await raw_.patch(std::move(name), std::move(patch), std::move(options)));
  }
  // Server-side apply. Name, kind and apiVersion come from the object; the latter two are filled in
  // where absent.
  Task<Result<T>> apply(json::Value object, ApplyOptions options = {}) const {
    co_return decode(co_await raw_.apply(std::move(object), std::move(options)));
  }
  // Success means that the server has begun; finalizers may hold the object for long.
  Task<Result<void>> remove(std::string name, DeleteOptions options = {}) const {
    MS_CO_CHECK(co_await raw_.remove(std::move(name), std::move(options)));
    co_return Result<void>();
  }
  Task<Result<void>> remove_all(ListOptions which, DeleteOptions options = {}) const {
    MS_CO_CHECK(co_await raw_.remove_all(std::move(which), std::move(options)));
    co_return Result<void>();
  }

 private:
  template <class U>
  static Result<U> decode_as(Result<std::string> text) {
    if (!text) return fail(std::move(text).error());
    json::Reader reader;
    return json::decode<U>(reader, *text);
  }
  static Result<T> decode(Result<std::string> text) { return decode_as<T>(std::move(text)); }

  RawApi raw_;
};

}  // namespace mainspring::kube
