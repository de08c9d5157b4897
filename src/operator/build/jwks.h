// operator/build/jwks.h
//
// Whether slurmctld can start with a file of keys for tokens (spec.jwksKeyRef). It reads the file
// when it starts and at every reconfigure, and ends at one that it cannot use. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "slurm/conf_lint.h"

namespace mainspring::op::build {

inline constexpr std::string_view kJwksFile = "jwks.json";

// Unset where nothing is wrong.
std::optional<slurm::Finding> check_jwks(std::string_view text);

}  // namespace mainspring::op::build
