"""Looks for anything on this machine that a cluster is made of, so that tests can see what stays."""

import subprocess
from pathlib import Path

from . import registry
from .layout import CLUSTERS
from .processes import MARK

# Where the programs would write if a node did not keep them to itself.
STANDARD_PLACES = ("/etc/cni", "/opt/cni", "/run/containerd", "/run/netns", "/var/lib/cni")
STANDARD_PLACES += ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


def traces_of(*names: str) -> set[str]:
    """Those that bear the name of one of these clusters: for tests that run beside others."""
    return {trace for trace in traces() if any(name in trace for name in names)}


def traces() -> set[str]:
    """Everything on this machine that clusters are made of, one line each, except what belongs to
    a cluster that others have in use and that is none of the tests'."""
    found = {f"folder {place}" for place in STANDARD_PLACES if Path(place).exists()}
    found |= {f"rule {r}" for r in _lines("nft", "list", "ruleset")}
    foreign = [registry.existing(n) for n in registry.names() if not n.startswith("test-")]
    bridges = tuple(cluster.bridge for cluster in foreign)
    for link in Path("/sys/class/net").glob("mscl*"):
        if not link.name.startswith(bridges):
            found.add(f"link {link.name}")
            found |= {f"route {r.strip()}" for r in _lines("ip", "route", "show", "dev", link.name)}
    folders = {str(cluster.folder) for cluster in foreign}
    found |= {f"folder {folder}" for folder in CLUSTERS.glob("*") if str(folder) not in folders}
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    below = tuple(f"{folder}/" for folder in folders)
    mine = (m for m in mounts if m.startswith(f"{CLUSTERS}/") and not m.startswith(below))
    found |= {f"mount {mount}" for mount in mine}
    groups = {cluster.cgroup for cluster in foreign}
    for pattern in ("mscl-*", "*/mscl-*"):
        there = Path("/sys/fs/cgroup").glob(pattern)
        found |= {f"cgroup {group}" for group in there if group.name not in groups}
    found |= {f"process {pid} of {folder}" for pid, folder in _marked() if folder not in folders}
    return found


def processes_of(name: str) -> set[int]:
    return {pid for pid, folder in _marked() if folder == str(CLUSTERS / name)}


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def _marked() -> list[tuple[int, str]]:
    """The processes of any cluster, with the folder of the cluster."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            variables = (entry / "environ").read_text(errors="replace").split("\0")
        except OSError:
            continue
        folders = [v.partition("=")[2] for v in variables if v.startswith(f"{MARK}=")]
        found += [(int(entry.name), folder) for folder in folders]
    return found
