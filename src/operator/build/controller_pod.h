// operator/build/controller_pod.h
//
// slurmctld's pod template, a part of controller.h for itself. Pure.
#pragma once

#include <string>

#include "operator/build/controller.h"
#include "operator/build/metadata.h"

namespace mainspring::op::build {

// Of everything that belongs to a Controller: what the Controller carries itself, then `more`, then
// our labels.
Metadata controller_metadata(const api::Controller& controller, const api::TemplateMeta& more);
// All services carry the same name and instance. A ServiceMonitor that took more than one would
// have Prometheus ask every slurmctld twice.
inline constexpr std::string_view kMonitorLabel = "prometheus.io/service-monitor";

Labels controller_labels(const api::Controller& controller);

// {metadata, spec}, without the volume that holds the state. kContract is what the public contract
// has, and nothing that would roll the pod of another operator; kFull is what we would have.
enum class Extent { kContract, kFull };
Result<json::Value> controller_pod_template(const ControllerInputs& inputs,
                                            const std::string& config_hash, Extent extent);

}  // namespace mainspring::op::build
