"""Which clusters exist: their records on disk, their indexes, and who may change one now.

A record is written before anything of the cluster is made and removed after everything of it is
gone, so whatever an interrupted command left is always found by its record.
"""

import ipaddress
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from ..cache import locked
from ..console import Failure
from ..paths import STATE
from .layout import CLUSTERS, MAX_CLUSTERS, Cluster

NAME = re.compile(r"[a-z]([a-z0-9-]{0,18}[a-z0-9])?")


def boot_id() -> str:
    """Differs after every restart of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def changing(name: str):
    """Held by whoever changes this cluster. A forked child holds it until it executes a program:
    so whoever gets the lock also sees every process that the previous holder started."""
    if not NAME.fullmatch(name):
        raise Failure(
            f"'{name}' cannot be a cluster's name: it takes up to 20 of a-z, 0-9 and '-', "
            "beginning with a letter"
        )
    return locked(STATE / "locks" / f"cluster-{name}.lock")


def find(name: str) -> Cluster | None:
    record = _read(CLUSTERS / name)
    if record is None:
        return None
    audit = record.get("audit", False)
    return Cluster(name, record["index"], record["nodes"], record["feature_gates"], audit)


def existing(name: str) -> Cluster:
    cluster = find(name)
    if cluster is None:
        others = names()
        hint = f"there are: {', '.join(others)}" if others else "there is none"
        raise Failure(f"no cluster is called '{name}' ({hint}); 'dev/cluster up' makes one")
    return cluster


def names() -> list[str]:
    return sorted(_records())


def from_this_boot(cluster: Cluster) -> bool:
    return (_read(cluster.folder) or {}).get("boot_id") == boot_id()


def create(name: str, node_count: int, feature_gates: dict[str, bool], audit: bool) -> Cluster:
    with locked(STATE / "locks" / "clusters.lock"):
        taken = {record["index"] for record in _records().values()}
        free = (i for i in range(MAX_CLUSTERS) if i not in taken)
        for index in free:
            cluster = Cluster(name, index, node_count, feature_gates, audit)
            if not _used_by_strangers(cluster):
                save(cluster)
                return cluster
    raise Failure(
        f"all {MAX_CLUSTERS} address ranges are taken, by clusters ('dev/cluster status') or by other "
        "interfaces and routes of this machine ('ip route')"
    )


def resize(cluster: Cluster, node_count: int) -> Cluster:
    cluster = replace(cluster, node_count=node_count)
    save(cluster)
    return cluster


def save(cluster: Cluster) -> None:
    record = {
        "index": cluster.index,
        "nodes": cluster.node_count,
        "feature_gates": cluster.feature_gates,
        "audit": cluster.audit,
        "boot_id": boot_id(),
    }
    cluster.folder.mkdir(parents=True, exist_ok=True)
    unfinished = cluster.folder / "cluster.json.unfinished"
    unfinished.write_text(json.dumps(record, indent=2) + "\n")
    unfinished.rename(cluster.folder / "cluster.json")


def forget(cluster: Cluster) -> None:
    (cluster.folder / "cluster.json").unlink(missing_ok=True)


def _records() -> dict[str, dict]:
    """By name. Each is read once: it may be gone at a second look, for others end their clusters."""
    if not CLUSTERS.is_dir():
        return {}
    found = {folder.name: _read(folder) for folder in CLUSTERS.iterdir()}
    return {name: record for name, record in found.items() if record is not None}


def _read(folder: Path) -> dict | None:
    try:
        return json.loads((folder / "cluster.json").read_text())
    except OSError:
        return None


def _used_by_strangers(cluster: Cluster) -> bool:
    """Whether an interface or a route that is not ours is where this cluster would be."""
    if Path("/sys/class/net", cluster.bridge).exists():
        return True
    answer = subprocess.run(["ip", "-j", "route"], capture_output=True, check=True)
    ours = ipaddress.ip_network(cluster.network)
    routes = (route["dst"] for route in json.loads(answer.stdout or "[]"))
    others = [ipaddress.ip_network(route) for route in routes if route != "default"]
    # A wider route, into a VPN say, only loses these addresses to the cluster while it lives.
    return any(ours.overlaps(other) and other.prefixlen >= ours.prefixlen for other in others)
