"""End to end: Slurm schedules the pods of a two-node Kubernetes beside its own jobs; the bridge is killed at
random moments meanwhile, and no pod and no job is lost, doubled or left behind.

One story, told in order: each chapter goes on with the cluster as the one before it left it.
"""

import unittest

from bridge_case import (
    CLUSTER,
    EXTERNAL,
    JOB_ID,
    NODES,
    SLURM_NAME,
    SYSTEM,
    WORK,
    BridgeCase,
    pod_spec,
)
from cpu_lists import allowed_cpus, cpus_in

from msdev.cluster import cpus
from msdev.managed_slurm import NAMESPACE

GANG = "mainspring.slurm.net/gang"
CLASS = "deviceclass.resource.kubernetes.io/"


class BridgeTest(BridgeCase):
    # --- the chapters

    def test_01_labelled_nodes_become_nodes_of_slurm(self):
        self.slurm.kubectl("label", "node", *NODES, f"{EXTERNAL}=true")
        states = ("sinfo", "-h", "-N", "-p", "slurm-bridge", "-o", "%N %t")
        wanted = [f"{node} idle" for node in NODES]
        self.eventually(
            lambda: sorted(self.slurm.slurm(*states).splitlines()) == wanted,
            lambda: self.slurm.slurm("sinfo", "-N"),
        )

    def test_02_a_pod_runs_and_accounting_knows_what_became_of_it(self):
        self.make_pod("hello", "exit 3", {"job-name": "hello"})
        self.eventually(lambda: self.phases() == {"hello": "Failed"}, lambda: self.phases())
        job = self.job_of("hello")
        self.wait_for_state(job, "COMPLETED", "FAILED", "CANCELLED")
        self.eventually(
            lambda: "exit code 3" in self.accounted(job, "Comment"),
            lambda: self.accounted(job, "JobID,State,Comment,ExitCode"),
        )
        self.assertEqual(self.accounted(job, "JobName"), "hello")
        self.clear()

    def test_03_every_pod_of_a_job_is_a_job_of_its_own(self):
        self.kill_bridge_soon()
        self.make_job("sweep", 6, "sleep 2", {"timelimit": "7"})
        done = ("-n", WORK, "wait", "--for=condition=Complete", "job/sweep", "--timeout=180s")
        self.slurm.kubectl(*done, timeout=200)
        pods = self.pods()
        self.assertEqual(len({pod["metadata"]["labels"][JOB_ID] for pod in pods}), 6)
        self.assertEqual({pod["status"]["phase"] for pod in pods}, {"Succeeded"})
        self.clear()

    def test_04_a_pod_group_starts_as_one(self):
        self.kill_bridge_soon()
        spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        self.make("PodGroup", "scheduling.k8s.io/v1alpha2", "train", spec, {"timelimit": "9"})
        for name in ("train-0", "train-1"):
            self.make_pod(name, schedulingGroup={"podGroupName": "train"})
        self.check_is_one_job(self.wait_running("train-0", "train-1"))
        self.clear("podgroups.scheduling.k8s.io")

    def test_05_a_job_set_starts_as_one_and_completes(self):
        self.kill_bridge_soon()
        template = {"metadata": {"annotations": {GANG: "JobSet"}}, "spec": pod_spec("sleep 5")}
        job = {"spec": {"parallelism": 1, "completions": 1, "template": template}}
        jobs = [{"name": name, "replicas": 1, "template": job} for name in ("driver", "worker")]
        self.make("JobSet", "jobset.x-k8s.io/v1alpha2", "set", {"replicatedJobs": jobs})
        done = ("-n", WORK, "wait", "--for=condition=Completed", "jobset/set", "--timeout=180s")
        self.slurm.kubectl(*done, timeout=200)
        pods = self.pods()
        self.assertEqual(sorted(pod["spec"]["nodeName"] for pod in pods), NODES)
        self.assertEqual(len({pod["metadata"]["labels"][JOB_ID] for pod in pods}), 1)
        self.clear("jobsets")

    def test_06_a_leader_and_its_worker_start_as_one_and_again_after_scancel(self):
        self.kill_bridge_soon()
        template = {"size": 2, "workerTemplate": {"spec": pod_spec(restartPolicy="Always")}}
        spec = {"replicas": 1, "leaderWorkerTemplate": template}
        self.make("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "vllm", spec)
        first = self.check_is_one_job(self.wait_running("vllm-0", "vllm-0-1"))
        before = self.running()
        self.slurm.slurm("scancel", first)
        # Its controller makes the group anew.
        self.eventually(lambda: self.are_anew(before), lambda: self.phases())
        self.assertNotEqual(self.check_is_one_job(self.pods()), first)
        self.clear("leaderworkersets")

    def test_07_native_jobs_run_beside_pods(self):
        native = self.submit("-N2", "-t", "5")
        self.make_pod("beside")
        self.wait_running("beside")
        self.wait_for_state(native, "RUNNING")
        self.slurm.slurm("scancel", native)
        self.clear()

    def test_08_scancel_of_a_pods_job_deletes_the_pod(self):
        self.make_pod("cancelled")
        self.make_pod("stays")
        self.wait_running("cancelled", "stays")
        job, other = self.job_of("cancelled"), self.job_of("stays")
        self.kill_bridge_soon()
        self.slurm.slurm("scancel", job)
        self.wait_running("stays")
        self.assertEqual(self.state(job), "CANCELLED")
        self.assertEqual(self.state(other), "RUNNING")
        self.clear()

    def test_09_a_cordoned_node_is_drained_and_its_pods_run_on(self):
        node = NODES[0]
        self.make_pod("old", nodeSelector=on(node))
        self.wait_running("old")
        self.kill_bridge_soon()
        self.slurm.kubectl("cordon", node)
        self.addCleanup(self.slurm.kubectl, "uncordon", node)
        self.eventually(lambda: self.is_drained(node), lambda: self.nodes()[node])
        self.assertTrue(self.nodes()[node]["reason"].startswith("slurm-bridge:"))
        self.make_pod("new", nodeSelector=on(node))
        self.eventually(lambda: JOB_ID in self.pod("new")["metadata"].get("labels", {}))
        self.assertEqual(self.phases(), {"old": "Running", "new": "Pending"})
        self.slurm.kubectl("uncordon", node)
        self.wait_running("new", "old")
        self.assertFalse(self.is_drained(node))
        self.clear()

    def test_10_pods_live_on_when_slurmctld_is_killed(self):
        self.make_pod("before")
        before = self.wait_running("before")[0]["metadata"]["uid"]
        job = self.job_of("before")
        self.kill_bridge_soon(release=False)
        self.slurm.kubectl(
            *("-n", NAMESPACE, "delete", "pod", "slurm-controller-0"),
            *("--grace-period=0", "--force"),
        )
        self.make_pod("meanwhile")
        pods = self.wait_running("before", "meanwhile")
        self.assertEqual(pods[0]["metadata"]["uid"], before)
        self.assertNotIn("deletionTimestamp", pods[0]["metadata"])
        self.wait_for_state(job, "RUNNING")
        self.clear()

    def test_11_a_node_of_slurms_own_runs_pods_and_jobs_core_by_core(self):
        node = NODES[0]
        type(self).worker = worker = self.worker_pod_on(node)["spec"]["hostname"]
        self.slurm.kubectl("label", "node", node, f"{EXTERNAL}-", f"{SLURM_NAME}={worker}")
        self.eventually(lambda: node not in self.nodes(), lambda: self.nodes()[node])
        self.make_pod("beside", annotations={"partition": "all"}, nodeSelector=on(node))
        (pod,) = self.wait_running("beside")
        native = self.submit("-w", worker, "-n1")
        self.wait_for_state(native, "RUNNING")
        self.assertEqual(pod["spec"]["nodeName"], node)
        self.assertEqual(self.nodes()[worker]["alloc_cpus"], 2)
        self.assertIn("beside", self.running())
        self.slurm.slurm("scancel", native)
        self.clear()

    def test_12_a_pod_and_a_job_on_one_node_have_cores_of_their_own(self):
        cpus.install(CLUSTER, 1)
        everywhere = self.cpus_of_slurmd()
        self.make_pinned_pod("first")
        self.wait_running("first")
        native = self.submit_to_worker()
        self.check_has_cores_of_its_own("first", native)
        self.slurm.slurm("scancel", native)
        self.clear()
        # The other way round, so that each once has the core that is given out last.
        native = self.submit_to_worker()
        self.make_pinned_pod("second")
        self.wait_running("second")
        self.check_has_cores_of_its_own("second", native)
        self.clear()
        self.assertEqual(self.slurm.get("resourceclaims", namespace=WORK)["items"], [])
        self.eventually(lambda: self.cpus_of_slurmd() == everywhere)
        self.slurm.slurm("scancel", native)

    def test_13_whoever_has_the_better_qos_preempts_the_other(self):
        node, worker = NODES[0], self.worker
        whole = {"partition": "all", "exclusive": "true"}
        self.make_pod("victim", annotations=whole | {"qos": "normal"}, nodeSelector=on(node))
        self.wait_running("victim")
        of_pod = self.job_of("victim")
        native = self.submit("-w", worker, "--exclusive", "--qos=high")
        self.eventually(lambda: not self.exists("victim"), lambda: self.phases())
        self.wait_for_state(native, "RUNNING")
        self.assertEqual(self.state(of_pod), "PREEMPTED")
        self.slurm.slurm("scancel", native)

        native = self.submit("-w", worker, "--exclusive", "--qos=normal")
        self.wait_for_state(native, "RUNNING")
        self.kill_bridge_soon()
        self.make_pod("urgent", annotations=whole | {"qos": "high"}, nodeSelector=on(node))
        self.wait_running("urgent")
        self.assertEqual(self.state(native), "PREEMPTED")
        self.clear()

    def test_14_a_pod_preempts_a_pod_on_a_node_that_is_only_kubernetes(self):
        where = {"nodeSelector": on(NODES[1])}
        self.make_pod("low", annotations={"exclusive": "true", "qos": "normal"}, **where)
        self.wait_running("low")
        job = self.job_of("low")
        self.kill_bridge_soon()
        self.make_pod("high", annotations={"exclusive": "true", "qos": "high"}, **where)
        self.eventually(lambda: not self.exists("low"), lambda: self.phases())
        self.wait_running("high")
        self.assertEqual(self.state(job), "PREEMPTED")
        self.clear()

    def test_15_nothing_is_left_behind(self):
        self.make_pod("last")
        self.wait_running("last")
        self.slurm.kubectl("label", "node", *NODES, f"{EXTERNAL}-", f"{SLURM_NAME}-")
        # Not while a pod runs there.
        self.eventually(lambda: self.is_drained(NODES[1]), lambda: self.nodes())
        self.assertEqual(self.phases(), {"last": "Running"})
        self.clear()
        self.eventually(lambda: not set(NODES) & set(self.nodes()), lambda: list(self.nodes()))
        self.slurm.helm("uninstall", "slurm-bridge", "--namespace", SYSTEM)
        self.eventually(lambda: not self.slurm.get("pods", namespace=SYSTEM)["items"])
        kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles"
        kinds += ",clusterrolebindings"
        left = self.slurm.kubectl("get", kinds, "-o", "name").split()
        self.assertEqual([name for name in left if "slurm-bridge" in name], [])
        # What was made by hand goes with its namespace.
        kinds = "deployments,services,endpointslices,configmaps,roles,rolebindings,serviceaccounts"
        left = self.slurm.kubectl("-n", SYSTEM, "get", f"{kinds},secrets,leases", "-o", "name")
        self.assertEqual(
            sorted(left.split()),
            ["configmap/kube-root-ca.crt", "secret/slurm-bridge-token", "serviceaccount/default"],
        )
        conditions = self.slurm.get("nodes")["items"][0]["status"]["conditions"]
        self.assertNotIn("SlurmReady", [one["type"] for one in conditions])
        # Nobody is asked about pods any more.
        self.make_pod("free", "true", schedulerName="default-scheduler")
        self.eventually(lambda: self.phases() == {"free": "Succeeded"}, lambda: self.phases())

    # --- what chapters say again and again

    def are_anew(self, before: dict[str, str]) -> bool:
        """Pods of the same names run, and none of them is one of those."""
        now = self.running()
        return now.keys() == before.keys() and not set(now.values()) & set(before.values())

    def check_is_one_job(self, pods: list[dict]) -> str:
        """A pod on each node, all of one job that runs. Its number."""
        self.assertEqual(sorted(pod["spec"]["nodeName"] for pod in pods), NODES)
        jobs = {pod["metadata"]["labels"][JOB_ID] for pod in pods}
        self.assertEqual(len(jobs), 1, jobs)
        job = jobs.pop()
        self.assertEqual(self.state(job), "RUNNING")
        return job

    # --- cores

    def make_pinned_pod(self, name: str) -> None:
        resources = {"requests": {"memory": "32Mi"}, "limits": {f"{CLASS}dra.cpu": "1"}}
        where = {"partition": "all"}
        self.make_pod(name, annotations=where, resources=resources, nodeSelector=on(NODES[0]))

    def submit_to_worker(self) -> str:
        """A native job that runs, on its one core only."""
        script = "echo $$ > /tmp/$SLURM_JOB_ID.pid; exec sleep 600"
        native = self.submit("-w", self.worker, "-n1", script=script)
        self.wait_for_state(native, "RUNNING")
        own = cpus_in(self.cores_of(native))
        self.eventually(lambda: self.cpus_of_job(native) == own)
        return native

    def check_has_cores_of_its_own(self, pod: str, native: str) -> None:
        """Both run, where Slurm says, and nothing of Slurm's may run where the pod does."""
        of_pod, of_job = self.cores_of(self.job_of(pod)), self.cores_of(native)
        self.assertEqual((len(of_pod), len(of_job), of_pod & of_job), (1, 1, set()))
        self.assertEqual(self.cpus_of_pod(pod), cpus_in(of_pod))
        self.assertEqual(self.cpus_of_job(native), cpus_in(of_job))
        self.assertEqual(self.cpus_of_slurmd() & cpus_in(of_pod), set())
        self.assertEqual(self.state(native), "RUNNING")
        self.assertIn(pod, self.running())

    def cpus_of_pod(self, name: str) -> set[int]:
        status = self.slurm.kubectl("-n", WORK, "exec", name, "--", "cat", "/proc/1/status")
        return allowed_cpus(status)

    def cpus_of_job(self, job: str) -> set[int]:
        return self.cpus_in_worker(f"cat /proc/$(cat /tmp/{job}.pid)/status")

    def cpus_of_slurmd(self) -> set[int]:
        return self.cpus_in_worker("cat /proc/1/status")

    def cpus_in_worker(self, command: str) -> set[int]:
        pod = self.worker_pod_on(NODES[0])["metadata"]["name"]
        run = ("-n", NAMESPACE, "exec", pod, "-c", "slurmd", "--", "sh", "-c", command)
        return allowed_cpus(self.slurm.kubectl(*run))


def on(node: str) -> dict:
    return {"kubernetes.io/hostname": node}


if __name__ == "__main__":
    unittest.main()
