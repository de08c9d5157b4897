// bench/kube_apply.h
//
// Server-side apply of many ConfigMaps, 32 in flight: by kube::Api as a controller does it, or by
// requests made beforehand and written to 32 connections as fast as the API server takes them. The
// second is what the first is measured against.
#pragma once

#include <string>

#include "kube_process.h"

namespace mainspring::bench {

// Applies NAME-0 to NAME-(count-1) and prints how many a second.
void apply_config_maps(Process& process, bool raw, int count, const std::string& name);

}  // namespace mainspring::bench
