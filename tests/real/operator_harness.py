"""What the operator's black-box tests share: a control plane without nodes, a real Slurm, the operator
as a process, and a kubelet that pretends. Each test method has a namespace of its own, named after the
number in its name: test_16_names has s16, with the keys that a Controller needs."""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import clusters
from clusters import REPO
from operator_kube import PATIENCE, KubeApi, Refused, eventually
from operator_kubelet import FakeKubelet, is_worker
from operator_slurm import Slurm

from msdev.cluster import registry  # noqa: E402  (clusters knows the way)

PROGRAM = Path(
    os.environ.get("MAINSPRING_PROGRAM", REPO / "build" / "debug" / "src" / "app" / "mainspring")
)
ACCOUNT = "system:serviceaccount:kube-system:mainspring"  # The operator's user.
CORDON = "nodeset.slinky.slurm.net/pod-cordon"
CORDONED_FOR = "mainspring.slurm.net/cordoned-for"
REVISION = "controller.kubernetes.io/hash"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def dev_slurm(*arguments: str) -> None:
    argv = [REPO / "dev" / "slurm", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"dev/slurm {arguments}:\n{done.stdout}{done.stderr}")


def namespace_of(method: str) -> str:
    number = re.match(r"test_(\d+[a-z]?)_", method)
    return f"s{number[1]}" if number else method.removeprefix("test_").replace("_", "-")[:40]


