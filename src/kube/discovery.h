// kube/discovery.h
//
// What an API server serves: groups, their versions in the server's order of preference, and the
// kinds in each. A value, as of the moment it was fetched; CRDs and aggregated APIs come and go,
// and when to look again is the caller's decision.
//
// One request for the core group and one for all others where the server knows aggregated discovery
// (Kubernetes 1.26), else one for each version of each group.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/client.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct DiscoveredSubresource {
  std::string name;  // "status", "scale", "binding", ...
  std::string kind;  // Of what it takes and gives: "Scale", "Binding".
  std::vector<std::string> verbs;
};

struct DiscoveredResource {
  Resource resource;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs;
  std::vector<DiscoveredSubresource> subresources;

  bool can(std::string_view verb) const;
  // Null where there is none.
  const DiscoveredSubresource* subresource(std::string_view name) const;
};

struct DiscoveredVersion {
  std::string version;
  // The server behind an aggregated API did not answer. What it serves is then unknown or old:
  // absence means nothing.
  bool stale = false;
  std::vector<DiscoveredResource> resources;
};

struct DiscoveredGroup {
  std::string name;                         // Empty for the core group.
  std::vector<DiscoveredVersion> versions;  // Preferred first.
};

class Discovery {
 public:
  explicit Discovery(std::vector<DiscoveredGroup> groups = {}) : groups_(std::move(groups)) {}

  const std::vector<DiscoveredGroup>& groups() const { return groups_; }
  const DiscoveredGroup* group(std::string_view name) const;

  // In the most preferred version that has it; null where none does. Pointers live as long as this.
  const DiscoveredResource* find(std::string_view group, std::string_view plural) const;
  const DiscoveredResource* preferred(std::string_view group, std::string_view kind) const;
  bool serves(std::string_view group, std::string_view version, std::string_view plural) const;
  // Whether every version of the group told what it serves, so that "not served" can be believed.
  bool complete(std::string_view group) const;

 private:
  std::vector<DiscoveredGroup> groups_;
};

// `client` must outlive the task, here and below.
Task<Result<Discovery>> discover(Client* client);

struct ServerVersion {
  int major = 0;
  int minor = 0;
  std::string git_version;  // "v1.36.4", "v1.31.2-gke.100"
  std::string platform;     // "linux/amd64"

  bool at_least(int wanted_major, int wanted_minor) const {
    return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
  }
};

Task<Result<ServerVersion>> server_version(Client* client);

// The documents, for those who have them already. An aggregated list, or a plain list of groups
// (/apis) or versions (/api), whose versions are then without resources and stale.
struct DiscoveryDocument {
  bool aggregated = false;
  std::vector<DiscoveredGroup> groups;
};
Result<DiscoveryDocument> parse_discovery(std::string_view text);
// An APIResourceList (/apis/apps/v1), into the version that it is of.
Result<void> parse_resource_list(std::string_view text, std::string_view group,
                                 DiscoveredVersion& into);
Result<ServerVersion> parse_server_version(std::string_view text);

}  // namespace mainspring::kube
