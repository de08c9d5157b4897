// bridge/translate/reason.h
//
// Why a pod does not run yet, in words for its owner: of a job that waits, and of Slurm's refusal.
// Pure. Slurm's words stay in it, with what they mean and what to do beside them.
#pragma once

#include <string>

#include "base/error.h"
#include "slurm/job.h"

namespace mainspring::bridge {

// "Slurm job 42 is waiting: Resources (...). Expected to start at 2026-11-16T15:00:00Z."
std::string waiting_text(const slurm::Job& job);
// How a job ended, for the pods that it takes with it.
std::string ended_text(const slurm::Job& job);

struct Refusal {
  std::string text;
  // The same would be refused again until somebody changes the workload or the cluster.
  bool lasting = false;
};
Refusal refusal_text(const Error& error);

}  // namespace mainspring::bridge
