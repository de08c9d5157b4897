"""What bench/bridge_compare runs and asks: a control plane without nodes, a real slurmctld, external
nodes that pretend, a bridge, and kube-scheduler beside it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from operator_parts import REPO, TICKS, Operator, percentile, writes

import clusters  # noqa: E402  (operator_parts knows the way)
from bridge_harness import CONFIG, SLURM_LINES  # noqa: E402
from operator_harness import dev_slurm  # noqa: E402
from operator_kube import KubeApi, eventually  # noqa: E402
from operator_slurm import Slurm  # noqa: E402

from msdev.cluster import control_plane, parts, registry  # noqa: E402
from msdev.cluster.layout import Cluster  # noqa: E402
from msdev.cluster.processes import daemon  # noqa: E402
from msdev.console import Failure  # noqa: E402

NAME, NS = "bench-bridge", "bench"
LIMIT = 600.0  # Seconds that any one step may take.
# A peer with other flags is told them by --peer-flags, with the same words in braces.
FLAGS = (
    "bridge --kubeconfig {kubeconfig} --config {config} --slurm-jwt-file {token} "
    "--metrics-addr {metrics} --health-addr {health} --deletions-per-minute 1000000 --ended-percent 100"
)
# What we tell sites to set (docs/bridge.md), and room for all jobs.
MORE_SLURM_LINES = (
    "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=10000,"
    "bf_interval=5,bf_max_job_test=10000,bf_continue",
    "MaxJobCount=40000",
)
# Calls to slurmctld that are about one job or another. slurmrestd asks for other things with them.
JOB_CALLS = (
    "REQUEST_RESOURCE_ALLOCATION",
    "REQUEST_SUBMIT_BATCH_JOB",
    "REQUEST_UPDATE_JOB",
    "REQUEST_JOB_INFO_SINGLE",
    "REQUEST_JOB_INFO",
    "REQUEST_KILL_JOBS",
    "REQUEST_NODE_INFO_SINGLE",
)


def note(text: str) -> None:
    print(f"bridge: {text}", file=sys.stderr, flush=True)


class Rows:
    """`suffix` says whose they are; ours have none."""

    def __init__(self, suffix: str = ""):
        self.suffix = suffix
        self.all: list[dict] = []

    def add(self, name: str, value: float, unit: str, bar=None, at_least=None) -> None:
        note(f"{name}{self.suffix} {value:,.2f} {unit}")
        row = {"name": f"bridge_{name}{self.suffix}", "value": value, "unit": unit}
        if not self.suffix and bar is not None:
            row["bar"] = bar
        if not self.suffix and at_least is not None:
            row["at_least"] = at_least
        self.all.append(row)

    def add_times(self, name: str, seconds: list[float], bars=(None, None)) -> None:
        for (word, share), bar in zip((("p50", 0.5), ("p99", 0.99)), bars):
            self.add(f"{name}_{word}", 1000 * percentile(seconds, share), "ms", bar)

    def value(self, name: str) -> float:
        whole = f"bridge_{name}{self.suffix}"
        (found,) = (row["value"] for row in self.all if row["name"] == whole)
        return found

    def pods(self, name: str) -> str:
        """What the names of the pods for a row begin with."""
        return f"{name}{self.suffix}".replace("_", "-")


def ratios(ours: list[dict], others: list[dict], who: str) -> list[dict]:
    """Of what both have; above 1 we are better."""
    theirs = {row["name"].removesuffix(f"_{who}"): row["value"] for row in others}
    rows = []
    for row in ours:
        other = theirs.get(row["name"])
        if not other or not row["value"] or row["unit"] == "ratio":
            continue
        ratio = row["value"] / other if row["unit"].endswith("/s") else other / row["value"]
        rows.append({"name": f"{row['name']}_vs_{who}", "value": ratio, "unit": "ratio"})
    return rows


class Load:
    """bridge_load, and what its watch has seen of the pods."""

    def __init__(self, program: Path, kubeconfig: str, slurm: Slurm):
        self.program = program
        self.environment = {**os.environ, "KUBECONFIG": kubeconfig}
        self.environment |= {"SLURM_URL": slurm.url, "SLURM_TOKEN": slurm.token}
        self.seen: dict[str, dict[str, float]] = {"bound": {}, "deleting": {}, "gone": {}}
        self.news = threading.Condition()
        argv = ["setpriv", "--pdeathsig", "KILL", program, "watch"]
        self.eyes = subprocess.Popen(argv, stdout=subprocess.PIPE, env=self.environment, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.eyes.stdout:
            moment, what, name = line.split()
            with self.news:
                self.seen[what].setdefault(name, float(moment))
                self.news.notify_all()

    def call(self, *words) -> dict:
        argv = [self.program, *map(str, words)]
        done = subprocess.run(
            argv, env=self.environment, timeout=LIMIT, check=True, capture_output=True, text=True
        )
        return json.loads(done.stdout) if done.stdout else {}

    def wait(self, what: str, names: list[str]) -> list[float]:
        """When each was first seen so."""
        end, seen = time.monotonic() + LIMIT, self.seen[what]
        with self.news:
            while left := [name for name in names if name not in seen]:
                if self.eyes.poll() is not None:
                    raise Failure("bridge_load ended; what it said is above")
                if not self.news.wait(max(0.0, end - time.monotonic())):
                    raise Failure(f"{len(left)} of {len(names)} pods not {what}: {left[0]}")
            return [seen[name] for name in names]

    def close(self) -> None:
        self.eyes.kill()
        self.eyes.wait()


class World:
    """Everything of one run."""

    def __init__(self, layout: Cluster, api: KubeApi, slurm: Slurm, load: Load, bridge: Operator):
        self.layout, self.api, self.slurm = layout, api, slurm
        self.load, self.bridge = load, bridge

    def running(self) -> int:
        return self.slurm.call("diag/")["statistics"]["jobs_running"]

    def wait_empty(self) -> None:
        eventually(lambda: not self.running(), "all jobs are over", LIMIT, 0.5)
        time.sleep(3)  # So that the nodes that were freed are known to be.

    def finish(self, name: str, count: int) -> None:
        """They have ended; waits until nothing of them is left."""
        self.load.call("end", name, count)
        self.load.wait("gone", pod_names(name, count))
        self.wait_empty()

    def requests(self) -> tuple[int, int]:
        """Writes to the API server, and what slurmctld was asked about jobs and their nodes."""
        types = self.slurm.call("diag/")["statistics"]["rpcs_by_message_type"]
        asked = sum(one["count"] for one in types if one["message_type"] in JOB_CALLS)
        return writes(self.bridge.requests()), asked

    def events(self) -> int:
        """About pods; those of nodes are in another namespace."""
        return len(self.api.call("GET", f"/apis/events.k8s.io/v1/namespaces/{NS}/events")["items"])

    def wait_silent(self) -> None:
        """Until the bridge has nothing to do: every node that it registered is an event, and those are
        written slowly; every job that it has not seen before is read."""
        seen = [(-1, -1)]

        def is_silent() -> bool:
            seen.append(self.requests())
            return seen[-1] == seen[-2]

        eventually(is_silent, lambda: f"the bridge is silent: {seen[-5:]}", LIMIT, 3)

    @contextmanager
    def bridge_asleep(self):
        """So that what others do is theirs alone."""
        self.bridge.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.bridge.process.send_signal(signal.SIGCONT)
            self.wait_silent()


def pod_names(name: str, count: int) -> list[str]:
    return [f"{name}-{number}" for number in range(count)]


class KubeScheduler:
    """The cluster's own, which may write as fast as it can: by default it stops at 50 a second."""

    def __init__(self, layout: Cluster):
        self.layout = layout
        flags = ["--kube-api-qps=5000", "--kube-api-burst=5000"]
        control_plane.start_scheduler(layout, parts.build(), flags)
        self.daemon = daemon(layout, "kube-scheduler")

    def cpu(self) -> float:
        words = Path(f"/proc/{self.daemon.pid()}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def memory(self) -> float:
        """In MB."""
        lines = Path(f"/proc/{self.daemon.pid()}/status").read_text().splitlines()
        (resident,) = (line for line in lines if line.startswith("VmRSS:"))
        return int(resident.split()[1]) * 1024 / 1e6

    def close(self) -> None:
        self.daemon.stop()


@contextmanager
def world(program: Path, flags: str, load_program: Path, nodes: int):
    note("starting an API server and a slurmctld")
    running = []
    try:
        clusters.run(NAME, "up", "--control-plane-only", timeout=LIMIT)
        lines = (*SLURM_LINES, *MORE_SLURM_LINES)
        dev_slurm(
            "up", "--name", NAME, "--nodes", "0", *(w for one in lines for w in ("--conf", one))
        )
        layout = registry.existing(NAME)
        api, slurm = KubeApi(layout), Slurm(NAME)
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        eventually(lambda: api.find("ServiceAccount", NS, "default"), "the default account")
        # Else it would call nodes lost whose leases nobody renews.
        daemon(layout, "kube-controller-manager").stop()
        kubeconfig = clusters.run(NAME, "kubeconfig").stdout.strip()
        load = Load(load_program, kubeconfig, slurm)
        running.append(load)
        note(f"making {nodes} nodes")
        load.call("nodes", nodes)
        bridge = start_bridge(program, flags, kubeconfig, slurm)
        running.append(bridge)
        begin = time.monotonic()
        eventually(lambda: len(slurm.nodes()) >= nodes, "all nodes are in Slurm", LIMIT, 0.5)
        note(f"registered {nodes} nodes in {time.monotonic() - begin:.1f} s")
        one = World(layout, api, slurm, load, bridge)
        one.wait_silent()
        yield one
    finally:
        for each in running:
            each.close()
        clusters.run(NAME, "down", timeout=120)
        dev_slurm("down", "--name", NAME)


def start_bridge(program: Path, flags: str, kubeconfig: str, slurm: Slurm) -> Operator:
    folder = REPO / "build" / "log"
    folder.mkdir(parents=True, exist_ok=True)
    config, token = folder / "bench-bridge.yaml", folder / "bench-bridge.token"
    config.write_text(f"{CONFIG}slurmRestApi: {slurm.url}\n")
    token.write_text(slurm.token)
    words = {"kubeconfig": kubeconfig, "config": str(config), "token": str(token)}
    return Operator(program, flags, folder / "bench-bridge.log", **words, url=slurm.url)
