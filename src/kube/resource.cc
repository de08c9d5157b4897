#include "kube/resource.h"

#include "http/url.h"

namespace mainspring::kube {

std::string Resource::path(std::string_view ns, std::string_view name,
                           std::string_view subresource) const {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  const auto add = [&path](std::string_view segment) {
    path += '/';
    path += http::percent_encode(segment);
  };
  if (namespaced && !ns.empty()) {
    add("namespaces");
    add(ns);
  }
  add(plural);
  if (!name.empty()) add(name);
  if (!subresource.empty()) add(subresource);
  return path;
}

}  // namespace mainspring::kube
