#include "operator/build/sidecars.h"

#include <string>

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

// Names that begin with ".." are the kubelet's own; the files are links into them.
constexpr std::string_view kReconfigureScript = R"(set -u
files() {
  find -L /etc/slurm -path '*/..*' -prune -o -type f -exec sha256sum {} + | sort -k2 | sha256sum
}
seen=$(files)
while sleep 5; do
  now=$(files)
  [ "$now" = "$seen" ] && continue
  until scontrol reconfigure; do sleep 2; done
  seen=$now
done
)";

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
    container.set("command", Value::array({"tini", "-g", "--", "bash", "-c", kReconfigureScript}));
  }
  return with_context(merge_container(std::move(container), users), "spec.reconfigure");
}

}  // namespace mainspring::op::build
