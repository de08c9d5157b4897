// app/slurm_server.h
//
// The flags that say how slurmrestd is reached, and the transport that follows from them and from
// the proxies of the environment.
#pragma once

#include <memory>
#include <string>

#include "control/process.h"
#include "http/client.h"

namespace CLI {
class App;
}

namespace mainspring::app {

struct SlurmServerFlags {
  std::string ca_file;
};

// Must outlive the parsing.
void add_slurm_server_flags(CLI::App& command, SlurmServerFlags& flags);

// On the control loop of `process`, which must outlive it.
Result<std::unique_ptr<http::Client>> slurm_transport(const SlurmServerFlags& flags,
                                                      control::Process& process);

}  // namespace mainspring::app