class Operator:
    """One process of it."""

    def __init__(self, kubeconfig: Path, log: Path, *flags: str):
        self.health, self.metrics = (f"127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2))
        self.log = log
        argv = [PROGRAM, "operator", "--kubeconfig", kubeconfig, "--health-addr", self.health]
        argv += ["--metrics-addr", self.metrics, "--log-level", "debug", *flags]
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdout=out, stderr=out
            )

    def says_ok(self, path: str, timeout: float = 2) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the operator ended:\n{self.tail()}")
        try:
            with urllib.request.urlopen(f"http://{self.health}{path}", timeout=timeout) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait_ready(self) -> "Operator":
        story = lambda: f"the operator is ready. It said:\n{self.tail()}"  # noqa: E731
        eventually(lambda: self.says_ok("/readyz"), story)
        return self

    def tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class OperatorTest(unittest.TestCase):
    """`cluster` names the clusters of a file; `flags` are given to its operator."""

    cluster = ""
    flags: tuple[str, ...] = ()
    rest_urls: dict[str, str] = {}  # Namespaces whose slurmrestd is elsewhere.
    slurm_lines: tuple[str, ...] = ()
    slurm_options: tuple[str, ...] = ()
    with_operator = True

    @classmethod
    def setUpClass(cls):
        clusters.reserve(cls, cls.cluster)
        cls.remove_slurm()
        cls.addClassCleanup(cls.remove_slurm)
        clusters.run(cls.cluster, "up", "--control-plane-only", "--audit")
        conf = [word for line in cls.slurm_lines for word in ("--conf", line)]
        dev_slurm("up", "--name", cls.cluster, "--nodes", "0", *cls.slurm_options, *conf)
        cls.layout = registry.existing(cls.cluster)
        cls.api, cls.slurm = KubeApi(cls.layout), Slurm(cls.cluster)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.install()
        cls.kubelet = FakeKubelet(cls.api, cls.slurm)
        cls.kubelet.start()
        cls.addClassCleanup(cls.kubelet.stop)
        cls.before_operator()
        if cls.with_operator:
            cls.operator = cls.start_operator().wait_ready()
            cls.addClassCleanup(lambda: cls.operator.kill())

    @classmethod
    def before_operator(cls):
        """For what the operator's flags depend on."""

    @classmethod
    def remove_slurm(cls):
        dev_slurm("down", "--name", cls.cluster)

    @classmethod
    def install(cls):
        """The definitions, and an account for the operator, by which the audit log knows it."""
        definitions = subprocess.run([PROGRAM, "crds"], check=True, capture_output=True, text=True)
        run = lambda *words, **more: clusters.kubectl(cls.cluster, *words, **more)  # noqa: E731
        run("apply", "--server-side", "-f", "-", text=definitions.stdout)
        run("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        group = "rbac.authorization.k8s.io"
        account = {"name": "mainspring", "namespace": "kube-system"}
        admin = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
        cls.api.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "mainspring"},
                "roleRef": admin,
                "subjects": [{"kind": "ServiceAccount", **account}],
            },
        )
        cls.write_kubeconfig("kube-system")

    @classmethod
    def write_kubeconfig(cls, ns: str):
        """Of the operator's account."""
        config = clusters.kubeconfig(cls.cluster, cls.api.token(ns, "mainspring"))
        cls.kubeconfig = cls.folder / "kubeconfig"
        cls.kubeconfig.write_text(json.dumps(config))

    @classmethod
    def start_operator(cls, *more: str, log: str = "operator.log") -> Operator:
        names = map(namespace_of, unittest.defaultTestLoader.getTestCaseNames(cls))
        urls = {name: cls.slurm.url for name in names} | cls.rest_urls
        flags = [f"--rest-url={ns}/slurm={url}" for ns, url in urls.items()]
        return Operator(cls.kubeconfig, cls.logs() / log, *flags, *cls.flags, *more)

    @classmethod
    def logs(cls) -> Path:
        """Where operators write: OPERATOR_TEST_LOGS, to be read afterwards, or away with the test."""
        kept = os.environ.get("OPERATOR_TEST_LOGS")
        folder = Path(kept) / cls.cluster if kept else cls.folder
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def setUp(self):
        self.ns = namespace_of(self._testMethodName)
        self.make_namespace(self.ns)

    def make_namespace(self, ns: str, key: bytes | None = None):
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
        # Pods cannot be made before the namespace has its account.
        eventually(lambda: self.api.find("ServiceAccount", ns, "default"), "the default account")
        self.api.create(
            secret(ns, "slurm-key", {"slurm.key": b"s" * 1024}),
            secret(ns, "jwt-key", {"jwt.key": key or self.slurm.key}),
        )
        self.addCleanup(self.remove_namespace, ns)

    def remove_namespace(self, ns: str):
        """Pods of a NodeSet that is forgotten are nobody's; the garbage collector gets them."""
        self.kubelet.forget(ns)
        self.api.delete("Namespace", None, ns)
        for one in self.api.all("NodeSet", ns):
            name = one["metadata"]["name"]
            change = {"metadata": {"finalizers": None}}
            try:
                self.api.patch("NodeSet", ns, name, change)
            except Refused as refused:
                if refused.status != 404:
                    raise

    # What tests say again and again

    def wait(self, condition, what, seconds: float = PATIENCE):
        return eventually(condition, what, seconds)

    def wait_for(
        self, kind: str, name: str, test=lambda _: True, seconds: float = PATIENCE
    ) -> dict:
        """The object, once it is there and passes."""

        def there():
            found = self.api.find(kind, self.ns, name)
            return found if found and test(found) else None

        story = (
            lambda: f"{kind} {name}, which is {self.api.find(kind, self.ns, name)}"
        )  # noqa: E731
        return eventually(there, story, seconds)

    def controller(self, **spec) -> dict:
        return self.api.create(controller(self.ns, **spec))

    def nodeset(self, replicas: int = 1, name: str = "", **spec) -> str:
        name = name or f"{self.ns}w"
        self.api.create(nodeset(self.ns, name, replicas=replicas, **spec))
        return name

    def cluster_of(self, replicas: int, **spec) -> str:
        """A Controller and a NodeSet whose workers are all in Slurm and idle."""
        self.controller()
        name = self.nodeset(replicas, **spec)
        self.wait_idle(name, replicas)
        return name

    def wait_idle(self, name: str, count: int, seconds: float = PATIENCE):
        """The status alone may be of the pods that were there a moment ago."""
        status = lambda: self.status(name)  # noqa: E731

        def idle() -> bool:
            found, pods = status(), self.pods(name).values()
            known = [p for p in pods if {"Ready", "SlurmNodeStateIdle"} <= conditions_of(p)]
            counts = [found.get("slurmIdle"), found.get("readyReplicas"), len(pods), len(known)]
            return counts == [count] * 4

        self.wait(
            idle,
            lambda: f"{count} idle workers of {name}: {status()}, pods {self.phases(name)}",
            seconds,
        )

    def phases(self, name: str) -> dict[str, list]:
        """What a failure tells of the pods: phase, and the conditions that hold."""
        return {
            pod: [found["status"].get("phase"), *sorted(conditions_of(found))]
            for pod, found in self.pods(name).items()
        }

    def pods(self, name: str = "") -> dict[str, dict]:
        """The worker pods of a NodeSet by name, those that terminate left out."""
        which = f"app.kubernetes.io/name=slurmd,app.kubernetes.io/instance={name or self.ns + 'w'}"
        return {
            pod["metadata"]["name"]: pod
            for pod in self.api.all("Pod", self.ns, labelSelector=which)
            if not pod["metadata"].get("deletionTimestamp")
        }

    def watched_pods(self, name: str) -> dict[str, dict]:
        """The same as the kubelet sees it, who watches. It may lag, and a look costs nothing."""
        return {
            pod["metadata"]["name"]: pod
            for pod in self.kubelet.pods.all()
            if is_worker(pod)
            and pod["metadata"]["namespace"] == self.ns
            and pod["metadata"]["labels"]["app.kubernetes.io/instance"] == name
            and not pod["metadata"].get("deletionTimestamp")
        }

    def pod(self, name: str) -> dict:
        return self.api.get("Pod", self.ns, name)

    def uids(self) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def node_of(self, pod: str) -> str:
        return self.pod(pod)["spec"]["nodeName"]

    def status(self, name: str = "") -> dict:
        return self.api.get("NodeSet", self.ns, name or f"{self.ns}w").get("status", {})

    def wait_pods(self, *names: str, seconds: float = PATIENCE) -> dict[str, dict]:
        """Until the NodeSet has exactly these."""
        self.wait(
            lambda: set(self.pods()) == set(names), lambda: f"{names}: {set(self.pods())}", seconds
        )
        return self.pods()

    def annotations(self, pod: str) -> dict:
        return self.pod(pod)["metadata"].get("annotations", {})

    def is_cordoned(self, pod: str) -> bool:
        return self.annotations(pod).get(CORDON) == "true"

    def wait_drained(self, pod: str, text: str):
        """Its annotation says cordoned, and its Slurm node drains for this reason."""
        self.wait(
            lambda: self.slurm.is_draining(pod)
            and self.slurm.reason(pod) == text
            and self.is_cordoned(pod),
            lambda: f"{pod} drained: {text}; it is {self.slurm.state(pod)} {self.slurm.reason(pod)}",
        )

    def wait_open(self, pod: str):
        self.wait(
            lambda: not self.slurm.is_draining(pod) and not self.is_cordoned(pod),
            lambda: f"{pod} open; it is {self.slurm.state(pod)} {self.slurm.reason(pod)}",
        )

    def cordon_node(self, node: str, on: bool = True):
        self.api.patch("Node", None, node, {"spec": {"unschedulable": on or None}})

    def writes(self, resource: str = "") -> list[dict]:
        """What the operator has written so far, by the API server's own account."""
        found = []
        for line in self.layout.audit_log.read_text().splitlines():
            if ACCOUNT not in line:
                continue  # To read it as JSON takes a hundred times as long.
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The last line may still be on its way.
            if entry["user"]["username"] != ACCOUNT or entry["verb"] not in WRITES:
                continue
            what = entry.get("objectRef", {})
            own = what.get("resource") == resource and what.get("namespace") == self.ns
            if own or not resource:
                found.append(entry)
        return found

    def slurm_conf(self) -> str:
        return self.wait_for("ConfigMap", "slurm-config")["data"]["slurm.conf"]

    def stays(self, condition, what, seconds: float = 4.0):
        """True now and at every look for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertTrue(condition(), what() if callable(what) else what)
            time.sleep(0.2)


def conditions_of(pod: dict) -> set[str]:
    """Those that hold."""
    found = pod.get("status", {}).get("conditions", [])
    return {c["type"] for c in found if c["status"] == "True"}


def secret(ns: str, name: str, data: dict[str, bytes]) -> dict:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": ns},
        "data": encoded,
    }


def config_map(ns: str, name: str, data: dict[str, str]) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": ns},
        "data": data,
    }


def slinky(kind: str, ns: str, name: str, spec: dict) -> dict:
    return {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": ns},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


KEYS = {
    "slurmKeyRef": {"name": "slurm-key", "key": "slurm.key"},
    "jwtKeyRef": {"name": "jwt-key", "key": "jwt.key"},
}
LOGFILE = {"logfile": {"image": "alpine:1"}}


def controller(ns: str, name: str = "slurm", **spec) -> dict:
    images = {"slurmctld": {"image": "slurmctld:1"}, "reconfigure": {"image": "slurmctld:1"}}
    own = {**KEYS, **images, **LOGFILE, "persistence": {"enabled": False}}
    return slinky("Controller", ns, name, {**own, **spec})


def nodeset(ns: str, name: str, **spec) -> dict:
    own = {"controllerRef": {"name": "slurm"}, "slurmd": {"image": "slurmd:1"}, **LOGFILE}
    return slinky("NodeSet", ns, name, {**own, **spec})
