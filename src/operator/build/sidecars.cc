#include "operator/build/sidecars.h"

#include <fmt/format.h>

#include <string>

#include "api/names.h"
#include "base/digest.h"
#include "operator/build/merge.h"
#include "operator/build/pod_parts.h"

namespace mainspring::op::build {
namespace {

using json::Value;

// The FIFO is open for writing too, so that reading never ends when a daemon closes its side, and
// no daemon waits for a reader. `wait` lets the shell hear SIGTERM while cat blocks.
constexpr std::string_view kLogfileScript = R"(set -eu
mkdir -p "${SOCKET%/*}"
[ -p "$SOCKET" ] || { rm -f "$SOCKET"; mkfifo -m 777 "$SOCKET"; }
cat <>"$SOCKET" &
reader=$!
trap 'kill "$reader"; exit 0' TERM INT
wait "$reader"
)";

constexpr std::string_view kApproved = "slurm-approved";
constexpr std::string_view kTakenUp = "slurm-taken-up";

// Names that begin with ".." are the kubelet's own; the files are links into them. The keys are not
// among what is hashed: their change rolls the pod. See files_hash.
constexpr std::string_view kReconfigureScript = R"sh(set -u
files() {
  for file in $(ls -A /etc/slurm | grep -v '^[.][.]' | LC_ALL=C sort); do
    case "$file" in slurm.key | jwt.key) continue ;; esac
    echo "$file $(stat -L -c %s "/etc/slurm/$file")"
    cat "/etc/slurm/$file"
  done | sha256sum | cut -d ' ' -f 1
}
taken_up=/run/taken-up/files
[ -s "$taken_up" ] || files >"$taken_up"
while sleep 5; do
  now=$(files)
  [ "$now" = "$(cat "$taken_up")" ] && continue
  [ "$now" = "$(cat /run/approved/files)" ] || continue
  scontrol reconfigure && echo "$now" >"$taken_up"
done
)sh";

}  // namespace

Result<Value> logfile_container(std::string_view path, const Value& users, Script script) {
  Value container =
      Value::object({{"name", "logfile"},
                     {"env", Value::array({Value::object({{"name", "SOCKET"}, {"value", path}})})},
                     {"restartPolicy", "Always"},
                     {"volumeMounts", Value::array({mount("slurm-logfile", "/var/log/slurm")})}});
  if (script == Script::kOurs) {
    container.set("command", Value::array({"sh", "-c", kLogfileScript}));
  }
  return with_context(merge_container(std::move(container), users), "spec.logfile");
}

Result<Value> reconfigure_container(const Value& users, Script script) {
  Value container = Value::object(
      {{"name", "reconfigure"},
       {"restartPolicy", "Always"},
       {"volumeMounts", Value::array({read_only_mount("slurm-etc", "/etc/slurm"),
                                      read_only_mount("slurm-authsocket", "/run/slurmctld")})}});
  if (script == Script::kOurs) {
    container["volumeMounts"].push_back(read_only_mount(kApproved, "/run/approved"));
    container["volumeMounts"].push_back(mount(kTakenUp, "/run/taken-up"));
    container.set("command", Value::array({"tini", "-g", "--", "bash", "-c", kReconfigureScript}));
  }
  return with_context(merge_container(std::move(container), users), "spec.reconfigure");
}

std::vector<Value> reconfigure_volumes() {
  const std::string path = fmt::format("metadata.annotations['{}']", api::annotation::kConfigSync);
  const Value field = Value::object({{"apiVersion", "v1"}, {"fieldPath", path}});
  const Value item = Value::object({{"path", "files"}, {"fieldRef", field}});
  return {Value::object({{"name", kApproved},
                         {"downwardAPI", Value::object({{"items", Value::array({item})}})}}),
          Value::object({{"name", kTakenUp}, {"emptyDir", Value::object()}})};
}

std::string files_hash(const std::map<std::string, std::string>& files) {
  std::string all;
  for (const auto& [name, bytes] : files) {
    all += fmt::format("{} {}\n", name, bytes.size());
    all += bytes;
  }
  return hex_encode(sha256(all));
}

}  // namespace mainspring::op::build
