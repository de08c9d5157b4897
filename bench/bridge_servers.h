// bench/bridge_servers.h
//
// The servers that the bridge stands between, without the bridge: other people's jobs in Slurm's
// queue, and how many pods a second the servers can take at all, asked by a client that decides
// nothing. The second is what the bridge is measured against. slurmrestd is the one of SLURM_URL,
// with the token in SLURM_TOKEN.
#pragma once

#include <string>
#include <string_view>

#include "kube_process.h"

namespace mainspring::bench {

inline constexpr std::string_view kBridgeNamespace = "bench";
inline constexpr std::string_view kBridgePartition = "slurm-bridge";

// Calls under way at once.
inline constexpr std::size_t kBridgeInFlight = 48;

// One of many alike that ask for a core.
json::Value bridge_pod(const std::string& name, std::string_view scheduler,
                       std::string_view group = {});

// Jobs in the partition of the pods that may not begin before tomorrow.
void queue_jobs(Process& process, int count);

// What the bridge must ask for one pod, for `count` of them: "api" makes, marks and binds pods,
// "slurm" allocates jobs and reads them, "both" does all of it. Prints how many a second, and
// removes them again.
void ask_servers(Process& process, std::string_view which, const std::string& name, int count);

}  // namespace mainspring::bench
