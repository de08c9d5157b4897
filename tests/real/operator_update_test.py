"""Scenarios 27 to 33 of the operator: updates of NodeSets, their modes, where their pods and data are."""

import unittest
from datetime import datetime, timedelta, timezone

from operator_harness import OperatorTest, nodeset
from operator_kube import PATIENCE
from operator_kubelet import HOSTNAME, OURS, PULL_TIME

PREFIX = "nodeset.slinky.slurm.net/"


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class OperatorUpdateTest(OperatorTest):
    cluster = "test-op-update"

    def new_image(self, image: str):
        self.api.spec("NodeSet", self.ns, f"{self.ns}w", slurmd={"image": image})

    def images(self) -> list[str]:
        spec = lambda pod: pod["spec"]["containers"]  # noqa: E731
        return sorted(next(c["image"] for c in spec(p) if c["name"] == "slurmd")
                      for p in self.pods().values())  # fmt: skip

    def rolling(self, most: int | str) -> dict:
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}}

    def test_27_a_rolling_update_stops_at_what_does_not_start(self):
        name = self.cluster_of(4, updateStrategy=self.rolling(1))
        self.new_image("never-ready:2")
        wanted = ["never-ready:2"] + ["slurmd:1"] * 3
        self.wait(lambda: self.images() == wanted, lambda: f"{self.images()}")
        self.stays(
            lambda: self.images().count("slurmd:1") == 3
            and not any(self.slurm.is_draining(p) for p in self.pods()
                        if "never" not in str(self.pods().get(p))),
            "no more is taken down",
        )  # fmt: skip
        # An old one that is broken is replaced beside the budget.
        broken = next(n for n, p in self.pods().items() if "never-ready" not in str(p["spec"]))
        conditions = [{"type": "Ready", "status": "False"}]
        change = {"status": {"conditions": conditions}}
        self.api.patch("Pod", self.ns, broken, change, "strategic", "status")
        self.wait(
            lambda: self.images() == ["never-ready:2"] * 2 + ["slurmd:1"] * 2,
            lambda: f"{self.images()}",
        )
        # A third image ends it all; 25 % of 4 is one at a time.
        self.api.spec(
            "NodeSet", self.ns, name, updateStrategy={"rollingUpdate": {"maxUnavailable": "25%"}}
        )
        self.new_image("slurmd:3")
        self.wait(lambda: self.images() == ["slurmd:3"] * 4, lambda: f"{self.images()}", 90)
        self.wait_idle(name, 4)
        self.wait(lambda: self.status()["updatedReplicas"] == 4, "all are up to date")

    def test_27b_a_share_is_rounded_up(self):
        """25 % of 5 is two."""
        self.cluster_of(5, updateStrategy=self.rolling("25%"))
        self.new_image("never-ready:2")
        two = lambda: self.images() == ["never-ready:2"] * 2 + ["slurmd:1"] * 3  # noqa: E731
        self.wait(two, lambda: f"{self.images()}")
        self.stays(two, lambda: f"no more is taken down: {self.images()}")

    def test_27c_while_images_come_slowly_no_more_are_missing_than_may_be(self):
        name = self.cluster_of(4, updateStrategy=self.rolling(1))
        seen: list[int] = []

        def is_done() -> bool:
            ready = {"type": "Ready", "status": "True"}
            conditions = [p["status"].get("conditions", []) for p in self.pods().values()]
            seen.append(sum(any(ready.items() <= c.items() for c in one) for one in conditions))
            return seen[-1] == 4 and self.images() == ["slow-pull:2"] * 4

        self.new_image("slow-pull:2")
        self.wait(is_done, lambda: f"{self.images()}", 4 * PULL_TIME + PATIENCE)
        self.assertEqual(min(seen), 3, "one at a time")
        self.wait_idle(name, 4)

    def test_28_on_delete(self):
        name = self.cluster_of(2, updateStrategy={"type": "OnDelete"})
        before = self.uids()
        self.assertEqual(self.status()["updatedReplicas"], 2)
        self.new_image("slurmd:2")
        self.wait(lambda: self.status().get("updatedReplicas", 0) == 0, "no pod is up to date")
        self.stays(lambda: self.uids() == before, "no pod is touched", 3)
        self.api.delete("Pod", self.ns, f"{name}-0")
        self.wait(lambda: self.images() == ["slurmd:1", "slurmd:2"], lambda: f"{self.images()}")
        self.wait(lambda: self.status().get("updatedReplicas") == 1, "one is up to date")

    def scheduled(self, start: datetime) -> dict:
        window = {"startTime": stamp(start), "duration": "5m"}
        return {"type": "ScheduledUpdate", "scheduledUpdate": window}

    def reserved(self) -> tuple[str, str]:
        """What the status says of the reservation."""
        found = {c["type"]: c for c in self.status().get("conditions", [])}
        one = found.get("ReservationCreated", {})
        return one.get("status", ""), one.get("reason", "")

    def wait_reserved(self, *wanted: str):
        self.wait(lambda: self.reserved() == wanted, lambda: f"{wanted}: {self.reserved()}")

    def test_29_a_scheduled_update(self):
        finalizer = PREFIX + "reservation"
        start = datetime.now(timezone.utc) + timedelta(hours=1)
        name = self.cluster_of(2, updateStrategy=self.scheduled(start))
        reservation = f"SlurmOperatorMaint-{name}"
        there = self.wait(lambda: self.slurm.reservation(reservation), "the reservation")
        self.assertLessEqual({"MAINT", "IGNORE_JOBS"}, set(there["flags"]))
        self.wait(
            lambda: self.slurm.reservation(reservation)["node_list"] == f"{name}-[0-1]",
            lambda: f"its nodes: {self.slurm.reservation(reservation)}",
        )
        self.assertEqual(there["start_time"]["number"], int(start.timestamp()))
        self.wait_for("NodeSet", name, lambda n: finalizer in n["metadata"].get("finalizers", []))
        self.wait_reserved("True", "Created")
        before = self.uids()
        self.new_image("slurmd:2")
        self.wait(lambda: self.status().get("updatedReplicas", 0) == 0, "the update is known")
        self.stays(lambda: self.uids() == before, "nothing before the window", 2)
        soon = datetime.now(timezone.utc) + timedelta(seconds=5)
        self.api.spec("NodeSet", self.ns, name, updateStrategy=self.scheduled(soon))
        self.wait(lambda: self.images() == ["slurmd:2"] * 2, lambda: f"{self.images()}", 90)
        self.api.spec(
            "NodeSet",
            self.ns,
            name,
            updateStrategy={"type": "RollingUpdate", "scheduledUpdate": None},
        )
        self.wait(lambda: not self.slurm.reservation(reservation), "no reservation any more")
        self.wait_reserved("False", "NotExists")
        self.wait_for(
            "NodeSet", name, lambda n: finalizer not in n["metadata"].get("finalizers", [])
        )
        self.api.spec("NodeSet", self.ns, name, updateStrategy=self.scheduled(start))
        self.wait(lambda: self.slurm.reservation(reservation), "the reservation again")
        self.api.delete("NodeSet", self.ns, name)
        self.wait(lambda: not self.slurm.reservation(reservation), "it goes with the NodeSet")
        self.wait(lambda: not self.api.find("NodeSet", self.ns, name), "the NodeSet goes")

    def daemon_template(self) -> dict:
        return {"spec": {"nodeSelector": {OURS: self.ns}}}

    def by_node(self) -> dict[str, dict]:
        return {p["spec"].get("nodeName", "?"): p for p in self.pods().values()}

    def test_30_daemon_mode(self):
        nodes = [self.kubelet.make_node(f"{self.ns}-n{n}", self.ns) for n in range(3)]
        self.controller()
        name = self.nodeset(scalingMode="DaemonSet", template=self.daemon_template())
        self.wait(lambda: set(self.by_node()) == set(nodes), lambda: f"{self.by_node().keys()}")
        for node, pod in self.by_node().items():
            self.assertEqual(pod["spec"]["hostname"], node)
            self.assertEqual(pod["metadata"]["labels"][HOSTNAME], node)
            self.assertEqual(pod["metadata"]["generateName"], f"{name}-")
            rule = pod["spec"]["affinity"]["nodeAffinity"]
            terms = rule["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            self.assertEqual(terms[0]["matchFields"][0]["values"], [node])
        self.wait_idle(name, 3)
        self.assertEqual(self.status()["desired"], 3)
        nodes.append(self.kubelet.make_node(f"{self.ns}-n3.example.com", self.ns))
        self.wait(lambda: set(self.by_node()) == set(nodes), lambda: f"{self.by_node().keys()}")
        self.assertEqual(self.by_node()[nodes[3]]["spec"]["hostname"], f"{self.ns}-n3")
        self.wait_idle(name, 4)
        pod = self.by_node()[nodes[0]]["metadata"]["name"]
        self.kubelet.lingering.add(pod)
        self.api.patch("Node", None, nodes[0], {"metadata": {"labels": {OURS: None}}})
        self.addCleanup(self.api.delete, "Node", None, nodes[0])
        self.wait(lambda: nodes[0] not in self.by_node(), "a node without the label has no worker")
        # It was drained first; that it is down is what its preStop says, which has not run.
        state, reason = self.slurm.state(nodes[0]), self.slurm.reason(nodes[0])
        self.assertIn("DRAIN", state)
        self.assertNotIn("DOWN", state)
        self.assertEqual(
            reason, f"slurm-operator: Pod ({self.ns}/{pod}) is pending termination for misplaced"
        )
        self.kubelet.lingering.clear()
        override = {f"{PREFIX}hostname-override": f"{self.ns}-other"}
        self.api.annotate("Node", None, nodes[1], override)
        self.wait(
            lambda: self.by_node()[nodes[1]]["spec"]["hostname"] == f"{self.ns}-other",
            "another host name makes another pod",
        )
        self.wait(lambda: self.api.events(self.ns, "HostnameMismatch"), "an event says so")
        self.wait(lambda: self.status()["desired"] == 3, "three are wanted")
        self.wait_idle(name, 3)

    def test_31_from_one_mode_to_the_other_and_back(self):
        for n in range(2):
            self.kubelet.make_node(f"{self.ns}-n{n}", self.ns)
        self.controller()
        name = self.nodeset(1, template=self.daemon_template())
        self.wait_pods(f"{name}-0")
        self.wait_idle(name, 1)
        went_drained = lambda pod, node: self.wait(  # noqa: E731
            lambda: "DRAIN" in self.slurm.state(node)
            and self.slurm.reason(node)
            == f"slurm-operator: Pod ({self.ns}/{pod}) is pending termination for mode-switch",
            lambda: f"{node} was drained: {self.slurm.state(node)} {self.slurm.reason(node)}",
        )
        self.kubelet.lingering.add(f"{name}-0")
        self.api.spec("NodeSet", self.ns, name, scalingMode="DaemonSet")
        self.wait(lambda: f"{name}-0" not in self.pods(), "the old pod goes")
        went_drained(f"{name}-0", f"{name}-0")
        self.kubelet.lingering.clear()
        hosts = lambda: {p["spec"]["hostname"] for p in self.pods().values()}  # noqa: E731
        both = {f"{self.ns}-n0", f"{self.ns}-n1"}
        self.wait(lambda: hosts() == both, lambda: f"{hosts()}")
        self.wait_idle(name, 2)
        old = {pod: found["spec"]["hostname"] for pod, found in self.pods().items()}
        self.kubelet.lingering |= set(old)
        self.api.spec("NodeSet", self.ns, name, scalingMode="StatefulSet")
        # One a minute of so few, and one has just gone.
        gone = lambda: not set(old) & set(self.pods())  # noqa: E731
        self.wait(gone, "the old pods go", 2 * 60 + PATIENCE)
        for pod, node in old.items():
            went_drained(pod, node)
        self.kubelet.lingering.clear()
        self.wait_pods(f"{name}-0")
        self.wait_idle(name, 1)

    def test_32_pinned_to_nodes(self):
        name = self.cluster_of(2, pinToNode=True, template=self.daemon_template())
        pod = f"{name}-0"
        pins = lambda: self.status().get("ordinalToNode", {})  # noqa: E731
        wanted = {"0": self.node_of(pod), "1": self.node_of(f"{name}-1")}
        self.wait(lambda: pins() == wanted, lambda: f"{wanted}: {pins()}")
        uid = self.uids()[pod]
        self.kubelet.make_node(f"{self.ns}-a", self.ns)  # Would be chosen first otherwise.
        self.api.delete("Pod", self.ns, pod)
        self.wait(lambda: self.uids().get(pod, uid) != uid, "it is made again")
        rule = self.pod(pod)["spec"]["affinity"]["nodeAffinity"]
        terms = rule["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        self.assertIn(wanted["0"], str(terms))
        self.wait_idle(name, 2)
        self.assertEqual(self.node_of(pod), wanted["0"])
        uid = self.uids()[pod]
        self.api.delete("Node", None, wanted["0"])
        self.api.delete("Pod", self.ns, pod)
        self.wait(lambda: self.uids().get(pod, uid) != uid, "it is made again, elsewhere")
        self.wait(lambda: pins().get("0") == self.node_of(pod) != wanted["0"], lambda: f"{pins()}")
        # Nor to one that does not fit any more.
        self.wait_idle(name, 2)
        pod, uid = f"{name}-1", self.uids()[f"{name}-1"]
        self.api.patch("Node", None, wanted["1"], {"metadata": {"labels": {OURS: None}}})
        self.addCleanup(self.api.delete, "Node", None, wanted["1"])
        self.api.delete("Pod", self.ns, pod)
        self.wait(lambda: self.uids().get(pod, uid) != uid, "it is made again, elsewhere")
        self.assertNotIn(wanted["1"], str(self.pod(pod)["spec"].get("affinity", {})))
        self.wait(lambda: pins().get("1") == self.node_of(pod) != wanted["1"], lambda: f"{pins()}")

    def test_33_claims_and_who_owns_them(self):
        self.controller()
        claim = {"metadata": {"name": "data"}}
        claim["spec"] = {"accessModes": ["ReadWriteOnce"]}
        claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
        sets = {}
        for deleted in "Retain", "Delete":
            for scaled in "Retain", "Delete":
                name = f"{self.ns}{deleted[0]}{scaled[0]}".lower()
                policy = {"whenDeleted": deleted, "whenScaled": scaled}
                one = nodeset(self.ns, name, replicas=1, volumeClaimTemplates=[claim])
                one["spec"]["persistentVolumeClaimRetentionPolicy"] = policy
                sets[name] = (self.api.create(one)["metadata"]["uid"], deleted, scaled)

        def owners(name: str) -> list[tuple[str, str]]:
            found = self.api.get("PersistentVolumeClaim", self.ns, f"data-{name}-0")
            return [(o["kind"], o["uid"]) for o in found["metadata"].get("ownerReferences", [])]

        jobs = {}
        for name, (uid, deleted, _) in sets.items():
            active = [("NodeSet", uid)] if deleted == "Delete" else []
            self.wait(lambda: owners(name) == active, lambda: f"{name} {active}: {owners(name)}")
            self.wait_idle(name, 1)
            jobs[name] = self.slurm.run_job(f"{name}-0")
            self.api.spec("NodeSet", self.ns, name, replicas=0)
        for name, (uid, deleted, scaled) in sets.items():
            pod = self.wait(
                lambda: self.is_cordoned(f"{name}-0") and self.pod(f"{name}-0"), "cordoned"
            )
            cordoned = [("NodeSet", uid)] if deleted == "Delete" else []
            if scaled == "Delete":
                cordoned = [("Pod", pod["metadata"]["uid"])]
            self.wait(
                lambda: owners(name) == cordoned, lambda: f"{name} {cordoned}: {owners(name)}"
            )
            self.slurm.cancel(jobs[name])
        for name, (_, _, scaled) in sets.items():
            self.wait(lambda: not self.pods(name), "the pod goes")
            there = lambda: self.api.find(
                "PersistentVolumeClaim", self.ns, f"data-{name}-0"
            )  # noqa: E731
            if scaled == "Retain":
                self.assertTrue(there())
            else:
                # No kubelet takes the protection off.
                self.wait(
                    lambda: not there() or "deletionTimestamp" in there()["metadata"],
                    lambda: f"{name}'s claim goes with the pod: {there()}",
                )


if __name__ == "__main__":
    unittest.main()
