"""Scenarios 16 to 24 and 26 of the operator: the pods of NodeSets, and what Slurm is told."""

import unittest
from datetime import datetime, timezone

from operator_harness import CORDON, REVISION, OperatorTest
from operator_kubelet import HOSTNAME, OURS

PREFIX = "nodeset.slinky.slurm.net/"
SCALE_IN = "slurm-operator: Pod ({}/{}) is pending termination for scale-in"


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class OperatorNodeSetTest(OperatorTest):
    cluster = "test-op-nodeset"
    flags = ("--propagated-node-conditions=Broken,Hot", "--deletions-per-minute=1000")

    def scale(self, replicas: int):
        self.api.spec("NodeSet", self.ns, f"{self.ns}w", replicas=replicas)

    def set_pod_phase(self, pod: str, phase: str):
        self.api.patch("Pod", self.ns, pod, {"status": {"phase": phase}}, sub="status")

    def test_16_names_and_ordinals(self):
        hostname = f"{self.ns}gpu-"
        self.controller()
        self.nodeset(3, ordinalPadding=3, template={"spec": {"hostname": hostname}})
        pods = self.wait_pods(*(f"{self.ns}w-{n:03}" for n in range(3)))
        for n in range(3):
            pod = pods[f"{self.ns}w-{n:03}"]
            labels = pod["metadata"]["labels"]
            self.assertEqual(pod["spec"]["hostname"], f"{hostname}{n:03}")
            self.assertEqual(labels[PREFIX + "pod-index"], f"{n:03}")
            self.assertEqual(labels[PREFIX + "pod-name"], f"{self.ns}w-{n:03}")
            self.assertEqual(labels[HOSTNAME], f"{hostname}{n:03}")
            self.assertEqual(labels[PREFIX + "scaling-mode"], "StatefulSet")
            self.assertEqual(labels["slinky.slurm.net/cluster"], "slurm")
            self.assertIn(REVISION, labels)
            self.assertEqual(pod["spec"]["subdomain"], "slurm-workers-slurm")
            slurmd = next(c for c in pod["spec"]["containers"] if c["name"] == "slurmd")
            self.assertIn(f"Features={self.ns}gpu", " ".join(slurmd["args"]))
            self.assertIn("-Z", slurmd["args"])
        self.wait_idle(f"{self.ns}w", 3)
        self.assertIn(f"NodeSet={self.ns}gpu Feature={self.ns}gpu", self.slurm_conf())

    def test_17_a_lost_pod_comes_back_under_its_name(self):
        name = self.cluster_of(3)
        before = self.uids()
        self.api.delete("Pod", self.ns, f"{name}-1")
        self.wait(
            lambda: len(self.pods()) == 3 and self.uids()[f"{name}-1"] != before[f"{name}-1"],
            "the same name again",
        )
        self.wait_idle(name, 3)
        for phase in "Failed", "Succeeded":
            uid = self.uids()[f"{name}-2"]
            self.set_pod_phase(f"{name}-2", phase)
            self.wait(
                lambda: self.uids().get(f"{name}-2", uid) != uid, f"a {phase} pod is replaced"
            )
            self.wait_idle(name, 3)
        self.assertEqual(self.uids()[f"{name}-0"], before[f"{name}-0"])

    def test_17b_and_on_its_node(self):
        """The same in DaemonSet mode: another pod takes the place of the one that was lost."""
        nodes = [self.kubelet.make_node(f"{self.ns}-n{n}", self.ns) for n in range(2)]
        self.controller()
        own = {"nodeSelector": {OURS: self.ns}}
        name = self.nodeset(scalingMode="DaemonSet", template={"spec": own})
        self.wait_idle(name, 2)
        by_node = lambda: {
            p["spec"].get("nodeName"): n for n, p in self.pods().items()
        }  # noqa: E731
        other = by_node()[nodes[1]]
        lost = by_node()[nodes[0]]
        self.api.delete("Pod", self.ns, lost)
        self.wait(lambda: by_node().get(nodes[0], lost) != lost, "its node gets another")
        self.wait_idle(name, 2)
        for phase in "Failed", "Succeeded":
            ended = by_node()[nodes[0]]
            self.set_pod_phase(ended, phase)
            self.wait(lambda: by_node().get(nodes[0], ended) != ended, f"a {phase} pod is replaced")
            self.wait(lambda: self.api.events(self.ns, f"{phase}DaemonPod"), "an event says so")
            self.wait_idle(name, 2)
        self.assertEqual(by_node()[nodes[1]], other)

    def test_18_scale_in_of_idle_workers(self):
        name = self.cluster_of(3)
        self.kubelet.lingering |= {f"{name}-1", f"{name}-2"}
        self.scale(1)
        self.wait_pods(f"{name}-0")
        for n in (1, 2):
            self.assertEqual(
                self.slurm.reason(f"{name}-{n}"), SCALE_IN.format(self.ns, f"{name}-{n}")
            )
            self.assertIn("DRAIN", self.slurm.state(f"{name}-{n}"))
        self.kubelet.lingering.clear()
        self.wait_idle(name, 1)
        self.assertEqual(self.slurm.reason(f"{name}-0"), "")
        for reason in "ScalingUp", "SuccessfulCreate", "ScalingDown", "SuccessfulDelete":
            self.wait(lambda: self.api.events(self.ns, reason), f"an event {reason}")

    def test_19_a_busy_worker_goes_last_and_after_its_job(self):
        name = self.cluster_of(3)
        pods = [f"{name}-{n}" for n in range(3)]
        jobs = [self.slurm.run_job(pod, "-t", str(180 - 60 * n)) for n, pod in enumerate(pods)]
        deadline = PREFIX + "pod-deadline"
        for pod in pods:
            self.wait(lambda: deadline in self.annotations(pod), f"{pod} has a deadline")
        # The one whose jobs end first.
        self.scale(2)
        self.wait_drained(pods[2], SCALE_IN.format(self.ns, pods[2]))
        self.stays(lambda: len(self.pods()) == 3, "a busy worker is not deleted")
        # One that costs less takes its place, and it is let go.
        self.api.annotate("Pod", self.ns, pods[0], {f"{PREFIX}pod-deletion-cost": "-5"})
        self.wait_drained(pods[0], SCALE_IN.format(self.ns, pods[0]))
        self.wait_open(pods[2])
        self.slurm.cancel(jobs[0])
        self.wait_pods(pods[1], pods[2])
        self.assertIn("RUNNING", self.slurm.job(jobs[2])["job_state"])
        self.scale(1)
        self.wait_drained(pods[2], SCALE_IN.format(self.ns, pods[2]))
        self.slurm.cancel(jobs[2])
        self.wait_pods(pods[1])
        self.assertIn("RUNNING", self.slurm.job(jobs[1])["job_state"])

    def test_20_the_end_of_jobs_is_on_the_pod(self):
        name = self.cluster_of(1)
        job = self.slurm.run_job(f"{name}-0", "-t", "60")
        start = self.slurm.job(job)["start_time"]["number"]
        wanted = stamp(datetime.fromtimestamp(start + 3600, timezone.utc))
        key = PREFIX + "pod-deadline"
        self.wait(
            lambda: self.annotations(f"{name}-0").get(key) == wanted,
            lambda: f"{wanted}: {self.annotations(f'{name}-0')}",
        )
        self.slurm.cancel(job)
        self.wait(lambda: key not in self.annotations(f"{name}-0"), "no deadline without a job")

    def test_21_a_cordoned_node_drains_its_worker(self):
        name = self.cluster_of(1)
        pod, node = f"{name}-0", self.node_of(f"{name}-0")
        own = "slurm-operator: "
        self.cordon_node(node)
        plain = f"Node ({node}) was cordoned, Pod ({self.ns}/{pod}) must be cordoned"
        self.wait_drained(pod, own + plain)
        self.wait(lambda: self.api.events(self.ns, "NodeCordon"), "an event NodeCordon")
        self.cordon_node(node, False)
        self.wait_open(pod)

        note = {f"{PREFIX}node-cordon-reason": "\x1b[31mfan\nis loud\x07  "}
        self.api.annotate("Node", None, node, note)
        self.cordon_node(node)
        self.wait_drained(pod, own + "[31mfan is loud")
        self.cordon_node(node, False)
        self.wait_open(pod)
        self.api.annotate("Node", None, node, {f"{PREFIX}node-cordon-reason": None})

        conditions = [
            {"type": kind, "status": status, "reason": f"{kind}Reason", "message": f"{kind}!"}
            for kind, status in (("Hot", "True"), ("Broken", "True"), ("Loud", "True"))
        ]
        for one in conditions:
            one |= {"lastTransitionTime": stamp(datetime.now(timezone.utc))}
        change = {"status": {"conditions": conditions}}
        self.api.patch("Node", None, node, change, "strategic", "status")
        self.cordon_node(node)
        self.wait_drained(pod, own + "(BrokenReason: Broken!); (HotReason: Hot!)")
        self.cordon_node(node, False)
        self.wait_open(pod)

    def test_22_what_an_admin_drained_stays_drained(self):
        name = self.cluster_of(2)
        self.slurm.update(f"{name}-0", state="drain", reason="bad dimm")
        # Also where the operator has not seen it yet.
        self.cordon_node(self.node_of(f"{name}-0"))
        self.cordon_node(self.node_of(f"{name}-1"))
        self.wait(lambda: self.is_cordoned(f"{name}-1"), "the other one is cordoned")
        self.cordon_node(self.node_of(f"{name}-0"), False)
        self.cordon_node(self.node_of(f"{name}-1"), False)
        self.wait_open(f"{name}-1")
        # And a pod that we have cordoned stays so, once the drain is an administrator's.
        self.cordon_node(self.node_of(f"{name}-1"))
        self.wait(lambda: self.slurm.is_draining(f"{name}-1"), "the other one is drained")
        self.slurm.update(f"{name}-1", state="drain", reason="bad dimm")
        seen = lambda: self.states(f"{name}-1").get("Drain")  # noqa: E731
        self.wait(lambda: seen() == "bad dimm", lambda: f"seen: {self.states(f'{name}-1')}")
        self.cordon_node(self.node_of(f"{name}-1"), False)
        self.stays(
            lambda: self.is_cordoned(f"{name}-1")
            and all(self.slurm.is_draining(f"{name}-{n}") for n in range(2))
            and {self.slurm.reason(f"{name}-{n}") for n in range(2)} == {"bad dimm"},
            lambda: f"left alone: {self.annotations(f'{name}-1')} {self.slurm.nodes()}",
            2,
        )

    def test_23_what_does_not_respond_is_not_undrained(self):
        name = self.cluster_of(2)
        reason = "slurm-operator: Not responding"
        self.slurm.update(f"{name}-0", state="down", reason=reason)
        self.slurm.update(f"{name}-0", state="drain", reason=reason)
        self.cordon_node(self.node_of(f"{name}-1"))
        self.wait(lambda: self.is_cordoned(f"{name}-1"), "the other one is cordoned")
        self.cordon_node(self.node_of(f"{name}-1"), False)
        self.wait_open(f"{name}-1")
        self.stays(
            lambda: {"DOWN", "DRAIN"} <= self.slurm.state(f"{name}-0"), "it stays as it is", 2
        )

    def test_23b_slurm_takes_a_lost_worker_back_and_no_other(self):
        name = self.cluster_of(3)
        self.assertIn("ReturnToService=1", self.slurm_conf().splitlines())
        running = self.slurm.scontrol("show", "config")
        self.assertRegex(running, r"ReturnToService +\S* *= 1")
        lost, broken, restarted = (f"{name}-{n}" for n in range(3))
        # Without preStop; what follows slurmctld does by itself, when SlurmdTimeout is over.
        self.slurm.stop_worker(lost)
        self.slurm.update(lost, state="down", reason="Not responding")
        self.slurm.update(broken, state="down", reason="bad dimm")
        self.wait(lambda: "DOWN" in self.slurm.state(lost), "it is down")
        self.slurm.start_worker(lost, name)
        idle = lambda node: "IDLE" in self.slurm.state(node)  # noqa: E731
        self.wait(lambda: idle(lost), lambda: f"{self.slurm.node(lost)}")
        # The operator's own: it stays down until the operator resumes it, as its pod is Ready.
        self.slurm.update(restarted, state="down", reason="slurm-operator: Pod is terminating")
        self.wait(lambda: idle(restarted), lambda: f"{self.slurm.node(restarted)}")
        self.stays(lambda: "DOWN" in self.slurm.state(broken), "an administrator's stays down", 2)
        self.assertEqual(self.slurm.reason(broken), "bad dimm")

    def test_24_a_cordon_by_hand_stays(self):
        name = self.cluster_of(1)
        pod = f"{name}-0"
        self.api.annotate("Pod", self.ns, pod, {CORDON: "true"})
        self.wait_drained(pod, f"slurm-operator: Pod ({self.ns}/{pod}) was cordoned")
        # Reasons to look again do not change anything.
        self.api.annotate("NodeSet", self.ns, name, {"example": "1"})
        self.cordon_node(self.node_of(pod))
        self.cordon_node(self.node_of(pod), False)
        self.stays(
            lambda: self.is_cordoned(pod) and self.slurm.is_draining(pod),
            lambda: f"it stays: {self.annotations(pod)} {self.slurm.node(pod)['state']}",
        )
        self.api.annotate("Pod", self.ns, pod, {CORDON: None})
        self.wait_open(pod)

    def states(self, pod: str) -> dict[str, str]:
        prefix = "SlurmNodeState"
        found = self.pod(pod)["status"].get("conditions", [])
        ours = [c for c in found if c["type"].startswith(prefix)]
        self.assertTrue(all(c["status"] == "True" for c in ours), ours)
        self.assertEqual(len(ours), len({c["type"] for c in ours}), ours)
        return {c["type"].removeprefix(prefix): c.get("message", "") for c in ours}

    def test_26_conditions_say_what_slurm_says(self):
        name = self.cluster_of(3)
        pod = f"{name}-0"
        wait = lambda wanted: self.wait(  # noqa: E731
            lambda: self.states(pod) == wanted, lambda: f"{wanted}: {self.states(pod)}"
        )
        wait({"Idle": ""})
        lost = {"Down": "lost", "Drain": "lost", "NotResponding": "lost"}
        for _ in range(2):
            self.slurm.stop_worker(pod)
            self.slurm.update(pod, state="down", reason="lost")
            self.slurm.update(pod, state="drain", reason="lost")
            self.slurm.update(pod, state="noresp")
            wait(lost)
        job = self.slurm.run_job(f"{name}-1", "--exclusive")
        count = lambda: tuple(  # noqa: E731
            self.status()[k] for k in ("slurmIdle", "slurmAllocated", "slurmDown", "slurmDrain")
        )
        self.wait(lambda: count() == (1, 1, 1, 1), lambda: f"counters: {count()}")
        self.wait(lambda: set(self.states(f"{name}-1")) == {"Allocated"}, "Allocated")
        self.slurm.cancel(job)
        # A node that is resumed counts as not responding until its slurmd registers.
        self.slurm.update(pod, state="resume")
        self.slurm.start_worker(pod, name)
        wait({"Idle": ""})
        self.wait(lambda: count() == (3, 0, 0, 0), lambda: f"counters: {count()}")


if __name__ == "__main__":
    unittest.main()
