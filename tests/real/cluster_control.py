"""Does to a test cluster what happens to real ones: cluster_control.py NAME stop|start|restart|compact.

stop kills the API server (kill -9), start brings it back, compact makes etcd forget its history.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev" / "lib"))

from msdev.cluster import registry  # noqa: E402
from msdev.cluster.control_plane import ETCD  # noqa: E402
from msdev.cluster.network import inside  # noqa: E402
from msdev.paths import REPO  # noqa: E402


def stop(cluster) -> None:
    record = json.loads((cluster.folder / "run" / "kube-apiserver.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    while Path(f"/proc/{record['pid']}/exe").exists():
        time.sleep(0.02)


def start(cluster) -> None:
    argv = [REPO / "dev" / "cluster", "--name", cluster.name, "up", "--control-plane-only"]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def compact(cluster) -> None:
    """Runs in the control plane's network, where alone etcd listens."""
    script = f"import {Path(__file__).stem} as c; c.compact_here()"
    argv = [*inside(cluster.control_plane), sys.executable, "-c", script]
    subprocess.run(argv, check=True, cwd=Path(__file__).parent)


def compact_here() -> None:
    revision = etcd("range", {"key": "AA=="})["header"]["revision"]
    etcd("compaction", {"revision": revision})


def etcd(verb: str, body: dict) -> dict:
    request = urllib.request.Request(f"{ETCD}/v3/kv/{verb}", data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def restart(cluster) -> None:
    stop(cluster)
    start(cluster)


if __name__ == "__main__":
    globals()[sys.argv[2]](registry.existing(sys.argv[1]))
