"""Slurm's policy holds for pods: who they are, who comes first, and that a node is Slurm's to open and close."""

import time
import unittest

from bridge_harness import JOB, KINDS, SCHEDULER, BridgeTest

KINDS["PriorityClass"] = ("/apis/scheduling.k8s.io/v1", "priorityclasses", False)
TAINT = "slinky.slurm.net/managed-node"
EXTERNAL = "scheduler.slinky.slurm.net/external-node"
PARTITIONS = "scheduler.slinky.slurm.net/external-node-partitions"
TOPOLOGY = "topology.slinky.slurm.net/spec"
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


def make_urgent(test: BridgeTest):
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    test.api.create(made | {"metadata": {"name": "urgent"}})
    test.addCleanup(test.api.delete, "PriorityClass", None, "urgent")


class Policy(BridgeTest):
    cluster = "test-br-policy"
    slurm_lines = ("PartitionName=first Nodes=slurm-bridge PriorityTier=9 MaxTime=UNLIMITED",)
    config = """
identities:
  s16:
    user: alice
priorityClasses:
  urgent: {priority: 5000}
"""

    @classmethod
    def install(cls):
        etc = cls.slurm.instance.folder / "files" / "etc"
        (etc / "topology.yaml").write_text(TREE.lstrip())
        cls.slurm.scontrol("reconfigure")

    def test_16_pods_are_their_namespaces_user_on_both_ways(self):
        self.pod("now", annotations={f"{JOB}user-id": "root"})
        (pod,) = self.wait_bound("now")
        job = self.job(self.job_id("now"))
        self.assertEqual(job["user_name"], "alice")
        self.assertIn(pod["metadata"]["uid"], job["admin_comment"])

        others = self.fill(*(n for n in self.nodes if n != pod["spec"]["nodeName"]))
        self.pod("later")
        self.assertEqual(self.wait_job("later")["user_name"], "alice")
        self.cancel(others)
        self.wait_bound("later")
        self.assertEqual(self.job(self.job_id("later"))["user_name"], "alice")

    def test_20b_a_pod_does_not_overtake_a_job_of_higher_priority(self):
        self.come_second("slurm-bridge")

    def test_20g_slurm_refuses_to_let_a_pod_overtake_what_the_bridge_does_not_look_at(self):
        """Nobody waits in the pod's partition, so it is tried at once; a better one has its nodes."""
        self.come_second("first")
        # To have tried is a job that never ran.
        states = sorted(job["job_state"] for job in self.jobs())
        self.assertEqual(states, [["FAILED"], ["RUNNING"]])

    def come_second(self, partition: str):
        """A pod behind a job that waits in this partition."""
        holds = self.fill("n1", "n2", "n3", minutes=60)
        # Wants all four, so that n4 is kept free for it.
        job = {"name": "first", "partition": partition, "flags": ["EXTERNAL_JOB"]}
        job |= {"nodes": "4", "shared": ["none"], "current_working_directory": "/tmp"}
        job |= {"environment": ["A=b"], "priority": {"set": True, "number": 90000}}
        first = str(self.slurm.call("job/submit", "POST", {"job": job})["job_id"])
        self.wait(lambda: self.job(first)["job_state"] == ["PENDING"], "it waits")
        self.wait_seen()
        # Backfill would let a shorter one go first.
        self.pod("small", annotations={f"{JOB}timelimit": "600"})
        number = str(self.wait_job("small")["job_id"])
        self.stays(lambda: self.job(number)["job_state"] == ["PENDING"], "it waits behind", 3.0)
        self.cancel(holds)
        self.wait(lambda: self.job(first)["job_state"] == ["RUNNING"], "the first runs first")
        self.assertEqual(self.job(number)["job_state"], ["PENDING"])
        self.assertFalse(self.get("small")["spec"].get("nodeName"))
        self.cancel(first)
        self.wait_bound("small")

    def test_20d_a_priority_class_is_worth_its_priority_on_both_ways(self):
        make_urgent(self)
        self.pod("now", cpu="8", priorityClassName="urgent")
        (pod,) = self.wait_bound("now")
        self.assertEqual(self.job(self.job_id("now"))["priority"]["number"], 5000)

        self.fill(*(n for n in self.nodes if n != pod["spec"]["nodeName"]))
        self.pod("later", priorityClassName="urgent")
        job = self.wait_job("later")
        self.assertEqual(job["job_state"], ["PENDING"])
        self.assertEqual(job["priority"]["number"], 5000)

    def test_20f_a_job_that_no_node_could_hold_for_a_while_keeps_its_priority(self):
        make_urgent(self)
        self.kubelet.make_external("n7", memory="64Gi")
        self.addCleanup(lambda: self.api.delete("Node", None, "n7"))
        self.wait(lambda: "n7" in self.slurm.nodes(), "n7 is there")
        self.slurm.update("n7", state="drain", reason="mine")
        self.pod("large", memory="32Gi", priorityClassName="urgent")
        number = str(self.wait_job("large")["job_id"])
        self.remove_node("n7")
        self.wait(
            lambda: self.job(number)["state_reason"] == "BadConstraints"
            and "BadConstraints" in self.condition("large").get("message", ""),
            lambda: f"Slurm holds it: {self.job(number)['state_reason']}",
            60,
        )
        self.assertEqual(self.job(number)["priority"]["number"], 0)

        self.kubelet.make_external("n7", memory="64Gi")
        self.wait(lambda: "n7" in self.slurm.nodes(), "n7 is back")
        self.slurm.update("n7", state="drain", reason="mine")
        self.wait(
            lambda: self.job(number)["priority"]["number"] == 5000,
            lambda: f"it has its priority: {self.job(number)['priority']}",
            90,
        )
        self.slurm.update("n7", state="resume")
        self.wait_bound("large")
        self.assertEqual(self.job_id("large"), number)

    def test_23_cordons_become_drains_and_only_ours_are_lifted(self):
        unschedulable = lambda on: {"spec": {"unschedulable": on}}  # noqa: E731
        self.api.patch("Node", None, "n1", unschedulable(True))
        self.wait(
            lambda: self.slurm.is_draining("n1")
            and self.slurm.reason("n1").startswith("slurm-bridge: "),
            lambda: f"n1 is drained: {self.slurm.node('n1')}",
        )
        self.api.patch("Node", None, "n1", unschedulable(None))
        self.wait(lambda: not self.slurm.is_draining("n1"), "n1 is open")

        self.slurm.update("n2", state="drain", reason="bad-memory")
        self.api.patch("Node", None, "n2", unschedulable(True))
        self.api.patch("Node", None, "n2", unschedulable(None))
        self.stays(lambda: self.slurm.is_draining("n2"), "n2 stays drained")
        self.assertEqual(self.slurm.reason("n2"), "bad-memory")
        self.wait(
            lambda: [
                c["status"]
                for c in self.api.get("Node", None, "n2")["status"]["conditions"]
                if c["type"] == "SlurmReady"
            ]
            == ["False"],
            lambda: f"Kubernetes knows: {self.api.get('Node', None, 'n2')['status']['conditions']}",
        )
        self.slurm.update("n2", state="resume")
        self.wait(lambda: not self.slurm.is_draining("n2"), "n2 is open")

    def test_23b_nodes_come_and_go_with_their_label(self):
        self.kubelet.make_external("k8s-name", **{"slinky.slurm.net/slurm-nodename": "slurm-name"})
        self.wait(lambda: "slurm-name" in self.slurm.nodes(), "it is there by Slurm's name")
        found = self.slurm.node("slurm-name")
        # What is allocatable, not what the machine has.
        self.assertEqual([found["cpus"], found["real_memory"]], [8, 16384])
        taints = self.api.get("Node", None, "k8s-name")["spec"].get("taints", [])
        self.assertIn(
            (TAINT, SCHEDULER, "NoExecute"),
            {(t["key"], t.get("value"), t["effect"]) for t in taints},
        )
        self.pod("p", nodeSelector={"kubernetes.io/hostname": "k8s-name"})
        (pod,) = self.wait_bound("p")
        self.assertEqual(pod["spec"]["nodeName"], "k8s-name")

        # Not while it is busy.
        self.api.patch("Node", None, "k8s-name", {"metadata": {"labels": {EXTERNAL: None}}})
        self.wait(lambda: self.slurm.is_draining("slurm-name"), "it drains")
        self.stays(
            lambda: "slurm-name" in self.slurm.nodes(), "it is there while the pod runs", 2.0
        )
        self.finish("p")
        self.wait(lambda: "slurm-name" not in self.slurm.nodes(), "it is gone from Slurm")
        self.wait(
            lambda: not any(
                t["key"] == TAINT
                for t in self.api.get("Node", None, "k8s-name")["spec"].get("taints", [])
            ),
            "the taint is gone",
        )
        self.api.delete("Node", None, "k8s-name")

    def test_23c_nodes_follow_what_kubernetes_says_of_them(self):
        self.kubelet.make_external("n8")
        self.wait(lambda: "n8" in self.slurm.nodes(), "n8 is there")
        where = lambda: self.slurm.node("n8")["topology"]  # noqa: E731
        for rack in ("rack1", "rack2"):
            self.api.annotate("Node", None, "n8", {TOPOLOGY: f"racks:{rack}"})
            self.wait(lambda rack=rack: rack in where(), lambda: f"topology in Slurm: {where()}")

        size = lambda: self.slurm.nodes().get("n8", {}).get("cpus")  # noqa: E731
        self.pod("p", nodeSelector={"kubernetes.io/hostname": "n8"})
        self.wait_bound("p")
        less = {"status": {"allocatable": {"cpu": "6"}}}
        self.api.patch("Node", None, "n8", less, sub="status")
        self.wait(lambda: self.slurm.is_draining("n8"), "n8 drains")
        self.stays(lambda: size() == 8, "it is as it was while the pod runs", 2.0)
        self.finish("p")
        self.wait(
            lambda: size() == 6 and not self.slurm.is_draining("n8"),
            lambda: f"made anew: {self.slurm.nodes().get('n8')}",
        )

        self.api.annotate("Node", None, "n8", {PARTITIONS: "nowhere"})
        notes = lambda: [  # noqa: E731
            event.get("note", "") for event in self.api.events("default", "UnknownPartition")
        ]
        self.wait(
            lambda: any("nowhere" in note and PARTITIONS in note for note in notes()),
            lambda: f"an event says so: {notes()}",
        )
        self.assertIn("slurm-bridge", self.slurm.node("n8")["partitions"])
        self.api.delete("Node", None, "n8")
        self.wait(lambda: "n8" not in self.slurm.nodes(), "it is gone from Slurm")

    def test_23d_a_node_has_room_for_what_daemon_sets_leave(self):
        daemon = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "net", "namespace": self.ns},
            "spec": {
                "selector": {"matchLabels": {"app": "net"}},
                "template": {
                    "metadata": {"labels": {"app": "net"}},
                    "spec": {
                        "nodeSelector": {"kubernetes.io/hostname": "n9"},
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [
                            {
                                "name": "main",
                                "image": "busybox:1",
                                "resources": {"requests": {"cpu": "250m", "memory": "200Mi"}},
                            }
                        ],
                    },
                },
            },
        }
        self.api.create(daemon)
        self.kubelet.make_external("n9")
        found = lambda: [  # noqa: E731
            self.slurm.nodes().get("n9", {}).get(key) for key in ("cpus", "real_memory")
        ]
        self.wait(lambda: found() == [7, 16384 - 256], lambda: f"n9 in Slurm: {found()}")
        self.api.delete("DaemonSet", self.ns, "net")
        self.api.delete("Node", None, "n9")
        self.wait(lambda: "n9" not in self.slurm.nodes(), "it is gone from Slurm")

    def test_24d_a_node_that_is_deleted_while_slurm_restarts_ends_no_other_pod(self):
        self.kubelet.make_external("n7")
        self.wait(lambda: "n7" in self.slurm.nodes(), "n7 is there")
        elsewhere = {"matchExpressions": [{"key": "kubernetes.io/hostname"}]}
        elsewhere["matchExpressions"][0] |= {"operator": "NotIn", "values": ["n7"]}
        required = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [elsewhere]}
        }
        for name in ("a", "b"):
            self.pod(name, affinity={"nodeAffinity": required})
        self.wait_bound("a", "b")
        uids = {name: self.get(name)["metadata"]["uid"] for name in ("a", "b")}
        self.api.delete("Node", None, "n7")
        self.wait(lambda: "n7" not in self.slurm.nodes(), "n7 is gone")
        self.slurm.stop_slurmctld()
        self.slurm.start_slurmctld()
        self.stays(
            lambda: all(
                self.get(name)["metadata"]["uid"] == uid
                and "deletionTimestamp" not in self.get(name)["metadata"]
                for name, uid in uids.items()
            ),
            "both run on",
            6.0,
        )
        self.assertEqual(len(self.live_jobs()), 2)

    def test_25f_a_rotated_token_is_taken_up(self):
        self.token.write_text("not a token")
        time.sleep(6)  # The file is looked at every five seconds.
        self.pod("p")
        self.stays(lambda: not self.get("p")["spec"].get("nodeName"), "it waits", 3.0)
        self.token.write_text(self.slurm.token)
        self.wait_bound("p")


