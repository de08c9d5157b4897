// api/additions.h
//
// What our definitions have beyond the public contract of slinky.slurm.net: one table, which tests
// compare with the definitions and with docs/crds.md. Nothing else may differ. Pure.
#pragma once

#include <span>
#include <string_view>

namespace mainspring::api {

struct Addition {
  std::string_view kind;
  std::string_view path;  // ".status.config.hash"; empty for a whole kind.
};

std::span<const Addition> additions();

}  // namespace mainspring::api
