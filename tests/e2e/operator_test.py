"""End to end: the operator runs a Slurm cluster on a two-node Kubernetes, is killed at random moments
while it does, and no job notices.

One story, told in order: each chapter goes on with the cluster as the one before it left it.
"""

import base64
import json
import os
import random
import secrets
import subprocess
import threading
import time
import unittest

from cluster_case import OPERATOR, REPO, ClusterCase, is_protected

from msdev.console import Failure
from msdev.managed_slurm import NAMESPACE, SYSTEM, ManagedSlurm
from msdev.process import wait_for

CLUSTER = os.environ.get("MAINSPRING_E2E_CLUSTER", "test-operator")
FILES = REPO / "tests" / "e2e" / "operator"
NODESET, PARTITION = "slurm-worker-main", "main"
WORKERS = f"app.kubernetes.io/name=slurmd,app.kubernetes.io/instance={NODESET}"


class OperatorTest(ClusterCase):
    cluster_name = CLUSTER
    slurmctld = ("-n", NAMESPACE, "logs", "slurm-controller-0", "-c", "slurmctld", "--tail=80")
    explanations = (*ClusterCase.explanations, slurmctld)

    @classmethod
    def install_all(cls):
        cls.seed = int(os.environ.get("MAINSPRING_SEED", time.time_ns() % 100000))
        print(f"MAINSPRING_SEED={cls.seed} repeats the moments of the kills", flush=True)
        cls.random = random.Random(cls.seed)
        cls.broken = False
        cls.slurm = ManagedSlurm(CLUSTER)
        cls.slurm.load_images("mariadb")
        cls.slurm.install_operator()
        cls.slurm.install_slurm("-f", str(FILES / "values.yaml"))
        cls.slurm.kubectl("-n", NAMESPACE, "apply", "-f", str(FILES / "mariadb.yaml"))
        cls.slurm.wait_ready()

    def setUp(self):
        if type(self).broken:
            self.skipTest("an earlier chapter failed")
        self.killers = []
        super().setUp()

    def tearDown(self):
        for killer in self.killers:
            killer.join()
        type(self).broken |= self.has_failed()
        super().tearDown()

    # --- the chapters

    def test_01_an_ordinary_user_runs_a_job_on_two_workers(self):
        self.kill_operator_soon()
        self.assertEqual(self.slurm.run_job(), ["main-0", "main-1"])

    def test_02_a_batch_job_is_seen_in_accounting(self):
        self.kill_operator_soon()
        job = self.submit("hostname", "-N2")
        self.wait_for_job(job)
        self.assertTrue(
            wait_for(lambda: self.accounted(job) == ["COMPLETED"], 30, every=1), self.accounted(job)
        )
        self.assertIn("main-", self.slurm.user("cat", f"slurm-{job}.out"))

    def test_03_an_edited_config_map_reaches_slurm_without_a_restart(self):
        before = self.uid("pod/slurm-controller-0")
        job = self.submit("sleep 15")
        self.wait_for_start(job)
        self.kill_operator_soon()
        patch = {"data": {"prolog-second.sh": "#!/bin/sh\ntouch /tmp/second\n"}}
        self.patch("configmap/slurm-prolog-scripts", patch)
        self.eventually(
            lambda: "prolog-second.sh" in self.slurm.slurm("scontrol", "show", "config")
        )
        self.assertEqual(self.uid("pod/slurm-controller-0"), before)
        self.wait_for_job(job)
        self.eventually(
            lambda: self.slurm.user("srun", "ls", "/tmp/second").split() == ["/tmp/second"]
        )

    def test_04_scaling_in_waits_for_jobs(self):
        self.eventually(lambda: self.busy_workers() == [])
        self.scale(1)
        self.eventually(lambda: self.workers() == ["main-0"])
        self.scale(3)
        self.eventually(lambda: self.slurm.usable_nodes() == ["main-0", "main-1", "main-2"])
        long = self.submit("sleep 40", "-w", "main-2", "-t", "20")
        short = self.submit("sleep 20", "-w", "main-1", "-t", "10")
        self.wait_for_start(long, short)
        self.eventually(lambda: self.busy_workers() == ["main-1", "main-2"])
        self.kill_operator_soon()
        self.scale(1)
        # The idle one goes at once; of the busy ones that with the earlier end, and after its job.
        self.eventually(lambda: "main-0" not in self.workers())
        while self.state(short) == "RUNNING":
            workers = self.workers()
            self.assertTrue("main-1" in workers or self.state(short) != "RUNNING", workers)
            time.sleep(1)
        self.wait_for_job(short)
        self.eventually(lambda: self.workers() == ["main-2"])
        self.wait_for_job(long)
        self.assertEqual(self.workers(), ["main-2"])
        self.scale(2)
        self.wait_until_usable(2)

    def test_05_an_update_waits_for_jobs(self):
        before = set(self.worker_uids())
        busy = self.slurm.usable_nodes()[0]
        job = self.submit("sleep 20", "-w", busy)
        self.wait_for_start(job)
        self.kill_operator_soon()
        self.install(*self.with_env("generation-2"))
        self.wait_for_job(job)
        self.eventually(lambda: not before & set(self.worker_uids()))
        self.wait_until_usable(2)
        self.assertEqual(len(self.slurm.run_job()), 2)

    def test_06_jobs_survive_the_loss_of_slurmctld(self):
        job = self.submit("sleep 12")
        self.wait_for_start(job)
        self.kill_operator_soon()
        self.slurm.kubectl(
            *("-n", NAMESPACE, "delete", "pod", "slurm-controller-0"),
            *("--grace-period=0", "--force"),
        )
        self.wait_for_job(job)
        self.wait_until_usable(2)

    def test_07_a_cordoned_kubernetes_node_is_drained_in_slurm(self):
        pod = self.worker_pods()[0]
        node, name = pod["spec"]["nodeName"], pod["spec"]["hostname"]
        self.kill_operator_soon()
        self.slurm.kubectl("cordon", node)
        self.addCleanup(self.slurm.kubectl, "uncordon", node)
        self.eventually(lambda: "DRAIN" in self.node(name)["state"])
        self.assertIn(f"Node ({node}) was cordoned", self.node(name)["reason"])
        self.slurm.kubectl("uncordon", node)
        self.wait_until_usable(2)

    def test_08_the_jwt_key_can_be_changed(self):
        before = self.uid("pod/slurm-controller-0")
        self.kill_operator_soon()
        self.change_key("slurm-auth-jwt", "jwt.key")
        self.eventually(lambda: self.uid("pod/slurm-controller-0") != before)
        self.slurm.wait_ready()
        self.check_operator_reaches_slurm()

    def test_09_the_slurm_key_can_be_changed(self):
        before = set(self.worker_uids())
        self.kill_operator_soon()
        self.change_key("slurm-auth-slurm", "slurm.key")
        self.eventually(lambda: not before & set(self.worker_uids()), patience=180)
        self.wait_until_usable(2)
        self.eventually(lambda: self.runs_a_job() == 2)
        self.check_operator_reaches_slurm()

    def test_10_daemon_set_mode_has_a_worker_on_every_node(self):
        job = self.submit("sleep 10")
        self.wait_for_start(job)
        self.kill_operator_soon()
        self.install(*self.with_env("generation-2"), "--set", "nodesets.main.scalingMode=DaemonSet")
        self.wait_for_job(job)
        nodes = [f"{CLUSTER}-1", f"{CLUSTER}-2"]
        # Of two workers one goes in a minute.
        self.eventually(lambda: self.workers() == nodes, patience=180)
        self.wait_until_usable(2)
        self.assertEqual(self.slurm.run_job(), nodes)

    def test_11_deleting_a_node_set_waits_for_its_jobs(self):
        restarts = self.restarts("slurm-controller-0")
        job = self.submit("sleep 15", "-p", PARTITION)
        self.wait_for_start(job)
        self.kill_operator_soon()
        self.slurm.kubectl("-n", NAMESPACE, "delete", "nodeset", NODESET, "--wait=false")
        self.wait_for_job(job)
        self.eventually(lambda: not self.worker_pods())
        # slurmctld looks for jobs to forget once a minute.
        self.slurm.kubectl(
            *("-n", NAMESPACE, "wait", "--for=delete", f"nodeset/{NODESET}", "--timeout=180s")
        )
        # Its partition outlives it until nothing names it: slurmctld would not survive.
        self.eventually(lambda: PARTITION not in self.partitions())
        self.assertEqual(self.restarts("slurm-controller-0"), restarts)
        self.assertEqual(self.accounted(job), ["COMPLETED"])

    def test_12_uninstalling_leaves_nothing_but_the_state_of_slurmctld(self):
        self.install(*self.with_env("generation-3"))
        self.wait_until_usable(2)
        self.kill_operator_soon()
        self.slurm.helm("uninstall", "slurm", "--namespace", NAMESPACE)
        self.slurm.kubectl("-n", NAMESPACE, "delete", "-f", str(FILES / "mariadb.yaml"))
        self.eventually(lambda: self.left_in_namespace() == [], lambda: self.left_in_namespace())
        claims = self.slurm.kubectl("-n", NAMESPACE, "get", "pvc", "-o", "name").split()
        self.assertEqual(claims, ["persistentvolumeclaim/statesave-slurm-controller-0"])
        self.slurm.helm("uninstall", "mainspring", "--namespace", SYSTEM)
        self.eventually(lambda: not self.slurm.get("pods", namespace=SYSTEM)["items"])
        kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles"
        kinds += ",clusterrolebindings"
        left = self.slurm.kubectl("get", kinds, "-o", "name").split()
        self.assertEqual([name for name in left if "mainspring" in name], [])
        kinds = "deployments,services,endpointslices,configmaps,roles,rolebindings,serviceaccounts"
        left = self.slurm.kubectl("-n", SYSTEM, "get", f"{kinds},secrets,leases", "-o", "name")
        # The definitions are another release.
        own = [name for name in left.split() if "helm.release.v1.mainspring-crds" not in name]
        self.assertEqual(sorted(own), ["configmap/kube-root-ca.crt", "serviceaccount/default"])

    # --- the operator's death

    def kill_operator_soon(self) -> None:
        """SIGKILL in a moment, whatever it is doing then; the Deployment brings another."""
        delay = self.random.uniform(0, 6)
        killer = threading.Thread(target=self.kill_operator, args=(delay,))
        killer.start()
        self.killers.append(killer)

    def kill_operator(self, delay: float) -> None:
        time.sleep(delay)
        for pod in self.slurm.get("pods", "-l", OPERATOR, namespace=SYSTEM)["items"]:
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
            number = node.rpartition("-")[2]
            # A node sees its own processes only. Killed this way it gets no SIGTERM first.
            subprocess.run(
                [REPO / "dev" / "cluster", "--name", CLUSTER, "node-exec", number]
                + ["pkill", "-9", "-x", "mainspring"],
                capture_output=True,
            )
            # A new pod starts at once; the kubelet would make the old one wait longer every time.
            subprocess.run(
                [REPO / "dev" / "cluster", "--name", CLUSTER, "kubectl", "-n", SYSTEM, "delete"]
                + ["pod", name, "--grace-period=0", "--force", "--wait=false"],
                capture_output=True,
            )
            print(f"    operator killed after {delay:.1f} s", flush=True)

    # --- jobs

    def submit(self, script: str, *options: str) -> str:
        return self.slurm.user("sbatch", "--parsable", *options, "--wrap", script).strip()

    def state(self, job: str) -> str:
        try:
            answer = json.loads(self.slurm.slurm("scontrol", "show", "job", job, "--json"))
            return answer["jobs"][0]["job_state"][0]
        except (Failure, ValueError, IndexError):
            return "UNKNOWN"  # slurmctld may be starting

    def partitions(self) -> list[str]:
        return self.slurm.slurm("sinfo", "-h", "-a", "-o", "%R").split()

    def wait_for_start(self, *jobs: str) -> None:
        for job in jobs:
            self.eventually(lambda job=job: self.state(job) == "RUNNING", patience=60)

    def wait_for_job(self, job: str, patience: float = 120) -> None:
        over = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT", "REQUEUED")
        self.eventually(lambda: self.state(job) in over, patience=patience)
        self.assertEqual(self.state(job), "COMPLETED")

    def accounted(self, job: str) -> list[str]:
        return self.slurm.user("sacct", "-n", "-X", "-P", "-j", job, "-o", "State").split()

    def runs_a_job(self) -> int:
        try:
            return len(
                self.slurm.user("srun", "-N2", "--immediate=10", "hostname", timeout=60).split()
            )
        except (Failure, subprocess.TimeoutExpired):
            return 0

    # --- the cluster

    def install(self, *options: str) -> None:
        """helm upgrade; the webhook may be away for a moment when the operator was just killed."""
        files = ("-f", str(FILES / "values.yaml"))
        self.retried(lambda: self.slurm.install_slurm(*files, *options))

    def with_env(self, value: str) -> tuple[str, ...]:
        return ("--set-json", 'nodesetDefaults.slurmd.env=[{"name":"TEST","value":"%s"}]' % value)

    def scale(self, replicas: int) -> None:
        what = ("-n", NAMESPACE, "scale", f"nodeset/{NODESET}", f"--replicas={replicas}")
        self.retried(lambda: self.slurm.kubectl(*what))

    def patch(self, what: str, patch: dict) -> None:
        arguments = ("-n", NAMESPACE, "patch", what, "--type=merge", "-p", json.dumps(patch))
        self.retried(lambda: self.slurm.kubectl(*arguments))

    def change_key(self, secret: str, key: str) -> None:
        value = base64.b64encode(secrets.token_bytes(1024)).decode()
        self.patch(f"secret/{secret}", {"data": {key: value}})

    def worker_pods(self) -> list[dict]:
        return self.slurm.get("pods", "-l", WORKERS)["items"]

    def workers(self) -> list[str]:
        """Slurm names of the workers that are not on their way out."""
        pods = self.worker_pods()
        alive = [p for p in pods if "deletionTimestamp" not in p["metadata"]]
        return sorted(p["spec"]["hostname"] for p in alive)

    def busy_workers(self) -> list[str]:
        """As far as the operator knows."""
        return sorted(p["spec"]["hostname"] for p in self.worker_pods() if is_protected(p))

    def worker_uids(self) -> list[str]:
        return [pod["metadata"]["uid"] for pod in self.worker_pods()]

    def wait_until_usable(self, nodes: int) -> None:
        self.eventually(
            lambda: len(self.slurm.usable_nodes()) == nodes, lambda: self.slurm.slurm("sinfo", "-N")
        )

    def node(self, name: str) -> dict:
        answer = json.loads(self.slurm.slurm("scontrol", "show", "node", name, "--json"))
        return answer["nodes"][0]

    def uid(self, what: str) -> str:
        template = "jsonpath={.metadata.uid}"
        try:
            return self.slurm.kubectl("-n", NAMESPACE, "get", what, "-o", template)
        except Failure:
            return ""

    def restarts(self, pod: str) -> int:
        statuses = self.slurm.get(f"pod/{pod}")["status"]["containerStatuses"]
        return sum(status["restartCount"] for status in statuses)

    def check_operator_reaches_slurm(self) -> None:
        """By what it does: a cordoned pod is drained, and an uncordoned one is not."""
        pod = self.worker_pods()[0]
        annotate = ("-n", NAMESPACE, "annotate", f"pod/{pod['metadata']['name']}")
        self.slurm.kubectl(*annotate, "nodeset.slinky.slurm.net/pod-cordon=true")
        self.eventually(lambda: "DRAIN" in self.node(pod["spec"]["hostname"])["state"])
        self.slurm.kubectl(*annotate, "nodeset.slinky.slurm.net/pod-cordon-")
        self.wait_until_usable(2)

    def left_in_namespace(self) -> list[str]:
        kinds = "pods,statefulsets,deployments,services,configmaps,secrets,poddisruptionbudgets"
        kinds += ",endpointslices,controllerrevisions,controllers,nodesets,loginsets,restapis"
        kinds += ",accountings,tokens"
        names = self.slurm.kubectl("-n", NAMESPACE, "get", kinds, "-o", "name").split()
        return sorted(name for name in names if name != "configmap/kube-root-ca.crt")

    def retried(self, act, patience: float = 60) -> None:
        end = time.monotonic() + patience
        while True:
            try:
                return act()
            except Failure:
                if time.monotonic() > end:
                    raise
                time.sleep(1)


if __name__ == "__main__":
    unittest.main()
