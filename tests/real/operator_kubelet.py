"""A scheduler and a kubelet in one thread, for a cluster without nodes: gives pods to Node objects,
says that they run, ends those that go. A worker's pod is a real slurmd, started and stopped with it,
so Slurm sees what it would see of real pods. Nothing else of a pod runs."""

import http.client
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

from operator_kube import KubeApi, Refused
from operator_watch import Watched

from msdev.console import Failure

HOSTNAME = "nodeset.slinky.slurm.net/pod-hostname"
OURS = "test/namespace"  # On the nodes of a test, which pods of other namespaces do not get.
# In the name of an image: its pods stay in ContainerCreating for ever, or for so many seconds.
NEVER_READY, SLOW_PULL, PULL_TIME = "never-ready", "slow-pull", 8.0
PLANE = "plane"  # The node of all pods that are no workers.


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_worker(pod: dict) -> bool:
    return pod["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "slurmd"


class FakeKubelet(threading.Thread):
    def __init__(self, api: KubeApi, slurm):
        super().__init__(daemon=True)
        self.api, self.slurm = api, slurm
        self.ended = threading.Event()
        self.lock = threading.RLock()
        self.without_slurm: set[str] = set()  # Namespaces whose workers are pods and nothing more.
        self.lingering: set[str] = set()  # Names of pods that take their time to end.
        self.finished: set[str] = set()  # Namespaces of tests that are over.
        self.pulling: dict[str, float] = {}  # UID to when its image began to come.
        self.starting: dict[str, str] = {}  # Workers on their way to Slurm: UID to name.
        self.running: dict[str, str] = {}  # UID to the worker's name, or "".
        self.addresses: dict[str, int] = {}  # By UID: a pod has one, however often it is told.
        self.numbers = itertools.count(1)
        self.renewed = 0.0
        self.hands = ThreadPoolExecutor(8)
        self.pods = Watched(api, "Pod", self.ended)
        self.make_node(PLANE)

    def run(self):
        self.pods.start()
        while not self.ended.wait(0.1):
            try:
                self.turn()
            except (OSError, http.client.HTTPException, Refused, Failure):
                continue  # Somebody was away, or the object changed: the next turn sees.

    def stop(self):
        self.ended.set()
        self.join()
        self.hands.shutdown()

    def is_settled(self, pod: dict) -> bool:
        """Nothing is to be done for it now. Of most pods this is so at every turn."""
        meta, phase = pod["metadata"], pod.get("status", {}).get("phase")
        over = pod["spec"].get("nodeName") and phase in ("Failed", "Succeeded")
        return (over or meta["uid"] in self.running) and not meta.get("deletionTimestamp")

    def turn(self):
        with self.lock:
            pods = self.pods.all()
            left = [pod for pod in pods if not self.is_settled(pod)]
            registered = set(self.slurm.nodes()) if self.starting else set()
            look = lambda pod: self.look_at(pod, pods, registered)  # noqa: E731
            is_light = lambda pod: pod["metadata"]["namespace"] in self.without_slurm  # noqa: E731
            # Of these there may be hundreds.
            list(self.hands.map(look, filter(is_light, left)))
            for pod in itertools.filterfalse(is_light, left):
                look(pod)
            self.renew_leases()

    def look_at(self, pod: dict, pods: list[dict], registered: set[str]):
        try:
            self.care_for(pod, pods, registered)
        except Refused as refused:
            if refused.status not in (404, 409):
                raise

    def care_for(self, pod: dict, pods: list[dict], registered: set[str]):
        meta, status = pod["metadata"], pod.get("status", {})
        if meta.get("deletionTimestamp"):
            self.end(pod)
        elif not pod["spec"].get("nodeName"):
            self.bind(pod, pods)
        elif status.get("phase") in ("Failed", "Succeeded"):
            return
        elif meta["uid"] in self.starting:
            if self.starting[meta["uid"]] in registered:
                self.say_running(pod)
                self.running[meta["uid"]] = self.starting.pop(meta["uid"])
            elif not self.slurm.worker_lives(self.starting[meta["uid"]]):
                # A container that ended is started again.
                self.begin(pod)
        elif meta["uid"] not in self.running:
            self.begin(pod)

    # Nodes

    def make_node(self, name: str, ns: str = "", **labels: str) -> str:
        labels = {"kubernetes.io/hostname": name, **labels}
        if ns:
            labels[OURS] = ns
        meta = {"name": name, "labels": labels}
        self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": ""}
        ready |= {"lastHeartbeatTime": now(), "lastTransitionTime": now()}
        room = {"cpu": "64", "memory": "256Gi", "pods": "500"}
        status = {"conditions": [ready], "capacity": room, "allocatable": room}
        self.api.patch("Node", None, name, {"status": status}, sub="status")
        self.renewed = 0.0
        return name

    def renew_leases(self):
        """Without them the node controller would call the nodes lost and taint them."""
        if time.monotonic() - self.renewed < 10:
            return
        self.renewed = time.monotonic()
        stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for node in self.api.all("Node"):
            name = node["metadata"]["name"]
            spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": stamp}
            meta = {"name": name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            self.api.apply({**lease, "metadata": meta, "spec": spec})

    def bind(self, pod: dict, pods: list[dict]):
        meta = pod["metadata"]
        real = is_worker(pod) and meta["namespace"] not in self.without_slurm
        node = self.choose(pod, pods) if real else PLANE
        if node is None:
            return
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}}
        body["target"] = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.api.call(
            "POST", self.api.path("Pod", meta["namespace"], meta["name"], "binding"), body
        )
        pod["spec"]["nodeName"] = node

    def choose(self, pod: dict, pods: list[dict]) -> str | None:
        """One worker a node. Of all rules only those are looked at that the operator writes itself."""
        ns = pod["metadata"]["namespace"]
        affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
        nodes = {n["metadata"]["name"]: n for n in self.api.all("Node")}
        for term in required.get("nodeSelectorTerms", []):
            for field in term.get("matchFields", []):
                wanted = field["values"][0]
                return wanted if wanted in nodes else None
        taken = {p["spec"].get("nodeName") for p in pods if is_worker(p)}
        for name, node in sorted(nodes.items()):
            labels = node["metadata"].get("labels", {})
            fits = labels.get(OURS) == ns and not node["spec"].get("unschedulable")
            if fits and name not in taken:
                return name
        return self.make_node(f"{ns}-k{next(self.numbers)}", ns)

    # Pods

    def begin(self, pod: dict):
        meta = pod["metadata"]
        if not self.has_image(pod):
            return
        name = meta.get("labels", {}).get(HOSTNAME, "")
        if not is_worker(pod) or meta["namespace"] in self.without_slurm | self.finished:
            self.say_running(pod)
            self.running[meta["uid"]] = ""
            return
        features = meta["labels"].get("app.kubernetes.io/instance", "")
        self.slurm.start_worker(name, features)
        self.starting[meta["uid"]] = name

    def has_image(self, pod: dict) -> bool:
        """One that does not, or not yet, says so."""
        uid = pod["metadata"]["uid"]
        images = " ".join(c.get("image", "") for c in pod["spec"]["containers"])
        if NEVER_READY not in images and SLOW_PULL not in images:
            return True
        if uid not in self.pulling:
            self.say(pod, "Pending", False, {"waiting": {"reason": "ContainerCreating"}})
            self.pulling[uid] = time.monotonic()
        return NEVER_READY not in images and time.monotonic() > self.pulling[uid] + PULL_TIME

    def say_running(self, pod: dict):
        self.say(pod, "Running", True, {"running": {"startedAt": now()}})

    def say(self, pod: dict, phase: str, ready: bool, state: dict):
        meta = pod["metadata"]

        def container(spec: dict) -> dict:
            one = {"name": spec["name"], "ready": ready, "restartCount": 0, "state": state}
            one |= {"image": spec.get("image", ""), "imageID": ""}
            return one | ({"containerID": f"test://{meta['uid']}"} if ready else {})

        def condition(kind: str, good: bool) -> dict:
            text = "True" if good else "False"
            return {"type": kind, "status": text, "lastTransitionTime": now()}

        place = self.addresses.setdefault(meta["uid"], next(self.numbers))
        address = f"10.99.{place // 250}.{place % 250 + 1}"
        status = {
            "phase": phase,
            "startTime": now(),
            **({"podIP": address, "podIPs": [{"ip": address}]} if ready else {}),
            "conditions": [
                condition("PodScheduled", True),
                condition("Initialized", ready),
                condition("ContainersReady", ready),
                condition("Ready", ready),
            ],
            "containerStatuses": [container(c) for c in pod["spec"]["containers"]],
            "initContainerStatuses": [container(c) for c in pod["spec"].get("initContainers", [])],
        }
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        self.api.patch("Pod", meta["namespace"], meta["name"], change, "strategic", "status")
        # Until the watch shows it.
        pod["status"] = pod.get("status", {}) | status

    def end(self, pod: dict):
        meta = pod["metadata"]
        if meta["name"] in self.lingering:
            return
        name = self.running.pop(meta["uid"], "") or self.starting.pop(meta["uid"], "")
        if name:
            self.stop_worker(name, put_down=meta["namespace"] not in self.finished)
        body = {"preconditions": {"uid": meta["uid"]}, "gracePeriodSeconds": 0}
        self.api.delete("Pod", meta["namespace"], meta["name"], **body)

    def stop_worker(self, name: str, put_down: bool):
        """First what the preStop hook of the pod does."""
        if put_down:
            reason = "slurm-operator: Pod is terminating"
            body = {"state": ["DOWN"], "reason": reason}
            self.slurm.call(f"node/{name}", "POST", body)
        self.slurm.stop_worker(name)

    def forget(self, ns: str):
        """A test is over: its workers end, and Slurm does not know them any more."""
        self.slurm.cancel_all()
        with self.lock:
            self.finished.add(ns)
            self.lingering.clear()
            uids = {p["metadata"]["uid"] for p in self.api.all("Pod", ns)}
            for live in (self.running, self.starting):
                for uid in uids & set(live):
                    if name := live[uid]:
                        self.slurm.stop_worker(name)
                    live[uid] = ""
            for uid in uids & set(self.starting):
                self.running[uid] = self.starting.pop(uid)
        names = lambda: [name for name in self.slurm.nodes() if name.startswith(ns)]  # noqa: E731
        for name in names():
            self.slurm.stop_worker(name)
        # All at once, and again those for whose sake that was refused.
        self.slurm.forget(",".join(names()))
        for name in names():
            self.slurm.forget(name)
        for node in self.api.all("Node", labelSelector=f"{OURS}={ns}"):
            self.api.delete("Node", None, node["metadata"]["name"])
