// operator/webhook/config_check.h
//
// Whether a configuration may be handed to slurmctld, and if not, which field of which object is to
// blame. Pure: the linter (slurm/conf_lint.h) over what operator/build would write and what the
// user's ConfigMaps hold.
//
// What was wrong before a change is no reason to refuse it: it becomes a warning. So an object that
// was taken over, or that an older linter let through, can still be edited and repaired. A name of
// nodes that nobody has defined yet is a warning, too: objects come one after the other.
#pragma once

#include <string>
#include <vector>

#include "api/validate.h"
#include "operator/build/slurm_conf.h"
#include "slurm/conf_lint.h"

namespace mainspring::op {

// Whose change is being judged, which decides what the fields are called.
enum class ConfigSubject : std::uint8_t { kController, kNodeSet, kConfigMap };

// `nodeset` is the one that changes, where one does: its extraConf is looked at as slurmctld would
// when its workers register. `before` is null where there was no configuration.
struct ConfigVersion {
  const build::SlurmConfInputs& inputs;
  const api::NodeSet* nodeset = nullptr;
};
api::Findings check_config(ConfigSubject subject, const ConfigVersion& after,
                           const ConfigVersion* before);

// slurmdbd.conf, from spec.extraConf.
api::Findings check_slurmdbd(const api::Accounting& after, const api::Accounting* before);

// The names of the files in a ConfigMap of configFileRefs, or with scripts, which may have any but
// that of a file that we write: theirs would take its place. What `before` had too is not refused.
enum class FileKind : std::uint8_t { kConfig, kScript };
api::Findings check_file_names(const std::string& field, FileKind kind,
                               const kube::ConfigMap& after, const kube::ConfigMap* before);

void append(api::Findings& to, api::Findings more);

}  // namespace mainspring::op
