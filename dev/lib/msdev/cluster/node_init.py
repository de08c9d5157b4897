"""PID 1 of a node: arranges what the node sees, starts its daemons, restarts them, reaps.

Runs in the node's own pid, mount, uts and network namespaces, so nothing it mounts is seen outside
and everything below it ends with it. Reads one JSON file, written by node.py; uses nothing of this
package, for it outlives the command that started it.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

RESTART_PAUSE = 1.0
# The kubelet insists on these values of the whole machine; it is shown files that already say so.
SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
}


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    os.environ["PATH"] = config["path"]
    Path("/proc/sys/kernel/hostname").write_text(config["hostname"])
    arrange_mounts(config)
    running = {}
    start(config, "containerd", running)
    import_images(config)
    start(config, "kubelet", running)
    start(config, "kube-proxy", running)
    print("node runs", flush=True)
    supervise(config, running)


def arrange_mounts(config: dict) -> None:
    folder = Path(config["folder"])
    forget_foreign_mounts(config["hide"])
    mount("-t", "proc", "proc", "/proc")
    # /sys must be this network namespace's, and a new one lacks the control groups.
    groups = folder / "cgroup"
    groups.mkdir(exist_ok=True)
    mount("--rbind", "/sys/fs/cgroup", groups)
    mount("-t", "sysfs", "sysfs", "/sys")
    mount("--rbind", groups, "/sys/fs/cgroup")
    subprocess.run(["umount", "--recursive", "--lazy", groups], check=True)
    own_folder(folder / "var-lib", "/var/lib", config["keep"])
    own_folder(folder / "var-log", "/var/log", config["keep"])
    for path in ("/etc", "/opt"):
        writable_copy(path, folder / f"overlay{path}")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for path in ("/run/lock", "/run/netns", "/run/sysctl", "/var/lib/kubelet", "/etc/cni/net.d"):
        Path(path).mkdir(parents=True, exist_ok=True)
    Path("/etc/cni/net.d/10-pods.conflist").write_text((folder / "config/cni.conflist").read_text())
    for name, value in SYSCTLS.items():
        stand_in = Path("/run/sysctl") / name.replace("/", ".")
        stand_in.write_text(f"{value}\n")
        mount("--bind", stand_in, f"/proc/sys/{name}")
    # Last, or the mounts above would multiply: pods may share mounts with their node.
    mount("--make-rshared", "/")


def forget_foreign_mounts(folder: str) -> None:
    """This mount namespace began as a copy of the machine's. Mounts of other clusters in it would
    keep what they stand for alive after those clusters are gone."""
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        place = line.split()[1]
        if place.startswith(folder + "/"):
            subprocess.run(["umount", "--lazy", place], check=True)


def own_folder(source: Path, target: str, keep: list[str]) -> None:
    """The node's own folder in place of the machine's, except what the node must still reach."""
    for path in keep:
        if Path(path).is_relative_to(target):
            point = source / Path(path).relative_to(target)
            point.mkdir(parents=True, exist_ok=True)
            mount("--rbind", path, point)
    mount("--rbind", source, target)


def writable_copy(path: str, folder: Path) -> None:
    """The machine's folder, but what is written stays with the node."""
    for layer in ("upper", "work"):
        (folder / layer).mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={path},upperdir={folder}/upper,workdir={folder}/work"
    mount("-t", "overlay", "-o", layers, "overlay", path)


def mount(*arguments) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def import_images(config: dict) -> None:
    """Before the kubelet runs: the first pod needs its sandbox's image."""
    ctr = [config["ctr"], "--address", config["socket"], "--namespace", "k8s.io"]
    for _ in range(300):
        if subprocess.run([*ctr, "version"], capture_output=True).returncode == 0:
            break
        time.sleep(0.1)
    for image in config["images"]:
        subprocess.run([*ctr, "images", "import", image], check=True)


def start(config: dict, name: str, running: dict) -> None:
    command = config["daemons"][name]
    with open(command["log"], "ab") as out:
        child = subprocess.Popen(
            command["argv"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # The object is kept: Python would reap behind our back what nobody refers to.
    running[child.pid] = (name, child)


def supervise(config: dict, running: dict) -> None:
    """Also reaps what pods and daemons leave behind. Ends only by being killed."""
    while True:
        pid, status = os.wait()
        if pid in running:
            name, _ = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            print(f"{name} ended ({code}); it is started again", flush=True)
            time.sleep(RESTART_PAUSE)
            start(config, name, running)


if __name__ == "__main__":
    main()
