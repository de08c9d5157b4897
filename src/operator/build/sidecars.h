// operator/build/sidecars.h
//
// The containers that stand beside a daemon of ours. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// Has slurmctld take up files of /etc/slurm when they have changed and are those that the operator
// has looked at: their hash, files_hash(), is the one that it noted on the pod. A bad file stops a
// slurmctld that takes it up. What slurmctld has outlives the sidecar: it may restart just when the
// files change.
Result<json::Value> reconfigure_container(const json::Value& users, Script script = Script::kOurs);
// Show that note to the sidecar, and keep its own of what slurmctld has.
std::vector<json::Value> reconfigure_volumes();
// Of the files of /etc/slurm but for the two keys, by their names.
std::string files_hash(const std::map<std::string, std::string>& files);

}  // namespace mainspring::op::build
