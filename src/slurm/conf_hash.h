// slurm/conf_hash.h
//
// The hash by which Slurm's daemons tell whether they have read the same slurm.conf: slurmctld
// shows it as HashValue of GET conf (HASH_VAL of `scontrol show config`). With it, and with nothing
// else that REST has, one can say which text a running slurmctld has read. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mainspring::slurm {

// Of this text as it is, comments and all. Unset where the text alone does not say it: other files
// are read in the middle of it (Include), or bytes beyond ASCII, which count differently by
// machine.
std::optional<std::uint32_t> conf_hash(std::string_view text);

}  // namespace mainspring::slurm
