"""Looks for anything on this machine that a cluster is made of, so that tests can see what stays."""

import re
import subprocess
from pathlib import Path

from . import registry
from .layout import CLUSTERS, Cluster
from .processes import MARK

# Where the programs would write if a node did not keep them to itself.
STANDARD_PLACES = ("/etc/cni", "/opt/cni", "/run/containerd", "/run/netns", "/var/lib/cni")
STANDARD_PLACES += ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


def traces() -> set[str]:
    """Everything on this machine that clusters are made of, one line each, except what belongs to
    a cluster that others have in use and that is none of the tests'."""
    found = {f"folder {place}" for place in STANDARD_PLACES if Path(place).exists()}
    return found | _traces(lambda name: not name.startswith("test-"))


class Footprint:
    """What clusters of these names leave behind: for tests that run beside others.

    Most of a cluster bears its name, but interfaces, routes and rules bear its index, which the next
    cluster of that name need not have. So `note()` it before each `down`.
    """

    def __init__(self, *names: str):
        self.names = names
        self.indexes: set[int] = set()
        self.before: set[str] = set()
        self.before = self.left()

    def note(self) -> None:
        found = (registry.find(name) for name in self.names)
        self.indexes |= {cluster.index for cluster in found if cluster}

    def left(self) -> set[str]:
        """What is there now and was not when this began."""
        found = _traces(lambda name: name not in self.names)
        return {trace for trace in found if self._is_ours(trace)} - self.before

    def _is_ours(self, trace: str) -> bool:
        indexes = {int(i) for i in re.findall(r"\bmscl(\d+)", trace)}
        indexes |= {int(i) - 100 for i in re.findall(r"\b10\.(1\d\d)\.", trace)}
        return bool(indexes & self.indexes) or any(name in trace for name in self.names)


def _traces(is_foreign) -> set[str]:
    """Without what belongs to clusters whose name says that they are none of ours."""
    foreign = _clusters(is_foreign)
    found = {f"rule {r}" for r in _lines("nft", "list", "ruleset")}
    links = [link.name for link in Path("/sys/class/net").glob("mscl*")]
    routes = {link: _lines("ip", "route", "show", "dev", link) for link in links}
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    folders = list(CLUSTERS.glob("*"))
    groups = [g for pattern in ("mscl-*", "*/mscl-*") for g in Path("/sys/fs/cgroup").glob(pattern)]
    processes = _marked()
    # Others come and go meanwhile: a record is written before and removed after all that it stands
    # for, so the owner of whatever was seen has one now or had one at the beginning.
    foreign += _clusters(is_foreign)
    indexes = {cluster.index for cluster in foreign}
    theirs = {str(cluster.folder) for cluster in foreign}
    for link in links:
        if int(re.match(r"mscl(\d+)", link)[1]) not in indexes:
            found |= {f"link {link}"} | {f"route {r.strip()} dev {link}" for r in routes[link]}
    found |= {f"folder {folder}" for folder in folders if str(folder) not in theirs}
    below = tuple(f"{folder}/" for folder in theirs)
    mine = (m for m in mounts if m.startswith(f"{CLUSTERS}/") and not m.startswith(below))
    found |= {f"mount {mount}" for mount in mine}
    used = {cluster.cgroup for cluster in foreign}
    found |= {f"cgroup {group}" for group in groups if group.name not in used}
    found |= {f"process {pid} of {folder}" for pid, folder in processes if folder not in theirs}
    return found


def _clusters(is_foreign) -> list[Cluster]:
    found = (registry.find(name) for name in registry.names() if is_foreign(name))
    return [cluster for cluster in found if cluster]


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
