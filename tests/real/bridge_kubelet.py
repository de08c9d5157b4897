"""A kubelet for a cluster without nodes, as the bridge's tests need it: pods that have a node run at
once, end when they are told to or when a test says so, and their containers are gone only when this
says so."""

import time

from operator_kube import KubeApi
from operator_kubelet import FakeKubelet, now

EXTERNAL = "scheduler.slinky.slurm.net/external-node"


class BridgeKubelet(FakeKubelet):
    def __init__(self, api: KubeApi):
        super().__init__(api, None)
        self.ends_after: dict[str, float] = {}  # Seconds that a pod of this name takes to end.
        self.told: dict[str, float] = {}  # UID to when its end began.
        self.gone: set[str] = set()  # Nodes whose kubelet is no more.

    def turn(self):
        with self.lock:
            list(self.hands.map(lambda pod: self.look_at(pod, [], set()), self.pods.all()))
            self.renew_leases()

    def care_for(self, pod: dict, pods: list[dict], registered: set[str]):
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if not node or node in self.gone:
            return
        if meta.get("deletionTimestamp"):
            self.end(pod)
        elif pod.get("status", {}).get("phase") not in ("Running", "Failed", "Succeeded"):
            self.say_running(pod)

    def end(self, pod: dict):
        meta = pod["metadata"]
        since = self.told.setdefault(meta["uid"], time.monotonic())
        if time.monotonic() < since + self.ends_after.get(meta["name"], 0.0):
            return
        if pod.get("status", {}).get("phase") not in ("Failed", "Succeeded"):
            self.finish(pod, 137)
        body = {"preconditions": {"uid": meta["uid"]}, "gracePeriodSeconds": 0}
        if meta.get("deletionGracePeriodSeconds") != 0:
            self.api.delete("Pod", meta["namespace"], meta["name"], **body)

    def finish(self, pod: dict, code: int = 0):
        """Its containers have ended with this exit code."""
        meta = pod["metadata"]
        ended = {"exitCode": code, "startedAt": now(), "finishedAt": now()}
        ended["reason"] = "Completed" if code == 0 else "Error"

        def container(spec: dict) -> dict:
            return {
                "name": spec["name"],
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": ended},
                "image": spec.get("image", ""),
                "imageID": "",
                "containerID": f"test://{meta['uid']}",
            }

        status = {
            "phase": "Succeeded" if code == 0 else "Failed",
            "containerStatuses": [container(c) for c in pod["spec"]["containers"]],
        }
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        self.api.patch("Pod", meta["namespace"], meta["name"], change, "strategic", "status")
        pod["status"] = pod.get("status", {}) | status

    def make_external(self, name: str, cpus: int = 8, memory: str = "16Gi", **labels: str) -> str:
        """A node that the bridge registers in Slurm. Half a core is the system's own."""
        self.make_node(name, **{EXTERNAL: "true", **labels})
        number = 20 + len(self.api.all("Node"))
        status = {
            "capacity": {"cpu": f"{cpus}.5", "memory": memory, "pods": "500"},
            "allocatable": {"cpu": str(cpus), "memory": memory, "pods": "500"},
            "addresses": [{"type": "InternalIP", "address": f"127.0.1.{number}"}],
        }
        self.api.patch("Node", None, name, {"status": status}, sub="status")
        return name
