// bridge/gang/gang_size.h
//
// How many pods of a whole Job or JobSet run together: those that are still to come, for pods that
// have succeeded are not made again. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "kube/batch.h"
#include "kube/gangs.h"

namespace mainspring::bridge {

// What the pods of a JobSet show.
struct JobSetProgress {
  std::set<std::string, std::less<>> begun;                    // Replicated jobs that have pods.
  std::map<std::string, std::int32_t, std::less<>> succeeded;  // Pods, by the Job's name.
};

std::int32_t pods_to_come(const kube::Job& job);

// Jobs that are made after others count once they have pods: before, those others would wait for
// them and they for those.
std::int32_t pods_to_come(const kube::JobSet& set, const JobSetProgress& progress);

}  // namespace mainspring::bridge
