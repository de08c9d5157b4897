// operator/build/config_change.h
//
// Whether a change of configuration needs a restart of slurmctld or only a reconfigure. Pure.
//
// The rule: since 23.11 a reconfigure starts the daemons' programs anew and hands over to them, so
// plugins, scheduling, accounting, topology and gres are all taken up by it. scontrol(1) names what
// is not: how the daemons listen, and how they authenticate. To these we add what a slurmctld is
// known by, so that it never changes its identity or its state in mid-flight. Settings that
// concern slurmd alone are not here: a restart of slurmctld would not help them.
#pragma once

#include <map>
#include <string>

namespace mainspring::op::build {

// A hash over the settings of slurm.conf that only a restart takes up. Two configurations with the
// same hash differ in nothing but what `reconfigure` takes up. Comments, order, the case of keys
// and values that a later line replaces do not matter.
std::string restart_hash(const std::map<std::string, std::string>& files);
// The same for slurmrestd, which nobody reconfigures: it has read its slurm.conf when it started.
// Beside what concerns slurmctld it is how it finds slurmdbd, and how it speaks.
std::string rest_hash(const std::map<std::string, std::string>& files);

}  // namespace mainspring::op::build
