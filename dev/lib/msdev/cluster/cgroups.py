"""The control groups that hold a cluster's pods: /mscl-NAME/nN in every hierarchy.

On cgroup v1 each controller is a hierarchy of its own, and a new cpuset is unusable until it is
told its CPUs. On v2 there is one, in which a parent must hand its controllers down. The root group
goes on doing so when the cluster is gone: the kernel takes a controller away from groups that use it
themselves without a word, so nobody can see whether another relies on it by now.
"""

import os
import time
from pathlib import Path

from ..console import Failure
from ..process import wait_for
from .layout import Cluster, Node

PATIENCE = 10.0


def ensure(node: Node) -> None:
    for root in _hierarchies("cgroup") or _hierarchies("cgroup2"):
        parent, child = root / node.cluster.cgroup, root / node.cgroup.lstrip("/")
        for group in (parent, child):
            group.mkdir(exist_ok=True)
            _make_usable(group)


def clear(node: Node) -> None:
    """Of groups that a killed node left: its next kubelet would wait seconds for each of them."""
    _remove_everywhere(node.cgroup.lstrip("/"))


def remove(cluster: Cluster) -> None:
    _remove_everywhere(cluster.cgroup)


def _remove_everywhere(name: str) -> None:
    """In v2's hierarchy also beside v1's: runc makes groups there by itself."""
    for root in _hierarchies("cgroup") + _hierarchies("cgroup2"):
        group = root / name
        if not wait_for(lambda: _removed(group), PATIENCE):
            raise Failure(f"{group} cannot be removed; it has processes: {_processes(group)}")


def _hierarchies(kind: str) -> list[Path]:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(mount[1]) for mount in mounts if mount[2] == kind]


def _make_usable(group: Path) -> None:
    for file in ("cpuset.cpus", "cpuset.mems"):
        own = group / file
        # On v2 empty means the same as the parent; on v1 it means none.
        if (
            (group / "cgroup.clone_children").exists()
            and own.exists()
            and not own.read_text().strip()
        ):
            own.write_text((group.parent / file).read_text())
    if (group / "cgroup.subtree_control").exists():
        for level in (group.parent, group):
            controllers = (level / "cgroup.controllers").read_text().split()
            (level / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in controllers))


def _removed(group: Path) -> bool:
    """Takes away what can be taken away now: a group frees itself a moment after its last process."""
    if not group.exists():
        return True
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            time.sleep(0.001)
    return not group.exists()


def _processes(group: Path) -> list[str]:
    return [pid for file in group.rglob("cgroup.procs") for pid in file.read_text().split()]
