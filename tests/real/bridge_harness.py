"""What the bridge's black-box tests share: a control plane without nodes, a real Slurm, the bridge as a
process, and a kubelet that pretends. Each test method has a namespace of its own, named after the
number of the scenario in its name, and the same four nodes n1 to n4 with 8 cores and 16 GiB."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import clusters
from bridge_kubelet import BridgeKubelet
from operator_harness import PROGRAM, dev_slurm, free_port, namespace_of
from operator_kube import KINDS, PATIENCE, KubeApi, eventually
from operator_slurm import Slurm

from msdev.cluster import registry  # noqa: E402  (clusters knows the way)

KINDS |= {
    "Job": ("/apis/batch/v1", "jobs", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "PodGroup": ("/apis/scheduling.k8s.io/v1alpha2", "podgroups", True),
    "Workload": ("/apis/scheduling.k8s.io/v1alpha2", "workloads", True),
    "CoschedulingPodGroup": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups", True),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets", True),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets", True),
}
SCHEDULER = "slurm-bridge-scheduler"
JOB_ID = "scheduler.slinky.slurm.net/slurm-jobid"
NODE = "slinky.slurm.net/slurm-node"
FINALIZER = "scheduler.slinky.slurm.net/finalizer"
JOB = "slurmjob.slinky.slurm.net/"
SLURM_LINES = (
    "NodeSet=slurm-bridge Feature=slurm-bridge",
    "PartitionName=slurm-bridge Nodes=slurm-bridge MaxTime=UNLIMITED State=UP",
)
CONFIG = """
schedulerName: slurm-bridge-scheduler
partition: slurm-bridge
"""


class Bridge:
    """One process of it."""

    def __init__(self, kubeconfig: Path, config: Path, token: Path, log: Path, *flags: str):
        self.health, self.metrics = (f"127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2))
        self.log = log
        argv = [PROGRAM, "bridge", "--kubeconfig", kubeconfig, "--config", config]
        argv += ["--slurm-jwt-file", token, "--health-addr", self.health]
        argv += ["--metrics-addr", self.metrics, "--log-level", "debug", *flags]
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdout=out, stderr=out
            )

    def says_ok(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the bridge ended:\n{self.tail()}")
        try:
            with urllib.request.urlopen(f"http://{self.health}/readyz", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait_ready(self) -> "Bridge":
        eventually(self.says_ok, lambda: f"the bridge is ready. It said:\n{self.tail()}")
        return self

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def age_of(self, kind: str) -> float:
        """How many seconds ago it asked Slurm for what it knows of these: nodes, jobs, pulse."""
        return self.metric("slurm_cache_age_seconds", kind, float("inf"))

    def metric(self, name: str, kind: str, absent: float = 0.0) -> float:
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = re.search(rf'^{name}{{.*kind="{kind}".*}} (\S+)', text, re.M)
        return float(found[1]) if found else absent

    @contextlib.contextmanager
    def asleep(self):
        """It sees nothing of what happens meanwhile, and then all of it at once."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class BridgeTest(unittest.TestCase):
    """`cluster` names the clusters of a file; `config` is added to the bridge's configuration."""

    cluster = ""
    config = ""
    slurm_lines: tuple[str, ...] = ()
    slurm_flags: tuple[str, ...] = ()
    nodes = ("n1", "n2", "n3", "n4")

    @classmethod
    def setUpClass(cls):
        clusters.reserve(cls, cls.cluster)
        cls.remove_slurm()
        cls.addClassCleanup(cls.remove_slurm)
        clusters.run(cls.cluster, "up", "--control-plane-only")
        conf = [word for line in SLURM_LINES + cls.slurm_lines for word in ("--conf", line)]
        dev_slurm("up", "--name", cls.cluster, "--nodes", "0", *cls.slurm_flags, *conf)
        cls.layout = registry.existing(cls.cluster)
        cls.api, cls.slurm = KubeApi(cls.layout), Slurm(cls.cluster)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.write_files()
        cls.kubelet = BridgeKubelet(cls.api)
        cls.kubelet.start()
        cls.addClassCleanup(cls.kubelet.stop)
        for name in cls.nodes:
            cls.kubelet.make_external(name)
        cls.install()
        cls.bridge = cls.start_bridge()
        cls.addClassCleanup(lambda: cls.bridge.kill())
        eventually(
            lambda: set(cls.nodes) <= set(cls.slurm.nodes()),
            lambda: f"nodes in Slurm: {cls.slurm.nodes()}\n{cls.bridge.tail()}",
        )

    @classmethod
    def install(cls):
        """For definitions of kinds that tests need."""

    @classmethod
    def write_files(cls):
        cls.token = cls.folder / "token"
        cls.token.write_text(cls.slurm.token)
        cls.config_file = cls.folder / "config.yaml"
        cls.config_file.write_text(f"{CONFIG}slurmRestApi: {cls.slurm.url}\n{cls.config}")
        cls.kubeconfig = cls.folder / "kubeconfig"
        cls.kubeconfig.write_text(json.dumps(clusters.kubeconfig(cls.cluster)))

    @classmethod
    def start_bridge(cls, *flags: str) -> Bridge:
        log = cls.logs() / "bridge.log"
        return Bridge(cls.kubeconfig, cls.config_file, cls.token, log, *flags).wait_ready()

    @classmethod
    def restart_bridge(cls):
        cls.bridge.kill()
        cls.bridge = cls.start_bridge()

    @classmethod
    def logs(cls) -> Path:
        """Where bridges write: BRIDGE_TEST_LOGS, to be read afterwards, or away with the test."""
        kept = os.environ.get("BRIDGE_TEST_LOGS")
        folder = Path(kept) / cls.cluster if kept else cls.folder
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @classmethod
    def remove_slurm(cls):
        dev_slurm("down", "--name", cls.cluster)

    def setUp(self):
        self.ns = namespace_of(self._testMethodName)
        meta = {"name": self.ns}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        eventually(lambda: self.api.find("ServiceAccount", self.ns, "default"), "an account")
        self.addCleanup(self.clean_up)

    def clean_up(self):
        """Everything of this test ends, and the nodes are idle for the next."""
        self.kubelet.ends_after.clear()
        for kind in ("Job", "ReplicaSet"):
            for one in self.api.all(kind, self.ns):
                self.api.delete(kind, self.ns, one["metadata"]["name"])
        for pod in self.api.all("Pod", self.ns):
            self.api.delete("Pod", self.ns, pod["metadata"]["name"], gracePeriodSeconds=1)
        self.wait(
            lambda: not self.api.all("Pod", self.ns),
            lambda: f"no pods: {[p['metadata'] for p in self.api.all('Pod', self.ns)]}",
        )
        for job in self.slurm.call("jobs/")["jobs"]:
            if set(job["job_state"]) & {"PENDING", "RUNNING"}:
                self.cancel(str(job["job_id"]))
        self.wait(
            lambda: all(self.slurm.state(name) == self.idle() for name in self.nodes),
            lambda: f"idle nodes: {[(n, self.slurm.state(n)) for n in self.nodes]}",
        )
        self.api.delete("Namespace", None, self.ns)

    @staticmethod
    def idle() -> set[str]:
        return {"IDLE", "EXTERNAL", "DYNAMIC_NORM"}

    # What tests say again and again

    def wait(self, condition, what, seconds: float = PATIENCE):
        return eventually(
            condition,
            lambda: f"{what() if callable(what) else what}\n{self.bridge.tail()}",
            seconds,
        )

    def pod(self, name: str, *, annotations=None, labels=None, cpu="1", memory="100Mi", **spec):
        """Makes a pod for our scheduler."""
        meta = {"name": name, "namespace": self.ns}
        meta |= {"annotations": annotations or {}, "labels": labels or {}}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": meta,
                "spec": pod_spec(cpu, memory, spec),
            }
        )
        return name

    def get(self, name: str) -> dict:
        return self.api.get("Pod", self.ns, name)

    def wait_bound(self, *names: str, seconds: float = PATIENCE) -> list[dict]:
        """The pods, once all have a node."""
        return [
            self.wait(
                lambda name=name: (p := self.get(name))["spec"].get("nodeName") and p,
                lambda name=name: f"pod {name} has a node: {self.condition(name)}",
                seconds,
            )
            for name in names
        ]

    def condition(self, name: str) -> dict:
        conditions = self.get(name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == "PodScheduled"), {})

    def wait_says(self, name: str, *words: str) -> str:
        """PodScheduled is False and its message has all these words."""

        def message():
            found = self.condition(name)
            text = found.get("message", "")
            return text if found.get("status") == "False" and all(w in text for w in words) else ""

        return self.wait(message, lambda: f"{name} says {words}: {self.condition(name)}")

    def job_id(self, name: str) -> str:
        """Of the job whose mark the pod has; empty: none."""
        return self.get(name)["metadata"].get("labels", {}).get(JOB_ID, "")

    def wait_job(self, name: str) -> dict:
        """The job of a pod, once it has one."""
        found = self.wait(lambda: self.job_id(name), lambda: f"{name} has a job")
        return self.job(found)

    def job(self, number: str) -> dict:
        return self.slurm.call(f"job/{number}")["jobs"][0]

    def jobs(self) -> list[dict]:
        """Those of this test's pods, whatever their state."""
        mine = f'"{self.ns}/'
        found = self.slurm.call("jobs/")["jobs"]
        return [job for job in found if mine in job.get("admin_comment", "")]

    def live_jobs(self) -> list[dict]:
        return [j for j in self.jobs() if set(j["job_state"]) & {"PENDING", "RUNNING"}]

    def wait_ended(self, number: str) -> dict:
        over = lambda: not set(self.job(number)["job_state"]) & {"PENDING", "RUNNING"}  # noqa: E731
        self.wait(over, lambda: f"job {number} is over: {self.job(number)['job_state']}")
        return self.job(number)

    def wait_gone(self, name: str):
        self.wait(
            lambda: self.api.find("Pod", self.ns, name) is None,
            lambda: f"pod {name} is gone: {self.get(name)['metadata']}",
        )

    def finish(self, name: str, code: int = 0):
        self.kubelet.finish(self.get(name), code)

    def remove_node(self, name: str):
        """From both sides: a job that is made meanwhile may still name it."""
        self.api.delete("Node", None, name)
        self.wait(lambda: name not in self.slurm.nodes(), f"{name} is no more")

    def fill(self, *nodes: str, minutes: int = 0) -> str:
        """A job of somebody's that takes these nodes whole, for that long or for ever. Its number."""
        job = {"name": "other", "partition": "slurm-bridge", "flags": ["EXTERNAL_JOB"]}
        job |= {"required_nodes": list(nodes), "nodes": str(len(nodes)), "shared": ["none"]}
        job |= {"current_working_directory": "/tmp", "environment": ["A=b"]}
        if minutes:
            job["time_limit"] = {"set": True, "number": minutes}
        number = str(self.slurm.call("job/submit", "POST", {"job": job})["job_id"])
        self.wait(lambda: self.job(number)["job_state"] == ["RUNNING"], f"job {number} runs")
        return number

    def cancel(self, number: str):
        self.slurm.call(f"job/{number}", "DELETE")

    def wait_seen(self):
        """What Slurm knows by now of nodes and of who waits the bridge knows, too. Whether a pod goes the
        quick way depends on both."""
        begin = time.monotonic()
        for kind in ("nodes", "pulse"):
            self.wait(
                lambda: self.bridge.age_of(kind) < time.monotonic() - begin,
                lambda: f"{kind} are listed: {self.bridge.age_of(kind)} s ago",
            )

    def stays(self, condition, what, seconds: float = 3.0):
        """True now and at every look for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertTrue(condition(), what() if callable(what) else what)
            time.sleep(0.2)


def definition(group: str, version: str, kind: str, plural: str) -> dict:
    """Of a kind of somebody else's whose controller no test needs: any object of it is taken."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }


def pod_spec(cpu: str = "1", memory: str = "100Mi", more: dict | None = None) -> dict:
    amounts = {"cpu": cpu, "memory": memory}
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": amounts}}
    return {
        "schedulerName": SCHEDULER,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        **(more or {}),
    }
