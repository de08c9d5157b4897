// slurm/record_versions.h
//
// Which fields of our records an older version of the API does not have: there they keep their
// default, and whoever decides by one must know that. A test holds the table against the OpenAPI
// documents of every version, both ways: what is not named here is in all of them. Pure data.
#pragma once

#include <span>
#include <string_view>

#include "slurm/versions.h"

namespace mainspring::slurm {

struct FieldSince {
  std::string_view record;  // "Node"
  std::string_view field;   // "topology", "partition.exclusive": as the answer has it
  Version since;
};
std::span<const FieldSince> fields_since();

// Whether answers of `version` have the field. True for everything that the table does not name.
bool has_field(Version version, std::string_view record, std::string_view field);

}  // namespace mainspring::slurm
