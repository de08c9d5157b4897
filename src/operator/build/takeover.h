// operator/build/takeover.h
//
// How a Deployment or StatefulSet that the operator before us made is taken over without a restart
// of its pods. Pure.
//
// That operator left things out of its pod templates that belong there: hashes of keys and
// configuration, the user's metadata, repairs. Adding them rolls the pods, and nobody asked for
// that at the moment of the take-over. So the template stays as it was made, and a hash of the one
// that we would have written is kept in an annotation of the workload itself, which rolls nothing.
// Once that template changes for any reason (a key, a configuration, the user's wishes), the pods
// have to roll anyway: then it is written whole, and the workload is like one of our own.
#pragma once

#include <string>
#include <string_view>

#include "json/string_map.h"
#include "json/value.h"

namespace mainspring::op::build {

// Ours, on the workload: "complete", or "as-found-HASH" while the template is as it was found.
inline constexpr std::string_view kTemplateAnnotation = "mainspring.slurm.net/template";

struct TemplateChoice {
  json::Value pod_template;
  std::string mark;  // The value of kTemplateAnnotation.
};

// `complete`: as we want it. `as_found`: as the operator before us wrote it for the same spec, or
// less: server-side apply leaves alone what is not named. `live`: the workload's own annotations;
// null where it does not exist.
TemplateChoice choose_template(json::Value complete, json::Value as_found,
                               const json::StringMap* live);

}  // namespace mainspring::op::build
