// api/kind_schemas.h
//
// The schema of each of our kinds: spec and status. crds.cc makes definitions of them. Pure.
#pragma once

#include "api/schema.h"

namespace mainspring::api::schema {

struct KindSchema {
  Schema spec;
  Schema status;
};

KindSchema controller_schema();
KindSchema nodeset_schema();
KindSchema loginset_schema();
KindSchema restapi_schema();
KindSchema accounting_schema();
KindSchema token_schema();
KindSchema cluster_schema();

}  // namespace mainspring::api::schema
