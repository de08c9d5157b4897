// tests/sim/discovery.h
//
// The documents by which clients find out what is served: /api, /apis (aggregated, as asked for by
// the Accept header, or plain), /apis/GROUP/VERSION, /version and the health checks. Pure.
#pragma once

#include <optional>

#include "http/message.h"
#include "sim/kinds.h"

namespace mainspring::sim {

// nullopt where the request is for something else. `minor`: of Kubernetes 1.
std::optional<http::Response> discover(const Kinds& kinds, int minor, const http::Request& request);

}  // namespace mainspring::sim
