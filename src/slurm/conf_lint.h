// slurm/conf_lint.h
//
// What is wrong with a set of Slurm's files, before a daemon finds out: slurm.conf, cgroup.conf,
// gres.conf, slurmdbd.conf and topology.yaml, each alone and against the others.
//
// slurmctld has no way to test a file. It dies on a bad one, with every job's controller, and a
// configless one hands it on to every slurmd. So: kError where a daemon that reads the files would
// stop, or where a value could smuggle in settings nobody meant; kWarning where the daemon
// complains and goes on without what was asked for. What depends on the machine (users, paths that
// must exist, names that must resolve) is not looked at.
//
// Pure functions: no I/O, no clock. Findings repeat no text of a line that could be a password.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "slurm/conf_keys.h"

namespace mainspring::slurm {

enum class Severity { kWarning, kError };

struct Finding {
  Severity severity = Severity::kError;
  std::string file;
  std::size_t line = 0;  // counted from 1; 0 where it is about the file as a whole
  std::string key;
  std::string message;
  std::string advice;
  // The node or node set that the line names and no line defines: nothing is wrong once somebody
  // brings it. Empty where the finding is another.
  std::string undefined = {};

  bool operator==(const Finding&) const = default;
};

// "slurm.conf:12: error: KillWait: "abc" is not a number; use a number from 0 to 65535"
std::string to_string(const Finding& finding);

// Text by name. Included files are found by the name that stands behind Include.
using ConfSet = std::map<std::string, std::string, std::less<>>;

struct LintOptions {
  Release release = kNewestRelease;
  std::size_t max_bytes = std::size_t{1} << 20;  // what a ConfigMap holds, names and texts together
  std::size_t max_findings = 500;
};

// By file and line. A file that is not in the set is not missed, except where another names it.
std::vector<Finding> lint(const ConfSet& files, const LintOptions& options = {});

bool has_errors(const std::vector<Finding>& findings);

}  // namespace mainspring::slurm
