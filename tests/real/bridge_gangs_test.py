"""Gangs of the larger kinds: JobSet, LeaderWorkerSet, the built-in PodGroup, a whole Job. Their pods are made
as their controllers make them; those controllers run in tests/e2e."""

import unittest

from bridge_harness import JOB, JOB_ID, BridgeTest, definition, pod_spec

GANG = "mainspring.slurm.net/gang"
LWS = "leaderworkerset.sigs.k8s.io/"


class Gangs(BridgeTest):
    cluster = "test-br-gangs"

    @classmethod
    def install(cls):
        cls.api.create(
            definition("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
            definition("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
        )

    def make(self, kind: str, version: str, name: str, spec: dict, annotations=None) -> dict:
        meta = {"name": name, "namespace": self.ns, "annotations": annotations or {}}
        return self.wait(
            lambda: self.api.create(
                {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
            ),
            f"a {kind}",
        )

    def one_job(self, *names: str) -> dict:
        """All of them have nodes of one job; that job."""
        pods = self.wait_bound(*names)
        numbers = {pod["metadata"]["labels"][JOB_ID] for pod in pods}
        self.assertEqual(len(numbers), 1)
        self.assertEqual(len({pod["spec"]["nodeName"] for pod in pods}), len(names))
        return self.job(numbers.pop())

    def group(self, number: int, *workers: int):
        for worker in workers:
            labels = {f"{LWS}name": "vllm", f"{LWS}group-key": f"hash{number}"}
            labels |= {f"{LWS}group-index": str(number), f"{LWS}worker-index": str(worker)}
            name = f"vllm-{number}" + (f"-{worker}" if worker else "")
            self.pod(name, labels=labels)

    def test_05_the_pods_of_a_job_set_are_jobs_that_take_its_annotations(self):
        replicated = [{"name": name, "replicas": 1} for name in "abcd"]
        replicated[1]["dependsOn"] = [{"name": "a", "status": "Ready"}]
        made = self.make(
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            "set",
            {"replicatedJobs": replicated},
            {f"{JOB}job-name": "of-the-set", f"{JOB}exclusive": "false"},
        )
        owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set"}
        owner |= {"uid": made["metadata"]["uid"], "controller": True}
        template = {"metadata": {}, "spec": pod_spec()}
        spec = {"parallelism": 4, "completions": 4, "template": template}
        jobs = []
        # Its controller makes the second when the first is ready.
        for name in "abcd":
            meta = {"name": f"set-{name}-0", "namespace": self.ns, "ownerReferences": [owner]}
            meta["annotations"] = {f"{JOB}job-name": "of-the-job"}
            body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
            self.api.create(body)
            count = len(jobs) + 4
            jobs = self.wait(
                lambda count=count: len(found := self.live_jobs()) == count and found,
                lambda count=count: f"{count} jobs: {len(self.live_jobs())}",
            )
        self.assertEqual({job["name"] for job in jobs}, {"of-the-set"})
        self.assertEqual({job["node_count"]["number"] for job in jobs}, {1})

    def test_06_a_leader_and_its_workers_are_one_job(self):
        self.make(
            "LeaderWorkerSet",
            "leaderworkerset.x-k8s.io/v1",
            "vllm",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 3}},
            {f"{JOB}timelimit": "9"},
        )
        self.group(0, 0, 1)
        self.wait_says("vllm-0", "2 of 3")
        self.group(0, 2)
        job = self.one_job("vllm-0", "vllm-0-1", "vllm-0-2")
        self.assertEqual(job["name"], "vllm-0")
        self.assertEqual(job["time_limit"]["number"], 9)

        # The second has to wait; when one of its pods goes, so does its job, until it is whole again.
        self.group(1, 0, 1, 2)
        waiting = str(self.wait_job("vllm-1")["job_id"])
        self.api.delete("Pod", self.ns, "vllm-1-2")
        self.wait_ended(waiting)
        self.wait(lambda: not self.job_id("vllm-1"), "the mark is off")
        self.wait_gone("vllm-1-2")
        self.group(1, 2)
        again = self.wait_job("vllm-1")
        self.assertNotEqual(str(again["job_id"]), waiting)
        self.assertEqual(again["name"], "vllm-1")

    def test_09_a_built_in_pod_group_starts_as_one(self):
        spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        self.make(
            "PodGroup",
            "scheduling.k8s.io/v1alpha2",
            "train",
            spec,
            {f"{JOB}timelimit": "4", f"{JOB}job-name": "x"},
        )
        group = {"schedulingGroup": {"podGroupName": "train"}}
        self.pod("a", **group)
        self.wait_says("a", "1 of 2")
        self.pod("b", **group)
        job = self.one_job("a", "b")
        self.assertEqual(job["time_limit"]["number"], 4)
        self.wait(
            lambda: [
                c["status"]
                for c in self.api.get("PodGroup", self.ns, "train")["status"]["conditions"]
                if c["type"] == "PodGroupScheduled"
            ]
            == ["True"],
            lambda: f"the PodGroup knows: {self.api.get('PodGroup', self.ns, 'train')}",
        )

    def test_09f_the_workload_says_more_than_the_job_and_that_more_than_the_group(self):
        template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
        self.make(
            "Workload",
            "scheduling.k8s.io/v1alpha2",
            "train",
            {"podGroupTemplates": [template]},
            {f"{JOB}timelimit": "6"},
        )
        source = {"podGroupTemplateName": "workers", "workloadName": "train"}
        self.make(
            "PodGroup",
            "scheduling.k8s.io/v1alpha2",
            "ring",
            {
                "podGroupTemplateRef": {"workload": source},
                "schedulingPolicy": {"gang": {"minCount": 2}},
            },
            {f"{JOB}{key}": "4" for key in ("timelimit", "job-name", "cpu-per-task")},
        )
        meta = {"name": "sweep", "namespace": self.ns}
        meta["annotations"] = {f"{JOB}timelimit": "5", f"{JOB}job-name": "of-the-job"}
        group = {"schedulingGroup": {"podGroupName": "ring"}}
        spec = {"parallelism": 2, "completions": 2}
        spec["template"] = {"metadata": {}, "spec": pod_spec(more=group)}
        self.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
        pods = lambda: self.api.all("Pod", self.ns, labelSelector="job-name=sweep")  # noqa: E731
        self.wait(lambda: len(pods()) == 2, "two pods")
        job = self.one_job(*(pod["metadata"]["name"] for pod in pods()))
        self.assertEqual(job["time_limit"]["number"], 6)
        self.assertEqual(job["name"], "of-the-job")
        self.assertEqual(job["cpus_per_task"]["number"], 4)

    def test_09b_a_whole_job_starts_as_one(self):
        template = {"metadata": {"annotations": {GANG: "Job"}}, "spec": pod_spec()}
        spec = {"parallelism": 3, "completions": 3, "template": template}
        spec["completionMode"] = "Indexed"
        meta = {"name": "mpi", "namespace": self.ns}
        self.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
        pods = lambda: self.api.all("Pod", self.ns, labelSelector="job-name=mpi")  # noqa: E731
        self.wait(lambda: len(pods()) == 3, "three pods")
        job = self.one_job(*(pod["metadata"]["name"] for pod in pods()))
        self.assertEqual(job["name"], "mpi")
        # The first pod on the first node, as Slurm orders them.
        index = "batch.kubernetes.io/job-completion-index"
        order = sorted(pods(), key=lambda pod: pod["metadata"]["labels"][index])
        nodes = self.slurm.scontrol("show", "hostnames", job["nodes"]).split()
        self.assertEqual([pod["spec"]["nodeName"] for pod in order], nodes)

    def test_09c_several_pods_of_a_gang_share_a_node(self):
        self.make(
            "PodGroup",
            "scheduling.k8s.io/v1alpha2",
            "packed",
            {"schedulingPolicy": {"gang": {"minCount": 4}}},
            {"mainspring.slurm.net/tasks-per-node": "2"},
        )
        for name in "abcd":
            self.pod(name, schedulingGroup={"podGroupName": "packed"})
        pods = self.wait_bound(*"abcd")
        nodes = sorted(pod["spec"]["nodeName"] for pod in pods)
        self.assertEqual(len(set(nodes)), 2)
        self.assertEqual(nodes[0], nodes[1])
        job = self.job(self.job_id("a"))
        self.assertEqual(job["node_count"]["number"], 2)
        self.assertEqual(job["memory_per_node"]["number"], 200)

    def test_09d_pods_that_differ_are_the_parts_of_a_het_job(self):
        self.kubelet.make_external("large", cpus=32, memory="64Gi")
        self.addCleanup(self.remove_node, "large")
        self.wait(lambda: "large" in self.slurm.nodes(), "large is there")
        spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        self.make("PodGroup", "scheduling.k8s.io/v1alpha2", "mixed", spec)
        group = {"schedulingGroup": {"podGroupName": "mixed"}}
        self.pod("head", cpu="24", **group)
        for name in ("w1", "w2"):
            self.pod(name, cpu="2", nodeSelector={"kubernetes.io/hostname": self.nodes[name == "w2"]}, **group)  # fmt: skip
        head, *workers = self.wait_bound("head", "w1", "w2")
        self.assertEqual(head["spec"]["nodeName"], "large")
        self.assertEqual([pod["spec"]["nodeName"] for pod in workers], list(self.nodes[:2]))
        (leader,) = {pod["metadata"]["labels"][JOB_ID] for pod in (head, *workers)}
        parts = self.slurm.call(f"job/{leader}")["jobs"]
        self.assertEqual([part["cpus_per_task"]["number"] for part in parts], [24, 2, 2])

        def states() -> set[str]:
            return {part["job_state"][0] for part in self.slurm.call(f"job/{leader}")["jobs"]}

        # All that is held is held until the last container is gone.
        self.wait(lambda: self.get("w2")["status"]["phase"] == "Running", "all run")
        self.finish("head")
        self.stays(lambda: states() == {"RUNNING"}, lambda: f"all parts run: {states()}")
        self.finish("w1")
        self.finish("w2")
        self.wait(lambda: states() == {"CANCELLED"}, lambda: f"all parts are over: {states()}")

    def test_09e_who_cancels_a_het_job_ends_all_its_pods(self):
        self.make(
            "PodGroup",
            "scheduling.k8s.io/v1alpha2",
            "told",
            {"schedulingPolicy": {"gang": {"minCount": 2}}},
            {"mainspring.slurm.net/heterogeneous": "true"},
        )
        group = {"schedulingGroup": {"podGroupName": "told"}}
        self.pod("a", cpu="4", **group)
        self.pod("b", cpu="1", **group)
        self.wait_bound("a", "b")
        leader = self.job_id("a")
        self.assertEqual(len(self.slurm.call(f"job/{leader}")["jobs"]), 2)
        # A bridge that knows nothing of it finds the same.
        self.restart_bridge()
        self.stays(lambda: len(self.live_jobs()) == 2, lambda: f"two parts: {self.live_jobs()}")
        self.cancel(leader)
        self.wait_gone("a")
        self.wait_gone("b")


if __name__ == "__main__":
    unittest.main()
