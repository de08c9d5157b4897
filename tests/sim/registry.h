// tests/sim/registry.h
//
// The verbs of an API server on values: what create, update, patch, apply and delete do to an
// object and to its metadata, and when they refuse. No HTTP, no waiting: each call is one
// transaction. Lives on one loop; owned by KubeApi.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "sim/kinds.h"
#include "sim/storage.h"

namespace mainspring::sim {

struct WriteOptions {
  std::string manager = "unknown";
  std::string subresource;
  bool dry_run = false;
};

struct RemoveOptions {
  std::optional<std::int64_t> grace_seconds;
  std::string propagation;  // Background, Foreground, Orphan; empty: the default.
  std::optional<std::string> uid;
  std::string resource_version;
  bool dry_run = false;
};

struct Written {
  Object object;
  bool created = false;
};

struct Removed {
  Object object;
  bool gone = false;  // Otherwise it waits for finalizers or a grace period.
};

class Registry {
 public:
  // All must outlive the registry.
  Registry(const Clock& clock, Random& random, Storage& storage, const Kinds& kinds)
      : clock_(clock), random_(random), storage_(storage), kinds_(kinds) {}

  Result<Object> get(const Kind& kind, std::string_view ns, std::string_view name) const;

  Result<Written> create(const Kind& kind, std::string_view ns, json::Value object,
                         const WriteOptions& options);
  Result<Written> update(const Kind& kind, std::string_view ns, std::string_view name,
                         json::Value object, const WriteOptions& options);
  // `edit` makes the wanted object of the present one.
  using Edit = std::function<Result<json::Value>(const json::Value& live)>;
  Result<Written> patch(const Kind& kind, std::string_view ns, std::string_view name,
                        const Edit& edit, const WriteOptions& options);
  Result<Written> apply(const Kind& kind, std::string_view ns, std::string_view name,
                        json::Value config, bool force, const WriteOptions& options);
  Result<Removed> remove(const Kind& kind, std::string_view ns, std::string_view name,
                         const RemoveOptions& options);

  std::string now_text() const;
  // A version 4 UUID.
  std::string make_uid();

 private:
  Result<void> check_namespace(const Kind& kind, std::string_view ns, std::string_view name) const;
  void name_object(json::Value& meta);
  Result<Written> store_new(const Kind& kind, json::Value object, const WriteOptions& options);
  // The steps that update, patch and apply share, after ownership was recorded.
  Result<Written> store_changed(const Kind& kind, const Object& live, json::Value object,
                                const WriteOptions& options);
  Result<Written> write_over(const Kind& kind, const Object& live, json::Value object,
                             const WriteOptions& options);
  Object mark_deleted(const Kind& kind, std::string_view key, const json::Value& live,
                      json::Value object, std::int64_t grace, bool dry_run);

  const Clock& clock_;
  Random& random_;
  Storage& storage_;
  const Kinds& kinds_;
  std::uint32_t services_made_ = 0;  // For their addresses.
};

}  // namespace mainspring::sim
