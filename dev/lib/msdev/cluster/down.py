"""`dev/cluster down`: removes everything of a cluster, however little or much of it there is.

Each step removes what is there and does not mind what is not; the record goes last, so an
interrupted `down` is completed by the next one.
"""

import subprocess
from pathlib import Path

from ..cache import remove_tree
from ..console import say
from . import cgroups, network, processes, registry
from .layout import CLUSTERS, Cluster


def down(name: str) -> None:
    with registry.changing(name):
        cluster = registry.find(name)
        if cluster is not None:
            remove(cluster)
            say(f"Cluster '{name}' is gone.")
        elif (CLUSTERS / name).exists():
            # Killed before its record was written or after it was removed: only files are left.
            remove_tree(CLUSTERS / name)
            say(f"Cluster '{name}' is gone.")
        else:
            say(f"There is no cluster '{name}'.")


def remove(cluster: Cluster) -> None:
    processes.end_all(cluster)
    network.remove(cluster)
    cgroups.remove(cluster)
    _unmount_below(cluster.folder)
    for entry in cluster.folder.iterdir():
        if entry.name != "cluster.json":
            _remove(entry)
    registry.forget(cluster)
    remove_tree(cluster.folder)


def _unmount_below(folder: Path) -> None:
    """Nodes mount in namespaces of their own; this is for what a person mounted by hand, whose
    files must not be deleted along."""
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        place = line.split()[1]
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", place], check=True)


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        remove_tree(entry)
    else:
        entry.unlink()
