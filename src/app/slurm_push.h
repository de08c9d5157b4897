// app/slurm_push.h
//
// The door through which slurmctld's scripts say that a job started or ended (docs/slurm-push.md):
// its flags, and the way from the serving loop, where it is, to the control loop, where caches are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/object_key.h"
#include "control/process.h"
#include "slurm/cache.h"

namespace CLI {
class App;
}

namespace mainspring::app {

struct PushFlags {
  std::string address = "0";
  std::string key_file;
};

// Must outlive the parsing.
void add_push_flags(CLI::App& command, PushFlags& flags);

// Called on the control loop. The key is {namespace} and {name} of the path, empty where it has
// none.
using TellCache = std::function<void(KeyView cluster, const slurm::PushedEvent& event)>;

// Does nothing where the flags ask for none. What `tell` uses must live until the process has run.
Result<void> serve_pushes(const PushFlags& flags, control::Process& process, std::string_view path,
                          TellCache tell);

}  // namespace mainspring::app
