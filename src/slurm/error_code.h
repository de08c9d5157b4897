// slurm/error_code.h
//
// What a Slurm error number means to whoever called: the table behind slurm/errors.h, which is what
// others use. Pure data.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "slurm/versions.h"

namespace mainspring::slurm {

// nullopt for a number that is not in the table: the HTTP status decides.
std::optional<Code> code_of(Endpoint endpoint, std::int32_t number);

// Whether the endpoint's path or query names one thing, so that "no such" means that one.
bool names_one_thing(Endpoint endpoint);

}  // namespace mainspring::slurm
