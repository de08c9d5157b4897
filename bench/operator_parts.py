"""What bench/operator_compare runs and asks: a control plane without nodes, a real slurmctld, the nodes
that pretend (operator_kubelet), and the operator itself."""

import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO / "dev" / "lib"), str(REPO / "tests" / "real")]

import clusters  # noqa: E402
from operator_harness import controller, dev_slurm, free_port, nodeset, secret  # noqa: E402
from operator_kube import KubeApi, eventually  # noqa: E402
from operator_slurm import Slurm  # noqa: E402

from msdev.cluster import registry  # noqa: E402
from msdev.cluster.processes import daemon  # noqa: E402
from msdev.console import Failure  # noqa: E402

NAME = "bench-operator"
NS = "bench"
NODES = "k"  # Their names begin with this.
LIMIT = 900.0  # Seconds that any one step may take.
TICKS = os.sysconf("SC_CLK_TCK")
# A peer with other flags is told them by --peer-flags, with the same words in braces.
FLAGS = (
    "operator --kubeconfig {kubeconfig} --rest-url {controller}={url} --metrics-addr {metrics} "
    "--health-addr {health} --webhook-addr 0 --deletions-per-minute 1000000"
)
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def note(text: str) -> None:
    print(f"operator: {text}", file=sys.stderr, flush=True)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Kubelet:
    """operator_kubelet, and what it has seen: (time, what, pod, detail)."""

    def __init__(self, program: Path, kubeconfig: Path, nodes: int):
        self.environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self.program = program
        self.call("nodes", NODES, 0, nodes)
        self.seen: list[tuple[float, str, str, str]] = []
        self.news = threading.Condition()
        argv = ["setpriv", "--pdeathsig", "KILL", program, "serve", NS, NODES, str(nodes)]
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, env=self.environment, text=True
        )
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, *words) -> None:
        argv = [self.program, *map(str, words)]
        subprocess.run(argv, env=self.environment, timeout=LIMIT, check=True)

    def _read(self) -> None:
        for line in self.process.stdout:
            moment, what, name, *detail = line.split()
            with self.news:
                self.seen.append((float(moment), what, name, detail[0] if detail else ""))
                self.news.notify_all()

    def wait(
        self, count: int, matches, since: float = 0.0, limit: float = LIMIT
    ) -> dict[str, float]:
        """When each of `count` pods was first seen so: matches(what, name, detail)."""
        found: dict[str, float] = {}
        looked, end = 0, time.monotonic() + limit
        with self.news:
            while True:
                for moment, what, name, detail in self.seen[looked:]:
                    if moment >= since and matches(what, name, detail):
                        found.setdefault(name, moment)
                looked = len(self.seen)
                if len(found) >= count:
                    return found
                if self.process.poll() is not None:
                    raise Failure("operator_kubelet ended; what it said is above")
                if not self.news.wait(max(0.0, end - time.monotonic())):
                    raise Failure(f"only {len(found)} of {count} pods after {limit:.0f}s")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Operator:
    """The process that is measured."""

    def __init__(self, program: Path, flags: str, log: Path, **words: str):
        health, self.metrics_address = (f"127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2))
        words |= {"health": health, "metrics": self.metrics_address}
        argv = ["setpriv", "--pdeathsig", "KILL", program]
        argv += [word.format(**words) for word in flags.split()]
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out)
        eventually(lambda: self._is_ready(health), lambda: f"it is ready:\n{self._tail()}", 120)

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    def _is_ready(self, health: str) -> bool:
        if self.process.poll() is not None:
            raise Failure(f"{self.process.args[3]} ended:\n{self._tail()}")
        try:
            with urllib.request.urlopen(f"http://{health}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def cpu(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def memory(self, name: str = "VmRSS:") -> float:
        """In MB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024 / 1e6
        raise Failure(f"{self.process.args[3]} has ended")

    def requests(self) -> Counter:
        """To the API server so far, by method: client-go's own metric, which ours is too."""
        with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        counts: Counter = Counter()
        for line in lines:
            if line.startswith("rest_client_requests_total{"):
                method = line.split('method="')[1].split('"')[0]
                counts[method] += int(float(line.rpartition(" ")[2]))
        return counts

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def writes(counts: Counter) -> int:
    return sum(counts[method] for method in WRITES)


class Usage:
    """What the operator used, and what it asked of others, since this was made."""

    def __init__(self, world: "World"):
        self.world = world
        self.begin = time.monotonic()
        self.before = self._now()

    def _now(self) -> tuple:
        operator = self.world.operator
        return operator.cpu(), operator.requests(), self.world.slurm_requests()

    def since(self) -> dict:
        cpu, requests, slurm = self._now()
        return {
            "seconds": time.monotonic() - self.begin,
            "cpu": cpu - self.before[0],
            "requests": sum(requests.values()) - sum(self.before[1].values()),
            "writes": writes(requests) - writes(self.before[1]),
            "by_method": dict(requests - self.before[1]),
            "slurm": (slurm - self.before[2]).total(),
            "slurm_by_type": dict(slurm - self.before[2]),
        }


class World:
    """Everything of one run."""

    def __init__(self, api: KubeApi, slurm: Slurm, kubelet: Kubelet, operator: Operator):
        self.api, self.slurm, self.kubelet, self.operator = api, slurm, kubelet, operator

    def slurm_requests(self) -> Counter:
        """What slurmctld has been asked, as it counts itself. Partitions are left out: slurmrestd asks
        for them with every request for nodes."""
        types = self.slurm.call("diag/")["statistics"]["rpcs_by_message_type"]
        ignored = ("REQUEST_STATS_INFO", "REQUEST_PARTITION_INFO")
        return Counter(
            {
                one["message_type"]: one["count"]
                for one in types
                if one["message_type"] not in ignored
            }
        )

    def register(self, hostlist: str) -> None:
        self.slurm.create_nodes(hostlist, "Feature=bench")

    def make_nodeset(self, name: str, **spec) -> None:
        self.api.create(nodeset(NS, name, **spec))

    def scale(self, name: str, replicas: int) -> float:
        """When it was asked for."""
        now = time.monotonic()
        self.api.spec("NodeSet", NS, name, replicas=replicas)
        return now

    def wait_quiet(self, seconds: float = 4.0) -> None:
        """Until the operator has written nothing for so long."""
        last, since = -1, time.monotonic()
        while time.monotonic() - since < seconds:
            now = writes(self.operator.requests())
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.5)


