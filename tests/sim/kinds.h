// tests/sim/kinds.h
//
// Which kinds an API server serves, and what is particular about each: subresources, generations,
// selectable fields, how deletion answers. The built-in ones are a table; custom ones come and go
// with their CustomResourceDefinition. Owned by KubeApi.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kube/resource.h"
#include "sim/shape.h"

namespace mainspring::sim {

class Schema;

struct Kind {
  kube::Resource resource;
  std::string singular;
  std::vector<std::string> short_names;

  bool custom = false;
  bool has_status = false;
  bool has_scale = false;
  bool counts_generations = false;
  // An update may leave out the resource version; and it may create what is not there.
  bool unconditional_update = true;
  bool creates_on_update = false;
  // DELETE answers with the object rather than a Status.
  bool returns_deleted = false;
  // Not stored: a question that is answered (SubjectAccessReview).
  bool virtual_kind = false;
  std::vector<std::string> selectable_fields;  // Beside metadata.name and metadata.namespace.

  std::shared_ptr<const Shape> shape;
  // Custom kinds only.
  std::shared_ptr<const Schema> schema;
  std::string replicas_path;  // JSON pointers, of the scale subresource.
  std::string status_replicas_path;
  std::string selector_path;

  // Versions of a kind share their objects.
  std::string collection() const { return resource.to_string(); }
};

class Kinds {
 public:
  Kinds();

  // Null where nothing of that name is served.
  std::shared_ptr<const Kind> find(std::string_view group, std::string_view version,
                                   std::string_view plural) const;
  // By kind, as owner references and manifests name it.
  std::shared_ptr<const Kind> find_kind(std::string_view api_version, std::string_view kind) const;
  bool serves_group(std::string_view group, std::string_view version) const;

  // Replaces what this CustomResourceDefinition served before.
  void install(const json::Value& definition);
  void uninstall(std::string_view group, std::string_view plural);

  // One for each stored collection: the first version that was added.
  std::vector<std::shared_ptr<const Kind>> stored() const;
  const std::vector<std::shared_ptr<const Kind>>& all() const { return kinds_; }

 private:
  std::vector<std::shared_ptr<const Kind>> kinds_;
};

}  // namespace mainspring::sim
