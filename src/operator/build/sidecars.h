// operator/build/sidecars.h
//
// The containers that stand beside a daemon of ours. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace mainspring::op::build {

// Whose script a sidecar runs. kTheirs leaves `command` out: under server-side apply a script that
// another operator wrote into the template then stays, and no pod is restarted for the sake of
// ours.
enum class Script { kOurs, kTheirs };

// Prints what a daemon writes to the FIFO at `path`, so that `kubectl logs` shows it.
Result<json::Value> logfile_container(std::string_view path, const json::Value& users,
                                      Script script = Script::kOurs);

// Has slurmctld take up files of /etc/slurm when they change.
Result<json::Value> reconfigure_container(const json::Value& users, Script script = Script::kOurs);

}  // namespace mainspring::op::build
