"""How pods and jobs end together: the scenarios of that, by their numbers, against a real API server and a
real slurmctld."""

import unittest

from bridge_harness import FINALIZER, JOB, JOB_ID, BridgeTest

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class Ending(BridgeTest):
    cluster = "test-br-ending"
    slurm_lines = (
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "PartitionName=sent-back Nodes=slurm-bridge PriorityTier=1 PreemptMode=REQUEUE",
        "PartitionName=ended Nodes=slurm-bridge PriorityTier=1 PreemptMode=CANCEL",
        "PartitionName=urgent Nodes=slurm-bridge PriorityTier=9 PreemptMode=OFF",
    )

    def running(self, name: str, **more) -> str:
        """A pod that runs; its job."""
        self.pod(name, **more)
        self.wait_bound(name)
        self.wait(lambda: self.get(name)["status"]["phase"] == "Running", f"{name} runs")
        return self.job_id(name)

    def held(self, node: str) -> str:
        """Why a node takes no jobs, where that is our doing."""
        reason = self.slurm.reason(node)
        return reason if self.slurm.is_draining(node) and "slurm-bridge:" in reason else ""

    def test_19_a_cancelled_job_takes_its_pods_along(self):
        number = self.running("p")
        self.cancel(number)
        self.wait_gone("p")

    def test_19b_jobs_that_slurm_ends_by_itself_take_their_pods_along(self):
        """One whose time is over, which slurmctld notices every 30 seconds, and one whose node fails. Their
        nodes are kept until the containers are gone, which is when this test says so."""
        self.kubelet.ends_after |= {"late": 1e9, "unlucky": 1e9}
        late = self.running("late", annotations={f"{JOB}timelimit": "60"})
        self.slurm.scontrol("update", f"jobid={late}", "endtime=now+5")

        unlucky = self.running("unlucky")
        node = self.get("unlucky")["spec"]["nodeName"]
        self.slurm.update(node, state="down", reason="burnt")
        self.wait_told("unlucky")
        self.assertEqual(self.job(unlucky)["job_state"], ["NODE_FAIL"])
        # Whoever put it down opens it again; the containers are there all the same.
        self.assertEqual(self.slurm.reason(node), "burnt")
        self.slurm.update(node, state="resume")
        self.wait_kept("unlucky", unlucky, node)

        node = self.get("late")["spec"]["nodeName"]
        self.wait_told("late")
        self.assertEqual(self.job(late)["job_state"], ["TIMEOUT"])
        self.wait_kept("late", late, node)

    def wait_told(self, name: str):
        self.wait(
            lambda: "deletionTimestamp" in self.get(name)["metadata"], f"pod {name} is ending"
        )

    def wait_kept(self, name: str, job: str, node: str):
        """The node is, for the pod's job, until its containers end."""
        self.wait(lambda: job in self.held(node), lambda: f"{node} held: {self.slurm.node(node)}")
        self.assertIsNotNone(self.api.find("Pod", self.ns, name))
        self.kubelet.ends_after.pop(name)
        self.wait_gone(name)
        self.wait(
            lambda: self.slurm.state(node) == self.idle(),
            lambda: f"{node} is open again: {self.slurm.node(node)}",
        )

    def test_20_a_node_that_slurm_freed_early_is_kept_until_the_containers_are_gone(self):
        self.kubelet.ends_after["p"] = 6.0
        number = self.running("p")
        node = self.get("p")["spec"]["nodeName"]
        self.cancel(number)
        self.wait(lambda: "deletionTimestamp" in self.get("p")["metadata"], "the pod is ending")
        self.wait(lambda: self.held(node), lambda: f"{node} held: {self.slurm.node(node)}")
        self.assertIn(number, self.held(node))
        self.wait_gone("p")
        self.wait(lambda: not self.slurm.is_draining(node), lambda: f"{node} is open again")

    def test_20c_who_preempts_waits_for_the_containers_of_the_preempted(self):
        for partition in ("ended", "sent-back"):
            with self.subTest(partition):
                self.preempt(f"victim-{partition}", f"urgent-{partition}", partition)

    def preempt(self, victim: str, urgent: str, partition: str):
        there = {"kubernetes.io/hostname": "n1"}
        self.kubelet.ends_after[victim] = 6.0
        self.running(victim, annotations={f"{JOB}partition": partition}, nodeSelector=there)
        # So that it is in the queue when Slurm can start it.
        self.slurm.update("n1", state="drain", reason="not-yet")
        self.pod(urgent, annotations={f"{JOB}partition": "urgent"}, nodeSelector=there)
        number = str(self.wait_job(urgent)["job_id"])
        with self.bridge.asleep():
            self.slurm.update("n1", state="resume")
            self.wait(
                lambda: self.job(number)["job_state"] == ["RUNNING"],
                lambda: f"Slurm preempts: {self.job(number)['state_reason']}",
            )
        said = set()

        def is_bound() -> bool:
            bound = self.get(urgent)["spec"].get("nodeName")
            said.add(self.condition(urgent).get("message", ""))
            # Looked at afterwards: who is there now was there then.
            other = self.api.find("Pod", self.ns, victim)
            if bound and other:
                self.assertIn(other["status"]["phase"], ("Failed", "Succeeded"))
            return bool(bound)

        self.wait(is_bound, lambda: f"{urgent} is bound: {self.condition(urgent)}")
        self.assertTrue(any("are still at work" in text for text in said), said)
        self.wait_gone(victim)
        self.finish(urgent)
        self.wait_ended(number)
        self.wait(lambda: self.slurm.state("n1") == self.idle(), "n1 is open again")

    def test_20e_nobody_is_preempted_for_an_allocation_that_is_refused(self):
        there = {"kubernetes.io/hostname": "n1"}
        self.running("victim", annotations={f"{JOB}partition": "ended"}, nodeSelector=there)
        # The other nodes are idle, and none of its business.
        self.pod("urgent", annotations={f"{JOB}partition": "urgent"}, nodeSelector=there)
        self.wait_bound("urgent")
        self.wait_gone("victim")
        number = self.job_id("urgent")
        (job,) = [job for job in self.jobs() if "/urgent" in job["admin_comment"]]
        self.assertEqual([str(job["job_id"]), job["job_state"]], [number, ["RUNNING"]])

    def test_21_a_deleted_pod_keeps_its_job_until_it_is_dead(self):
        self.kubelet.ends_after["p"] = 5.0
        number = self.running("p")
        self.api.delete("Pod", self.ns, "p", gracePeriodSeconds=60)
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "the job is there", 3.0)
        self.wait_ended(number)
        self.wait_gone("p")

    def test_21b_a_pod_that_is_deleted_while_it_waits_leaves_nothing(self):
        others = self.fill(*self.nodes)
        self.pod("p")
        number = str(self.wait_job("p")["job_id"])
        self.api.delete("Pod", self.ns, "p")
        self.wait_ended(number)
        self.wait_gone("p")
        self.cancel(others)

    def test_21c_a_pod_that_is_deleted_before_it_is_marked_does_not_keep_its_job(self):
        others = self.fill(*self.nodes)
        self.pod("p")
        number = str(self.wait_job("p")["job_id"])
        # As a bridge leaves it that was killed between the job and the mark; somebody else's finalizer
        # keeps the pod, to which none can be added now.
        self.bridge.kill()
        keep = {"metadata": {"labels": {JOB_ID: None}, "finalizers": ["tests.dev/keep"]}}
        self.api.patch("Pod", self.ns, "p", keep)
        self.api.delete("Pod", self.ns, "p")
        self.restart_bridge()
        self.wait_ended(number)
        self.api.patch("Pod", self.ns, "p", {"metadata": {"finalizers": None}})
        self.wait_gone("p")
        self.cancel(others)

    def test_22_a_pod_on_a_node_that_is_lost_for_good_does_not_keep_its_job(self):
        self.kubelet.make_external("n5")
        self.wait(lambda: "n5" in self.slurm.nodes(), "n5 is in Slurm")
        number = self.running("p", nodeSelector={"kubernetes.io/hostname": "n5"})
        self.kubelet.gone.add("n5")
        self.api.delete("Pod", self.ns, "p", gracePeriodSeconds=0)
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "nobody knows yet", 2.0)
        self.api.delete("Node", None, "n5")
        self.wait_ended(number)
        self.wait_gone("p")
        self.wait(lambda: "n5" not in self.slurm.nodes(), lambda: f"{self.slurm.node('n5')}")

    def test_22b_a_node_that_is_deleted_while_its_kubelet_lives_ends_nothing(self):
        self.kubelet.make_external("n6")
        self.wait(lambda: "n6" in self.slurm.nodes(), "n6 is in Slurm")
        number = self.running("p", nodeSelector={"kubernetes.io/hostname": "n6"})
        self.api.delete("Node", None, "n6")
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "it may be back", 10.0)
        self.assertNotIn("deletionTimestamp", self.get("p")["metadata"])

    def test_22c_a_node_that_is_declared_out_of_service_does_not_keep_its_jobs(self):
        number = self.running("p")
        node = self.get("p")["spec"]["nodeName"]
        self.kubelet.gone.add(node)
        self.addCleanup(self.kubelet.gone.discard, node)
        self.api.delete("Pod", self.ns, "p", gracePeriodSeconds=0)
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "nobody knows yet", 2.0)
        self.taint(node, [{"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}])
        self.addCleanup(self.taint, node, [])
        self.wait_ended(number)
        self.wait_gone("p")

    def taint(self, node: str, added: list):
        """Gives a node these taints beside ours."""
        now = self.api.get("Node", None, node)["spec"].get("taints", [])
        kept = [taint for taint in now if taint["key"] != OUT_OF_SERVICE]
        self.api.patch("Node", None, node, {"spec": {"taints": kept + added}})

    def test_24_pods_survive_slurms_absence(self):
        number = self.running("p")
        others = self.fill(*(n for n in self.nodes if n != self.get("p")["spec"]["nodeName"]))
        self.pod("waits")
        self.wait_job("waits")
        uid = self.get("p")["metadata"]["uid"]
        self.slurm.stop_slurmctld()
        self.pod("later")
        self.stays(lambda: self.get("p")["metadata"]["uid"] == uid, "it runs on", 8.0)
        self.assertNotIn("deletionTimestamp", self.get("p")["metadata"])
        self.slurm.start_slurmctld()
        self.wait(lambda: self.job(number)["job_state"] == ["RUNNING"], "the job is known")
        self.wait_job("later")
        self.cancel(others)
        self.wait_bound("waits", "later")
        self.assertEqual(len(self.live_jobs()), 3)
        self.assertNotIn("deletionTimestamp", self.get("p")["metadata"])

    def test_24b_a_failed_pod_is_told_to_accounting(self):
        number = self.running("p")
        self.finish("p", 3)
        self.assertIn("exit code 3", self.wait_ended(number)["comment"])
        self.wait(
            lambda: FINALIZER not in self.get("p")["metadata"].get("finalizers", []), "no finalizer"
        )

    def test_24c_nothing_is_lost_when_the_bridge_is_killed_while_pods_end(self):
        for name in ("a", "b"):
            self.running(name, annotations={f"{JOB}exclusive": "false"})
        numbers = {name: self.job_id(name) for name in ("a", "b")}
        self.kubelet.ends_after |= {"a": 3.0, "b": 3.0}
        self.cancel(numbers["a"])
        self.api.delete("Pod", self.ns, "b")
        self.restart_bridge()
        for name in ("a", "b"):
            self.wait_ended(numbers[name])
            self.wait_gone(name)
        self.assertEqual(self.live_jobs(), [])

    def test_25h_jobs_that_nobody_marked_are_adopted(self):
        number = self.running("p")
        self.bridge.kill()
        change = {"metadata": {"labels": {JOB_ID: None}}}
        self.api.patch("Pod", self.ns, "p", change)
        self.restart_bridge()
        self.stays(lambda: len(self.live_jobs()) == 1, "still one job", 3.0)
        self.assertEqual(self.job(number)["job_state"], ["RUNNING"])


if __name__ == "__main__":
    unittest.main()
