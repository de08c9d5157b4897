"""How pods get nodes from Slurm: the scheduling scenarios, by their numbers, against a real API server and a
real slurmctld. What upstream does otherwise is said beside the case."""

import json
import unittest
from pathlib import Path

from bridge_harness import (
    FINALIZER,
    JOB,
    JOB_ID,
    NODE,
    SCHEDULER,
    BridgeTest,
    definition,
    pod_spec,
)

COSCHEDULING = definition("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")


class Scheduling(BridgeTest):
    cluster = "test-br-sched"
    slurm_lines = (
        "PartitionName=second Nodes=slurm-bridge MaxTime=UNLIMITED State=UP",
        "Licenses=matlab:2",
    )
    config = "mcsLabel: kubernetes\n"

    @classmethod
    def install(cls):
        cls.api.create(COSCHEDULING)

    def pod_group(self, name: str, least: int, **status):
        body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "CoschedulingPodGroup"}
        body |= {"metadata": {"name": name, "namespace": self.ns}, "spec": {"minMember": least}}
        path = self.api.path("CoschedulingPodGroup", self.ns)
        self.api.call("POST", path, body | {"kind": "PodGroup"})
        if status:
            self.api.patch("CoschedulingPodGroup", self.ns, name, {"status": status}, sub="status")

    def owned_job(self, name: str, pods: int, annotations: dict | None = None, **spec) -> str:
        meta = {"name": name, "namespace": self.ns, "annotations": annotations or {}}
        template = {
            # What stands here is not for Slurm.
            "metadata": {"annotations": {f"{JOB}timelimit": "99"}},
            "spec": pod_spec(),
        }
        body = {"parallelism": pods, "completions": pods, "template": template, **spec}
        self.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body})
        return name

    def pods_of(self, job: str) -> list[dict]:
        return self.api.all("Pod", self.ns, labelSelector=f"job-name={job}")

    def test_01_a_pod_becomes_a_job_and_is_bound(self):
        self.pod("p", annotations={f"{JOB}job-name": "hello", f"{JOB}timelimit": "1"})
        (pod,) = self.wait_bound("p")
        meta = pod["metadata"]
        job = self.job(meta["labels"][JOB_ID])
        self.assertEqual(job["job_state"], ["RUNNING"])
        self.assertIn("EXTERNAL_JOB", job["flags"])
        self.assertEqual(job["name"], "hello")
        self.assertEqual(job["cpus_per_task"]["number"], 1)
        self.assertEqual(job["memory_per_node"]["number"], 100)
        self.assertEqual(job["time_limit"]["number"], 1)
        self.assertEqual(job["mcs_label"], "kubernetes")
        self.assertIn(f'{{"pods":["{self.ns}/p"],"uids":["{meta["uid"]}"]', job["admin_comment"])
        self.assertEqual(meta["annotations"][NODE], pod["spec"]["nodeName"])
        self.assertEqual(job["nodes"], pod["spec"]["nodeName"])
        self.assertIn(FINALIZER, meta["finalizers"])
        managed = [t for t in pod["spec"]["tolerations"] if t.get("value") == SCHEDULER]
        self.assertEqual(managed[0]["effect"], "NoExecute")

        self.wait(lambda: self.get("p")["status"]["phase"] == "Running", "it runs")
        self.finish("p")
        self.wait_ended(meta["labels"][JOB_ID])
        self.wait(lambda: not self.get("p")["metadata"].get("finalizers"), "the finalizer is off")

    def test_03_a_pod_of_another_scheduler_is_left_alone(self):
        self.pod("p", schedulerName="default-scheduler")
        self.stays(lambda: not self.jobs() and not self.job_id("p"), "no job")

    def test_04_the_pods_of_a_job_are_jobs_of_their_own(self):
        named = {f"{JOB}job-name": "of-the-job"}
        self.owned_job("work", 3, named, parallelism=2, activeDeadlineSeconds=90)
        pods = lambda: [p for p in self.pods_of("work") if p["spec"].get("nodeName")]  # noqa: E731
        self.wait(lambda: len(pods()) == 2, lambda: f"two pods have nodes: {self.pods_of('work')}")
        self.assertEqual(len(self.live_jobs()), 2)
        for job in self.live_jobs():
            # Not the 99 of the template.
            self.assertEqual(job["time_limit"]["number"], 2)
            self.assertEqual(job["name"], "of-the-job")
        first = pods()[0]["metadata"]["name"]
        self.wait(lambda: self.get(first)["status"]["phase"] == "Running", "it runs")
        self.finish(first)
        self.wait(lambda: len(pods()) == 3, lambda: f"the third has a node: {self.pods_of('work')}")
        self.assertEqual(len({pod["metadata"]["labels"][JOB_ID] for pod in pods()}), 3)

    def test_04b_a_job_without_a_deadline_has_no_time_limit(self):
        self.owned_job("work", 1)
        job = self.wait(lambda: self.live_jobs(), "a job")[0]
        self.assertTrue(job["time_limit"]["infinite"], job["time_limit"])

        # Nor has one with a deadline of 0, which Kubernetes' own controller would end at once.
        self.owned_job("other", 1, activeDeadlineSeconds=0, managedBy="tests.dev/nobody")
        uid = self.api.get("Job", self.ns, "other")["metadata"]["uid"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": uid}
        meta = {"name": "of-other", "namespace": self.ns}
        meta["ownerReferences"] = [owner | {"controller": True}]
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec()}
        self.api.create(body)
        job = self.wait_job("of-other")
        self.assertTrue(job["time_limit"]["infinite"], job["time_limit"])

    def test_07_a_pod_group_starts_when_it_is_whole(self):
        self.pod_group("g", 2)
        label = {"scheduling.x-k8s.io/pod-group": "g"}
        self.pod("a", labels=label)
        self.wait_says("a", "1 of 2")
        self.assertEqual(self.jobs(), [])
        self.pod("b", labels=label)
        a, b = self.wait_bound("a", "b")
        self.assertEqual(a["metadata"]["labels"][JOB_ID], b["metadata"]["labels"][JOB_ID])
        self.assertNotEqual(a["spec"]["nodeName"], b["spec"]["nodeName"])
        job = self.job(a["metadata"]["labels"][JOB_ID])
        self.assertEqual(job["node_count"]["number"], 2)
        # Two more nodes would have done: which ones is Slurm's to say.
        self.assertEqual([job["job_state"], job["required_nodes"]], [["RUNNING"], ""])

        # The job is the gang's until its last pod is gone.
        number = self.job_id("a")
        self.wait(lambda: self.get("b")["status"]["phase"] == "Running", "both run")
        self.finish("a")
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "the job runs")
        self.finish("b")
        self.wait_ended(number)

    def test_08_a_pod_group_that_is_over_takes_no_more_pods(self):
        for phase in ("Running", "Unknown", "Failed", "Finished"):
            name = phase.lower()
            self.pod_group(name, 1, phase=phase)
            self.pod(f"of-{name}", labels={"scheduling.x-k8s.io/pod-group": name})
            self.wait_says(f"of-{name}", f"PodGroup {name}", "over")
        self.assertEqual(self.jobs(), [])
        for phase in ("Pending", "Scheduling"):
            name = phase.lower()
            self.pod_group(name, 1, phase=phase)
            self.pod(f"of-{name}", labels={"scheduling.x-k8s.io/pod-group": name})
            self.wait_bound(f"of-{name}")

    def test_10_pods_of_other_owners_take_their_annotations(self):
        meta = {"name": "r", "namespace": self.ns, "annotations": {f"{JOB}job-name": "of-set"}}
        template = {"metadata": {"labels": {"app": "r"}}}
        template["spec"] = pod_spec(more={"restartPolicy": "Always"})
        selector = {"matchLabels": {"app": "r"}}
        spec = {"replicas": 2, "selector": selector, "template": template}
        self.api.create(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}
        )
        self.wait(lambda: len(self.live_jobs()) == 2, lambda: f"two jobs: {self.live_jobs()}")
        self.assertEqual({job["name"] for job in self.live_jobs()}, {"of-set"})

        # An owner that is not there is an error that says so.
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "0-0"}
        spec = pod_spec()
        meta = {"name": "orphan", "namespace": self.ns}
        meta["ownerReferences"] = [owner | {"controller": True}]
        self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        # Unless the garbage collector was faster.
        self.wait(
            lambda: self.api.find("Pod", self.ns, "orphan") is None
            or "gone" in self.condition("orphan").get("message", ""),
            "the orphan says why it waits",
        )
        self.assertEqual([j for j in self.jobs() if "/orphan" in j["admin_comment"]], [])

    def limited_access(self) -> Path:
        """A kubeconfig that may do all that the bridge needs, and knows nothing of Deployments."""
        rules = [
            {"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}
            for group in (
                *("", "batch", "coordination.k8s.io", "events.k8s.io", "scheduling.k8s.io"),
                *("scheduling.x-k8s.io", "resource.k8s.io", "storage.k8s.io"),
            )
        ]
        sets = ["replicasets", "daemonsets", "statefulsets"]
        rules.append({"apiGroups": ["apps"], "resources": sets, "verbs": ["*"]})
        rbac = "rbac.authorization.k8s.io"
        who = {"kind": "ServiceAccount", "name": "default", "namespace": self.ns}
        role = {"apiGroup": rbac, "kind": "ClusterRole", "name": "limited"}
        self.api.create(
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "limited"},
                "rules": rules,
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "limited"},
                "subjects": [who],
                "roleRef": role,
            },
        )
        path = self.api.path("ServiceAccount", self.ns, "default", "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.api.call("POST", path, body)["status"]["token"]
        config = json.loads(self.kubeconfig.read_text())
        config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]  # fmt: skip
        limited = self.folder / "limited"
        limited.write_text(json.dumps(config))
        return limited

    def test_10b_an_owner_that_may_not_be_read_is_left_out(self):
        limited, whole = self.limited_access(), self.kubeconfig
        self.bridge.kill()
        type(self).kubeconfig = limited
        self.addCleanup(self.restart_bridge)
        self.addCleanup(setattr, type(self), "kubeconfig", whole)
        self.restart_bridge()
        meta = {"name": "d", "namespace": self.ns, "annotations": {f"{JOB}job-name": "of-deploy"}}
        template = {"metadata": {"labels": {"app": "d"}}}
        template["spec"] = pod_spec(more={"restartPolicy": "Always"})
        spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template, "replicas": 1}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
        self.api.create(body)
        self.addCleanup(self.api.delete, "Deployment", self.ns, "d")
        self.wait(lambda: self.live_jobs(), "a job")
        # Deployments give their annotations to their ReplicaSets.
        self.assertEqual([job["name"] for job in self.live_jobs()], ["of-deploy"])
        self.assertEqual(self.live_jobs()[0]["job_state"], ["RUNNING"])

    def test_15_pods_share_a_node_where_they_say_so(self):
        shared = {f"{JOB}exclusive": "false"}
        for name in ("a", "b", "c", "d"):
            self.pod(name, cpu="2", annotations=shared)
        nodes = {pod["spec"]["nodeName"] for pod in self.wait_bound("a", "b", "c", "d")}
        self.assertLess(len(nodes), 4)
        self.pod("alone", cpu="1")
        (alone,) = self.wait_bound("alone")
        self.assertNotIn(alone["spec"]["nodeName"], nodes)

    def test_16_an_unknown_account_is_said_in_clear_words(self):
        self.pod("p", annotations={f"{JOB}partition": "nowhere"})
        self.wait_says("p", "nowhere")
        self.pod("q", annotations={f"{JOB}timelimit": "soon"})
        self.wait_says("q", "timelimit", "soon")
        self.assertEqual(self.live_jobs(), [])
        # Others are not held up.
        self.pod("r")
        self.wait_bound("r")

    def test_16b_what_annotations_ask_for_is_what_slurm_hears(self):
        self.slurm.scontrol(
            *("create", "reservation", "ReservationName=lab", "Nodes=n4", "StartTime=now"),
            *("Duration=60", "Users=alice,slurm,root"),
        )
        self.addCleanup(self.slurm.scontrol, "delete", "ReservationName=lab")
        # It cannot go while it is in use.
        self.addCleanup(self.wait_gone, "p")
        self.addCleanup(self.api.delete, "Pod", self.ns, "p")
        asked = {"user-id": "alice", "group-id": "users", "licenses": "matlab:2"}
        asked |= {"constraints": "slurm-bridge", "reservation": "lab", "priority": "4321"}
        asked |= {"mem-per-node": "256Mi", "cpu-per-task": "2", "job-name": "asked"}
        asked |= {"wckey": "protein"}
        self.pod("p", annotations={f"{JOB}{key}": value for key, value in asked.items()})
        self.wait_bound("p")
        job = self.job(self.job_id("p"))
        is_so = {
            "user-id": job["user_name"],
            "group-id": job["group_name"],
            "licenses": job["licenses"],
            "constraints": job["features"],
            "reservation": job["resv_name"],
            "priority": str(job["priority"]["number"]),
            "mem-per-node": f"{job['memory_per_node']['number']}Mi",
            "cpu-per-task": str(job["cpus_per_task"]["number"]),
            "job-name": job["name"],
            "wckey": job["wckey"],
        }
        self.assertEqual(is_so, asked)
        self.assertEqual(job["nodes"], "n4")

    def test_17_what_no_node_can_do_starts_when_one_can(self):
        self.pod("big", cpu="12")
        self.wait_says("big")
        self.assertEqual(self.live_jobs(), [])
        self.kubelet.make_external("n9", cpus=16, memory="32Gi")
        self.addCleanup(self.remove_node, "n9")
        (pod,) = self.wait_bound("big")
        self.assertEqual(pod["spec"]["nodeName"], "n9")

    def test_18_a_job_that_waits_follows_its_annotations(self):
        others = self.fill(*self.nodes)
        self.pod("p", annotations={f"{JOB}timelimit": "5"})
        number = str(self.wait_job("p")["job_id"])
        self.wait_says("p", f"job {number}", "Resources")
        self.api.annotate("Pod", self.ns, "p", {f"{JOB}timelimit": "7"})
        self.wait(lambda: self.job(number)["time_limit"]["number"] == 7, "the new limit")
        self.cancel(others)
        (pod,) = self.wait_bound("p")
        self.assertEqual(pod["metadata"]["labels"][JOB_ID], number)

    def test_18c_a_job_that_waits_follows_what_its_root_says(self):
        others = self.fill(*self.nodes)
        self.owned_job("work", 1, {f"{JOB}timelimit": "5"})
        (job,) = self.wait(lambda: self.live_jobs(), "a job")
        self.api.annotate("Job", self.ns, "work", {f"{JOB}timelimit": "8"})
        number = str(job["job_id"])
        self.wait(lambda: self.job(number)["time_limit"]["number"] == 8, "the new limit")
        self.cancel(others)
        (pod,) = self.pods_of("work")
        self.wait_bound(pod["metadata"]["name"])
        self.assertEqual(self.job_id(pod["metadata"]["name"]), number)

    def test_18d_a_job_that_leaves_out_a_node_which_is_no_more_is_asked_for_anew(self):
        """Slurm refuses every change of it."""
        self.kubelet.make_external("n9")
        self.wait(lambda: "n9" in self.slurm.nodes(), "n9 is in Slurm")
        others = self.fill(*self.nodes)
        here = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
        self.pod("p", annotations={f"{JOB}timelimit": "5"}, **here)
        first = self.wait_job("p")
        self.assertIn("9", first["excluded_nodes"])
        self.remove_node("n9")
        self.api.annotate("Pod", self.ns, "p", {f"{JOB}timelimit": "7"})
        self.wait(lambda: self.wait_job("p")["time_limit"]["number"] == 7, "the new limit")
        self.assertNotEqual(self.job_id("p"), str(first["job_id"]))
        self.wait_ended(str(first["job_id"]))
        self.cancel(others)
        self.wait_bound("p")

    def test_18b_what_is_no_longer_asked_for_is_taken_back(self):
        self.api.patch("Node", None, "n1", {"metadata": {"labels": {"disk": "ssd"}}})
        self.addCleanup(
            self.api.patch, "Node", None, "n1", {"metadata": {"labels": {"disk": None}}}
        )
        others = self.fill(*self.nodes)
        self.pod("p", nodeSelector={"disk": "ssd"}, annotations={f"{JOB}timelimit": "5"})
        number = str(self.wait_job("p")["job_id"])
        self.assertEqual(self.job(number)["excluded_nodes"], "n[2-4]")
        for name in ("n2", "n3", "n4"):
            self.api.patch("Node", None, name, {"metadata": {"labels": {"disk": "ssd"}}})
            self.addCleanup(
                self.api.patch, "Node", None, name, {"metadata": {"labels": {"disk": None}}}
            )
        self.wait(lambda: self.job(number)["excluded_nodes"] == "", "no node is excluded")
        # A job without a limit cannot be made of one with a limit.
        self.api.annotate("Pod", self.ns, "p", {f"{JOB}timelimit": None})
        self.wait_ended(number)
        again = self.wait(
            lambda: self.job_id("p") not in ("", number) and self.job_id("p"), "another job"
        )
        self.assertTrue(self.job(again)["time_limit"]["infinite"])
        self.cancel(others)
        self.wait_bound("p")
        # What runs is as it was when it started; backfill makes a year of no limit.
        limit = self.job(again)["time_limit"]
        self.api.annotate("Pod", self.ns, "p", {f"{JOB}timelimit": "9"})
        self.stays(lambda: self.job(again)["time_limit"] == limit, "the same limit", 12.0)
        self.assertEqual(self.job_id("p"), again)

    def test_16c_several_partitions_may_be_named(self):
        self.pod("p", annotations={f"{JOB}partition": "second,slurm-bridge"})
        self.wait_bound("p")
        self.assertIn(self.job(self.job_id("p"))["partition"], ("second", "slurm-bridge"))

    def test_25e_a_host_port_is_one_pods(self):
        port = [{"containerPort": 80, "hostPort": 18080}]
        shared = {f"{JOB}exclusive": "false"}
        nodes = set()
        for name in ("a", "b", "c", "d"):
            body = pod_spec()
            body["containers"][0]["ports"] = port
            meta = {"name": name, "namespace": self.ns, "annotations": shared}
            self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body})
            (pod,) = self.wait_bound(name)
            nodes.add(pod["spec"]["nodeName"])
        self.assertEqual(nodes, set(self.nodes))

    def test_25a_what_cannot_start_does_not_delay_what_can(self):
        others = self.fill("n1", "n2", "n3")
        for number in range(50):
            self.pod(f"large-{number}", cpu="8", annotations={f"{JOB}partition": "nowhere"})
        self.pod("small")
        self.wait_bound("small")
        # At once, and not when Slurm comes to look for gaps.
        self.assertNotIn("BACKFILL_ATTEMPTED", self.job(self.job_id("small"))["flags"])
        self.cancel(others)

    def test_25g_two_hundred_blocked_pods_of_high_priority_do_not_delay_a_small_one(self):
        self.fill("n1")
        urgent = {f"{JOB}priority": "90000"}
        there = {"kubernetes.io/hostname": "n1"}
        blocked = [
            self.pod(f"blocked-{number}", cpu="8", annotations=urgent, nodeSelector=there)
            for number in range(200)
        ]
        self.wait(lambda: len(self.live_jobs()) == 200, lambda: f"jobs: {len(self.live_jobs())}")
        passes = lambda: self.slurm.call("diag/")["statistics"]["bf_cycle_counter"]  # noqa: E731
        self.pod("small")
        number = str(self.wait_job("small")["job_id"])
        before = passes()
        # Slurm starts nothing else of a partition where some wait, but by backfill: in its next pass, where
        # one may be under way.
        self.wait(lambda: self.job(number)["job_state"] == ["RUNNING"], "it runs")
        self.assertLessEqual(passes() - before, 2)
        self.wait_bound("small")
        self.assertEqual(self.job(self.job_id(blocked[0]))["job_state"], ["PENDING"])

    def test_25b_constraints_of_the_pod_are_kept(self):
        self.api.patch("Node", None, "n3", {"metadata": {"labels": {"disk": "ssd"}}})
        self.addCleanup(
            self.api.patch, "Node", None, "n3", {"metadata": {"labels": {"disk": None}}}
        )
        self.pod("p", nodeSelector={"disk": "ssd"})
        (pod,) = self.wait_bound("p")
        self.assertEqual(pod["spec"]["nodeName"], "n3")
        self.pod("q", nodeSelector={"disk": "tape"})
        self.wait_says("q", "tape")

    def test_25c_a_gated_pod_waits_for_its_gates(self):
        self.pod("p", schedulingGates=[{"name": "test/wait"}])
        self.stays(lambda: not self.jobs(), "no job while it is gated")
        self.api.patch("Pod", self.ns, "p", {"spec": {"schedulingGates": None}})
        self.wait_bound("p")

    def test_25d_a_bridge_that_was_killed_submits_nothing_twice(self):
        others = self.fill(*self.nodes)
        for number in range(5):
            self.pod(f"p{number}")
        names = [f"p{number}" for number in range(5)]
        self.restart_bridge()
        for name in names:
            self.wait_job(name)
        self.restart_bridge()
        self.cancel(others)
        self.wait_bound("p0")
        self.wait(lambda: len(self.live_jobs()) == 5, lambda: f"five jobs: {self.live_jobs()}")
        self.assertEqual(len({self.job_id(name) for name in names}), 5)
        # An attempt that Slurm refused is a failed job; it never ran.
        ran = [job for job in self.jobs() if job["job_state"] != ["FAILED"]]
        self.assertEqual(len(ran), 5)


if __name__ == "__main__":
    unittest.main()
