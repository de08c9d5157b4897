// tests/sim/operator_kinds.h
//
// Our custom kinds, served by an API server in memory: any fields, with a status of their own.
#pragma once

#include "api/accounting.h"
#include "api/cluster.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "sim/custom_kind.h"

namespace mainspring::sim {

inline void serve_our_kinds(KubeApi& server) {
  for (const kube::Resource& kind :
       {api::Controller::kResource, api::NodeSet::kResource, api::LoginSet::kResource,
        api::RestApi::kResource, api::Accounting::kResource, api::Token::kResource,
        api::Cluster::kResource}) {
    serve_kind(server, kind);
  }
}

}  // namespace mainspring::sim