def install(name: str, program: Path, key: bytes, api: KubeApi) -> None:
    definitions = subprocess.run([program, "crds"], check=True, capture_output=True, text=True)
    clusters.kubectl(name, "apply", "--server-side", "-f", "-", text=definitions.stdout)
    clusters.kubectl(name, "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    eventually(lambda: api.find("ServiceAccount", NS, "default"), "the default account")
    api.create(
        secret(NS, "slurm-key", {"slurm.key": b"s" * 1024}),
        secret(NS, "jwt-key", {"jwt.key": key}),
        controller(NS),
    )


@contextmanager
def world(ours: Path, kubelet: Path, measured: Path, flags: str, nodes: int):
    """`ours` has the definitions; `measured` is the operator."""
    note("starting an API server and a slurmctld")
    parts = []
    try:
        clusters.run(NAME, "up", "--control-plane-only", timeout=LIMIT)
        dev_slurm("up", "--name", NAME, "--nodes", "0")
        layout = registry.existing(NAME)
        api, slurm = KubeApi(layout), Slurm(NAME)
        install(NAME, ours, slurm.key, api)
        # Else it would call nodes lost whose leases nobody renews, and all that it does beside
        # is load on a small machine.
        daemon(layout, "kube-controller-manager").stop()
        kubeconfig = Path(clusters.run(NAME, "kubeconfig").stdout.strip())
        note(f"making {nodes} nodes")
        parts.append(Kubelet(kubelet, kubeconfig, nodes))
        words = {"kubeconfig": str(kubeconfig), "controller": f"{NS}/slurm", "url": slurm.url}
        log = REPO / "build" / "log" / "bench-operator.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        parts.append(Operator(measured, flags, log, **words))
        yield World(api, slurm, *parts)
    finally:
        for part in parts:
            part.close()
        clusters.run(NAME, "down", timeout=120)
        dev_slurm("down", "--name", NAME)
