// kube/resource.h
//
// The name of a kind in the API: which group and version serves it, under which plural, and whether
// its objects live in namespaces. A value; every projection names its own as `kResource`.
#pragma once

#include <string>
#include <string_view>

namespace mainspring::kube {

struct Resource {
  std::string group;  // Empty for the core group.
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // "v1", "apps/v1": what objects carry as apiVersion.
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // "pods", "deployments.apps": as people and RBAC name it.
  std::string to_string() const { return group.empty() ? plural : plural + "." + group; }

  // "/apis/apps/v1/namespaces/web/deployments/site/status". Parts that are empty are left out; a
  // namespace of a kind that has none is ignored. Parts are percent-encoded.
  std::string path(std::string_view ns = {}, std::string_view name = {},
                   std::string_view subresource = {}) const;

  bool operator==(const Resource&) const = default;
};

}  // namespace mainspring::kube
