"""Scenarios 25 and 34 to 38 of the operator: what keeps other people's jobs alive, and what Slurm's
nodes are told about the Kubernetes nodes under them."""

import unittest
from datetime import datetime, timedelta, timezone

from operator_harness import OperatorTest
from operator_kubelet import OURS

PROTECT = "nodeset.slinky.slurm.net/pod-protect"
TOPOLOGY = "topology.slinky.slurm.net/spec"
FEATURES = "features.slinky.slurm.net/spec"
# Beside the usual one, in which nodes may be anywhere.
TREE = """
- topology: flat
  cluster_default: true
  flat: true
- topology: racks
  cluster_default: false
  tree:
    switches:
      - switch: core
        children: rack1,rack2
      - switch: rack1
      - switch: rack2
"""


class OperatorProtectionTest(OperatorTest):
    cluster = "test-op-protect"

    @classmethod
    def before_operator(cls):
        etc = cls.slurm.instance.folder / "files" / "etc"
        (etc / "topology.yaml").write_text(TREE.lstrip())
        cls.slurm.scontrol("reconfigure")

    def is_protected(self, pod: str) -> bool:
        return self.pod(pod)["metadata"]["labels"].get(PROTECT) == "true"

    def wait_protected(self, *pods: str, on: bool = True):
        for pod in pods:
            self.wait(lambda: self.is_protected(pod) == on, f"{pod} is protected: {on}")

    def budget_knows(self, count: int):
        """The disruption controller has seen the labels."""
        budget = lambda: self.api.get(  # noqa: E731
            "PodDisruptionBudget", self.ns, "slurm-workers-pdb-slurm"
        )
        self.wait(
            lambda: budget().get("status", {}).get("currentHealthy") == count,
            lambda: f"the budget counts {count} pods: {budget().get('status')}",
        )

    def daemons(self, count: int, **spec) -> list[str]:
        """A NodeSet in DaemonSet mode with so many idle workers; gives the names of its nodes."""
        nodes = [self.kubelet.make_node(f"{self.ns}-n{n}", self.ns) for n in range(count)]
        self.controller()
        own = {"nodeSelector": {OURS: self.ns}}
        name = self.nodeset(scalingMode="DaemonSet", template={"spec": own}, **spec)
        self.wait_idle(name, count)
        return nodes

    def pod_on(self, node: str) -> str:
        on = [
            p["metadata"]["name"] for p in self.pods().values() if p["spec"].get("nodeName") == node
        ]
        return on[0] if on else ""

    def test_25_a_busy_pod_is_not_evicted(self):
        name = self.cluster_of(2)
        pod = f"{name}-0"
        job = self.slurm.run_job(pod)
        self.wait_protected(pod)
        self.budget_knows(1)
        self.assertEqual(self.api.evict(self.ns, pod), 429)
        self.assertEqual(self.api.evict(self.ns, f"{name}-1"), 201)
        self.slurm.cancel(job)
        self.wait_protected(pod, on=False)
        uid = self.pod(pod)["metadata"]["uid"]
        self.wait(lambda: self.api.evict(self.ns, pod) == 201, "an idle one may be evicted")
        self.wait(lambda: self.pod(pod)["metadata"]["uid"] != uid, "it is made again")
        # Somebody who does not want it does not get it.
        self.wait(lambda: "IDLE" in self.slurm.state(pod), "the new one is in Slurm")
        self.wait_idle(name, 2)
        self.api.spec("NodeSet", self.ns, name, workloadDisruptionProtection=False)
        job = self.slurm.run_job(pod)
        state = lambda: {c["type"] for c in self.pod(pod)["status"]["conditions"]}  # noqa: E731
        self.wait(lambda: state() & {"SlurmNodeStateAllocated", "SlurmNodeStateMixed"}, "busy")
        self.assertFalse(self.is_protected(pod))
        self.assertEqual(self.api.evict(self.ns, pod), 201)

    def test_25b_nor_in_daemon_mode(self):
        nodes = self.daemons(3)
        pods = [self.pod_on(node) for node in nodes]
        for node in nodes:
            self.slurm.run_job(node)
        self.wait_protected(*pods)
        self.budget_knows(3)
        for pod in pods:
            self.assertEqual(self.api.evict(self.ns, pod), 429)

    def test_25c_nor_while_it_drains_for_a_scale_in(self):
        name = self.cluster_of(3)
        pods = [f"{name}-{n}" for n in range(3)]
        for pod in pods:
            self.slurm.run_job(pod)
        self.wait_protected(*pods)
        self.api.spec("NodeSet", self.ns, name, replicas=1)
        self.wait(lambda: self.slurm.is_draining(pods[2]), "the scale-in has begun")
        self.budget_knows(3)
        for pod in pods:
            self.assertEqual(self.api.evict(self.ns, pod), 429)

    def test_34_topology_and_features_of_the_node(self):
        self.kubelet.make_node(f"{self.ns}-a", self.ns)
        node = f"{self.ns}-a"
        self.api.annotate("Node", None, node, {TOPOLOGY: "racks:rack1", FEATURES: "b,a"})
        name = self.cluster_of(1)
        pod = f"{name}-0"
        self.assertEqual(self.pod(pod)["spec"]["nodeName"], node)
        features = lambda: set(self.slurm.node(pod)["features"])  # noqa: E731
        where = lambda: self.slurm.node(pod)["topology"]  # noqa: E731
        self.wait(lambda: features() == {name, "k8s/a", "k8s/b"}, lambda: f"{features()}")
        self.wait(lambda: self.annotations(pod).get(TOPOLOGY) == "racks:rack1", "on the pod")
        self.wait(lambda: "rack1" in where(), lambda: f"topology in Slurm: {where()}")
        self.slurm.update(pod, AvailableFeatures=f"{name},fast,k8s/a,k8s/b")
        self.api.annotate("Node", None, node, {TOPOLOGY: "racks:rack2", FEATURES: "c"})
        self.wait(lambda: features() == {name, "fast", "k8s/c"}, lambda: f"{features()}")
        self.wait(lambda: "rack2" in where(), lambda: f"topology in Slurm: {where()}")
        self.api.annotate("Node", None, node, {FEATURES: None})
        self.wait(lambda: features() == {name, "fast"}, lambda: f"{features()}")
        active = lambda: set(self.slurm.node(pod)["active_features"])  # noqa: E731
        self.assertEqual(active(), {name, "fast"})
        # What is there and not active stays so, and what is ours and not active becomes so.
        self.slurm.update(pod, ActiveFeatures=name)
        self.api.annotate("Node", None, node, {FEATURES: "d"})
        self.wait(lambda: features() == {name, "fast", "k8s/d"}, lambda: f"{features()}")
        self.wait(lambda: active() == {name, "k8s/d"}, lambda: f"active: {active()}")
        self.slurm.update(pod, ActiveFeatures=name)
        self.wait(lambda: active() == {name, "k8s/d"}, lambda: f"active again: {active()}")
        self.api.annotate("Node", None, node, {TOPOLOGY: None})
        self.wait(lambda: not self.annotations(pod).get(TOPOLOGY), "gone from the pod")
        self.wait(lambda: where() == "", lambda: f"gone from Slurm: {where()}")
        # What somebody else gives it then is not the operator's to take.
        self.slurm.update(pod, Topology="racks:rack1")
        self.api.annotate("Node", None, node, {FEATURES: "e"})
        self.wait(lambda: "k8s/e" in features(), lambda: f"{features()}")
        self.assertIn("rack1", where())

    def lose(self, slurm_node: str):
        """As Slurm sees a worker whose machine is gone."""
        self.slurm.stop_worker(slurm_node)
        self.slurm.update(slurm_node, state="down", reason="gone")
        self.slurm.update(slurm_node, state="noresp")

    def test_35_records_of_nodes_that_are_gone(self):
        override = "nodeset.slinky.slurm.net/hostname-override"
        nodes = self.daemons(4, pruneSlurmNodeRecords="NodeNotFound")
        comment = lambda node: self.slurm.node(node).get("comment", "")  # noqa: E731
        self.wait(lambda: all(map(comment, nodes)), "each node says whose it is")
        # The second one's name lives on: another machine has taken it.
        self.kubelet.make_node(f"{self.ns}-x", "", other="true")
        self.addCleanup(self.api.delete, "Node", None, f"{self.ns}-x")
        self.api.annotate("Node", None, f"{self.ns}-x", {override: nodes[1]})
        # The third one's node is there, under another name in Slurm, and is not to have a worker.
        named = f"{self.ns}-named"
        self.api.annotate("Node", None, nodes[2], {override: named})
        self.wait(lambda: self.slurm.node(named) and comment(named), "a worker of that name")
        self.api.patch("Node", None, nodes[2], {"metadata": {"labels": {OURS: None}}})
        self.addCleanup(self.api.delete, "Node", None, nodes[2])
        self.wait(lambda: not self.pod_on(nodes[2]), "its worker goes")
        self.lose(named)
        for node in nodes[:2]:
            pod = self.pod_on(node)
            self.api.delete("Node", None, node)
            self.lose(node)
            self.api.delete("Pod", self.ns, pod, gracePeriodSeconds=0)
        self.wait(lambda: not self.slurm.node(nodes[0]), "the record of the first goes")
        self.wait(lambda: self.api.events(self.ns, "DefunctSlurmNodePruned"), "an event says so")
        for node in nodes[1], named, nodes[3]:
            self.stays(lambda: self.slurm.node(node), f"{node} stays", 2)

    def test_35b_no_record_goes_in_statefulset_mode(self):
        name = self.cluster_of(2, pruneSlurmNodeRecords="NodeNotFound")
        node = self.pod(f"{name}-1")["spec"]["nodeName"]
        self.api.spec("NodeSet", self.ns, name, replicas=1)
        self.wait_pods(f"{name}-0")
        self.api.delete("Node", None, node)
        self.lose(f"{name}-1")
        self.stays(lambda: self.slurm.node(f"{name}-1"), "the record stays")

    def test_36_nodesets_share_a_service_and_a_budget(self):
        self.kubelet.without_slurm.add(self.ns)
        self.controller()
        names = [f"{self.ns}a", f"{self.ns}b"]
        uids = {}
        for name in names:
            self.nodeset(0, name=name)
            uids[name] = self.api.get("NodeSet", self.ns, name)["metadata"]["uid"]
        shared = ("Service", "slurm-workers-slurm"), (
            "PodDisruptionBudget",
            "slurm-workers-pdb-slurm",
        )
        for kind, name in shared:
            owners = lambda: self.api.get(kind, self.ns, name)["metadata"][
                "ownerReferences"
            ]  # noqa: E731
            self.wait(lambda: {o["uid"] for o in owners()} == set(uids.values()), "two owners")
            self.assertFalse(any(o.get("controller") for o in owners()))
        # At rest, too: nothing else happens that would make the operator look.
        budget = lambda: self.api.find(shared[1][0], self.ns, shared[1][1])  # noqa: E731
        before = budget()
        self.api.delete("PodDisruptionBudget", self.ns, shared[1][1])
        self.wait(
            lambda: budget() and budget()["metadata"]["uid"] != before["metadata"]["uid"],
            "a budget that was deleted is made again",
        )
        self.api.spec("PodDisruptionBudget", self.ns, shared[1][1], minAvailable=0)
        self.wait(lambda: budget()["spec"] == before["spec"], lambda: f"as it was: {budget()}")
        service = self.api.get("Service", self.ns, "slurm-workers-slurm")["spec"]
        self.assertEqual(service["clusterIP"], "None")
        selector = {"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": "slurm"}
        self.assertEqual(service["selector"], selector)
        self.api.delete("NodeSet", self.ns, names[0])
        for kind, name in shared:
            owners = lambda: self.api.get(kind, self.ns, name)["metadata"][
                "ownerReferences"
            ]  # noqa: E731
            self.wait(lambda: [o["uid"] for o in owners()] == [uids[names[1]]], "one owner")
        self.api.delete("NodeSet", self.ns, names[1])
        for kind, name in shared:
            self.wait(lambda: not self.api.find(kind, self.ns, name), f"{kind} goes")

    def ready_since(self, pod: str, seconds: float):
        """As if it had been Ready for so long."""
        moment = datetime.now(timezone.utc) - timedelta(seconds=seconds)
        ready = {"type": "Ready", "status": "True"}
        ready["lastTransitionTime"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        change = {"status": {"conditions": [ready]}}
        self.api.patch("Pod", self.ns, pod, change, "strategic", "status")

    def test_37_a_worker_that_slurm_forgot_comes_back(self):
        name = self.cluster_of(4)
        uids = lambda: {n: p["metadata"]["uid"] for n, p in self.pods().items()}  # noqa: E731
        before = uids()
        for n in range(4):
            self.ready_since(f"{name}-{n}", 600)
        # A list without any node is not believed. All go in one call: of a list that lacks three of
        # four the operator would rightly make one of them anew.
        self.slurm.forget(",".join(self.slurm.nodes()))
        self.assertEqual(self.slurm.nodes(), {})
        self.stays(lambda: uids() == before, "nobody goes on the word of an empty list", 6)
        # Three of four on a list that can be believed: one at a time.
        self.slurm.stop_worker(f"{name}-0")
        self.slurm.start_worker(f"{name}-0", name)
        changed = lambda: {n for n in before if uids().get(n) != before[n]}  # noqa: E731
        self.wait(changed, "one is made again")
        self.stays(lambda: len(changed()) <= 1, lambda: f"no more at once: {changed()}", 6)
        self.assertNotIn(f"{name}-0", changed())
        again = changed().pop()
        self.wait(lambda: self.slurm.node(again), "it registers anew")

    def test_38_nobody_busy_goes_while_slurm_is_silent(self):
        name = self.cluster_of(3)
        pods = [f"{name}-{n}" for n in range(3)]
        jobs = [self.slurm.run_job(pod, "-t", str(180 - 60 * n)) for n, pod in enumerate(pods)]
        self.wait_protected(*pods)
        self.api.spec("NodeSet", self.ns, name, replicas=1)
        draining = lambda: [pod for pod in pods if self.slurm.is_draining(pod)]  # noqa: E731
        self.wait(lambda: len(draining()) == 2, lambda: f"the scale-in has begun: {draining()}")
        self.slurm.kill_slurmrestd()
        type(self).operator.kill()
        type(self).operator = self.start_operator().wait_ready()
        everybody = lambda: set(self.pods()) == set(pods)  # noqa: E731
        self.stays(everybody, "nobody goes", 6)
        # Also a scale-in that begins now has to wait.
        self.api.spec("NodeSet", self.ns, name, replicas=0)
        self.stays(everybody, "nobody goes", 4)
        self.slurm.start_slurmrestd()
        self.wait(lambda: len(draining()) == 3, lambda: f"the scale-in goes on: {draining()}")
        self.stays(everybody, "the busy stay", 3)
        for job in jobs:
            self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
            self.slurm.cancel(job)
        self.wait_pods()

    def test_38b_what_was_asked_for_meanwhile_is_done_when_it_speaks_again(self):
        """By the same operator, and with no job whose end would wake it."""
        name = self.cluster_of(2)
        reachable = lambda: {c["type"]: c["status"] for c in self.status()["conditions"]}[
            "SlurmReachable"
        ]  # noqa: E731
        self.slurm.kill_slurmrestd()
        try:
            self.wait(lambda: reachable() == "False", "the status says that Slurm is away")
            self.api.spec("NodeSet", self.ns, name, replicas=1)
            self.cordon_node(self.node_of(f"{name}-0"))
            self.stays(lambda: len(self.pods()) == 2, "nobody goes")
        finally:
            self.slurm.start_slurmrestd()
        self.wait(lambda: reachable() == "True", "the status says that Slurm is back")
        self.wait_pods(f"{name}-0")
        self.wait(lambda: self.slurm.is_draining(f"{name}-0"), "the cordon is known to Slurm")


if __name__ == "__main__":
    unittest.main()
