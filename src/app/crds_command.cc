#include "app/crds_command.h"

#include <fmt/core.h>

#include <cstdio>

#include "api/crds.h"

namespace mainspring::app {

int run_crds() {
  for (const json::Value& crd : api::crds()) fmt::print("---\n{}", api::crd_text(crd));
  // A pipe that closed early must not look like a whole answer.
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace mainspring::app
