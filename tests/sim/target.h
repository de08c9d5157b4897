// tests/sim/target.h
//
// What a request's path names. Internal to KubeApi.
#pragma once

#include <memory>
#include <string>

#include "sim/kube_api.h"

namespace mainspring::sim {

struct KubeApi::Target {
  std::shared_ptr<const Kind> kind;
  std::string ns;
  std::string name;
  std::string subresource;
};

}  // namespace mainspring::sim
