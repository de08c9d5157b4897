"""The processes of a cluster, found by a mark that each of them carries in its environment.

Records of pids can miss a process whose starter was killed in between; the mark cannot. It names
the cluster's folder, so nothing else on the machine is ever taken for one of ours.
"""

import os
import signal
import time
from pathlib import Path

from ..console import Failure
from ..process import Daemon, start_time
from .layout import Cluster

MARK = "MAINSPRING_CLUSTER_FOLDER"
PATIENCE = 20.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(cluster: Cluster) -> dict[str, str]:
    """For every process of the cluster. Proxies of this machine have no business in it."""
    # Where whoever starts the cluster says so, each keeps to fewer threads than there are cores.
    threads = {name: value for name, value in os.environ.items() if name == "GOMAXPROCS"}
    return {
        "PATH": PATH,
        "HOME": "/root",
        # Kubernetes is in Go, and several clusters share two cores: a fifth of the processor time of an
        # API server is worth 120 MB.
        "GOGC": "400",
        **threads,
        MARK: str(cluster.folder),
    }


def daemon(cluster: Cluster, name: str) -> Daemon:
    return Daemon(cluster.folder, name)


def recorded(cluster: Cluster) -> dict[str, Daemon]:
    files = sorted((cluster.folder / "run").glob("*.json"))
    return {file.stem: daemon(cluster, file.stem) for file in files}


def marked(cluster: Cluster) -> list[int]:
    """Of all living processes with the mark, also those inside nodes."""
    mark = f"{MARK}={cluster.folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables and start_time(int(entry.name)) is not None:
            found.append(int(entry.name))
    return found


def end_strays(cluster: Cluster) -> None:
    """Ends what an interrupted `up` started but could not record any more."""
    known = {d.pid() for d in recorded(cluster).values()}
    here = os.readlink("/proc/self/ns/pid")
    for pid in marked(cluster):
        if pid not in known and _pid_namespace(pid) == here:
            _kill(pid)


def end_all(cluster: Cluster) -> None:
    """Kills all, for nothing of a cluster outlives it, and returns when they are gone."""
    end = time.monotonic() + PATIENCE
    while pids := marked(cluster):
        if time.monotonic() > end:
            raise Failure(f"these processes of cluster '{cluster.name}' do not end: {pids}")
        for pid in pids:
            _kill(pid)
        time.sleep(0.02)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _pid_namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""