class Limits(BridgeTest):
    """Where accounting limits what users may run at once."""

    cluster = "test-br-limits"
    slurm_flags = ("--accounting",)
    slurm_lines = (
        "AccountingStorageEnforce=associations,limits,qos",
        "AccountingStoreFlags=job_comment",
        "PartitionName=second Nodes=slurm-bridge MaxTime=UNLIMITED State=UP",
    )
    config = """
identities:
  "*": {user: alice}
  s16f: {user: alice, account: lab, qos: steady, partition: second}
priorityClasses:
  urgent: {qos: steady}
"""

    @classmethod
    def install(cls):
        for words in (
            "modify qos normal set MaxJobsPerUser=1",
            "add qos steady",
            "add account lab",
            "add user alice account=lab",
            "modify user alice set qos+=steady",
            "add qos reserved",
        ):
            cls.slurm.instance.sandbox.output(["sacctmgr", "-i", *words.split()])

    def test_16d_a_pod_beyond_a_limit_waits_in_the_queue(self):
        self.pod("a")
        self.wait_bound("a")
        self.pod("b")
        job = self.wait_job("b")
        self.assertEqual(job["job_state"], ["PENDING"])
        self.wait_says("b", f"job {job['job_id']}", "QOSMaxJobsPerUserLimit")
        self.wait(lambda: self.get("a")["status"]["phase"] == "Running", "a runs")
        self.finish("a")
        (pod,) = self.wait_bound("b")
        self.assertEqual(self.job_id("b"), str(job["job_id"]))
        self.assertTrue(pod["spec"]["nodeName"])

    def test_16e_an_account_that_slurm_does_not_know_is_said_in_clear_words(self):
        self.pod("p", annotations={f"{JOB}account": "nobodys"})
        self.wait_says("p", "account")
        notes = lambda: [e["note"] for e in self.api.events(self.ns, "SlurmRefused")]  # noqa: E731
        self.wait(lambda: any("account" in note for note in notes()), lambda: f"{notes()}")
        self.assertEqual(self.live_jobs(), [])
        self.api.annotate("Pod", self.ns, "p", {f"{JOB}account": "test", f"{JOB}qos": "normal"})
        self.wait_bound("p")
        job = self.job(self.job_id("p"))
        self.assertEqual([job["account"], job["qos"]], ["test", "normal"])

    def test_16f_account_qos_and_partition_are_those_of_the_namespace(self):
        others = {"account": "test", "qos": "normal", "partition": "slurm-bridge"}
        self.pod("p", annotations={f"{JOB}{key}": value for key, value in others.items()})
        self.wait_bound("p")
        job = self.job(self.job_id("p"))
        found = [job[key] for key in ("user_name", "account", "qos", "partition")]
        self.assertEqual(found, ["alice", "lab", "steady", "second"])

    def test_16g_an_annotation_gives_a_job_that_waits_no_qos_that_its_user_may_not_use(self):
        self.pod("a")
        self.wait_bound("a")
        self.pod("b")
        number = str(self.wait_job("b")["job_id"])
        self.assertEqual(self.job(number)["job_state"], ["PENDING"])
        self.api.annotate("Pod", self.ns, "b", {f"{JOB}qos": "reserved"})
        notes = lambda: [e["note"] for e in self.api.events(self.ns, "SlurmRefused")]  # noqa: E731
        self.wait(lambda: any("QOS" in note for note in notes()), lambda: f"{notes()}", 60)
        self.assertEqual(self.job(number)["qos"], "normal")
        self.assertEqual(self.job_id("b"), number)
        # What she may use she gets, and the job keeps its place.
        self.api.annotate("Pod", self.ns, "b", {f"{JOB}qos": "steady"})
        self.wait_bound("b")
        self.assertEqual(self.job_id("b"), number)
        self.assertEqual(self.job(number)["qos"], "steady")

    def test_20h_a_priority_class_is_worth_its_qos(self):
        make_urgent(self)
        self.pod("p", priorityClassName="urgent")
        self.wait_bound("p")
        job = self.job(self.job_id("p"))
        self.assertEqual([job["account"], job["qos"]], ["test", "steady"])

    def test_24i_the_exit_code_of_a_pod_is_in_accounting(self):
        self.pod("p")
        self.wait_bound("p")
        self.wait(lambda: self.get("p")["status"]["phase"] == "Running", "it runs")
        number = self.job_id("p")
        self.finish("p", 3)
        self.wait_ended(number)
        sacct = ["sacct", "-X", "-n", "-P", "-j", number, "-o", "DerivedExitCode,Comment"]
        said = lambda: self.slurm.instance.sandbox.output(sacct).strip()  # noqa: E731
        self.wait(lambda: said().startswith("3:0|"), lambda: f"sacct says {said()}")
        self.assertIn("exit code 3", said())

    def test_24j_how_pods_ended_is_in_accounting_where_slurm_ended_their_job(self):
        self.pod("p")
        self.wait_bound("p")
        self.wait(lambda: self.get("p")["status"]["phase"] == "Running", "it runs")
        number = self.job_id("p")
        self.cancel(number)
        self.wait_gone("p")
        sacct = ["sacct", "-X", "-n", "-P", "-j", number, "-o", "DerivedExitCode,Comment"]
        said = lambda: self.slurm.instance.sandbox.output(sacct).strip()  # noqa: E731
        self.wait(lambda: said().startswith("137:0|"), lambda: f"sacct says {said()}")
        self.assertIn("exit code 137", said())


if __name__ == "__main__":
    unittest.main()
