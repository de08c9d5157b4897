"""What the bridge's story needs: Slurm by the operator, the bridge by its chart, workloads, and books in
which every pod stands with one job."""

import json
import os
import random
import subprocess
import threading
import time
import urllib.request

from cluster_case import REPO, ClusterCase

from msdev.cluster import workloads
from msdev.console import Failure
from msdev.managed_slurm import CHARTS, NAMESPACE, ManagedSlurm

CLUSTER = os.environ.get("MAINSPRING_E2E_CLUSTER", "test-bridge")
FILES = REPO / "tests" / "e2e" / "bridge"
MARIADB = REPO / "tests" / "e2e" / "operator" / "mariadb.yaml"
SYSTEM = "slinky"
WORK = "work"  # Managed: whoever names no scheduler is Slurm's.
LEASE = "lease/mainspring-bridge"
BRIDGE = "app.kubernetes.io/name=slurm-bridge"
EXTERNAL = "scheduler.slinky.slurm.net/external-node"
SLURM_NAME = "slinky.slurm.net/slurm-nodename"
JOB_ID = "scheduler.slinky.slurm.net/slurm-jobid"
JOB = "slurmjob.slinky.slurm.net/"
NODES = [f"{CLUSTER}-1", f"{CLUSTER}-2"]
LIVE = {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING"}


class BridgeCase(ClusterCase):
    cluster_name = CLUSTER
    explanations = (
        ("get", "pods", "-A", "-o", "wide"),
        ("-n", WORK, "get", "pods", "-o", "yaml"),
        ("get", "nodes", "-o", "yaml"),
        ("get", "events", "-A", "--sort-by=.lastTimestamp"),
        ("-n", SYSTEM, "logs", "-l", BRIDGE, "--tail=200", "--prefix"),
        ("-n", NAMESPACE, "exec", "slurm-controller-0", "--", "scontrol", "show", "jobs"),
        ("-n", NAMESPACE, "exec", "slurm-controller-0", "--", "scontrol", "show", "nodes"),
        ("-n", NAMESPACE, "logs", "slurm-controller-0", "-c", "slurmctld", "--tail=80"),
    )

    @classmethod
    def install_all(cls):
        cls.seed = int(os.environ.get("MAINSPRING_SEED", time.time_ns() % 100000))
        print(f"MAINSPRING_SEED={cls.seed} repeats the moments of the kills", flush=True)
        cls.random = random.Random(cls.seed)
        cls.broken = False
        cls.kills = 0
        cls.slurm = ManagedSlurm(CLUSTER)
        cls.slurm.load_images("mariadb")
        cls.slurm.install_operator()
        cls.slurm.install_slurm("-f", str(FILES / "slurm.yaml"))
        cls.slurm.kubectl("-n", NAMESPACE, "apply", "-f", str(MARIADB))
        workloads.install(CLUSTER)
        cls.slurm.wait_ready()
        cls.slurm.slurm("sacctmgr", "-i", "add", "qos", "high", "Preempt=normal", "Priority=100")
        cls.install_bridge()

    @classmethod
    def install_bridge(cls):
        cls.slurm.kubectl("create", "namespace", WORK)
        cls.slurm.kubectl("create", "namespace", SYSTEM)
        restricted = "pod-security.kubernetes.io/enforce=restricted"
        cls.slurm.kubectl("label", "namespace", SYSTEM, restricted)
        answer = cls.slurm.slurm("scontrol", "token", "username=slurm", "lifespan=7200")
        cls.token = answer.strip().removeprefix("SLURM_JWT=")
        cls.slurm.kubectl(
            *("-n", SYSTEM, "create", "secret", "generic", "slurm-bridge-token"),
            f"--from-literal=auth-token={cls.token}",
        )
        cls.slurm.helm(
            *("install", "slurm-bridge", str(CHARTS / "mainspring-bridge"), "--namespace", SYSTEM),
            *("-f", str(FILES / "values.yaml")),
        )
        cls.slurm.kubectl(
            *("-n", SYSTEM, "rollout", "status", "deployment", "--timeout=120s"), timeout=150
        )

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

    # --- the bridge's death

    def kill_bridge_soon(self, within: float = 4, release: bool = True) -> None:
        """SIGKILL in a moment, whatever it is doing then; the Deployment brings another. Every other time
        the lease of the dead is left, as a crash leaves it, and the next has to see it end: always without
        `release`, for where what it asked of Slurm last may take longer than it lives."""
        delay = self.random.uniform(0, within)
        type(self).kills += 1
        killer = threading.Thread(
            target=self.kill_bridge, args=(delay, release and self.kills % 2 == 1)
        )
        killer.start()
        self.killers.append(killer)

    def kill_bridge(self, delay: float, release: bool) -> None:
        time.sleep(delay)
        for pod in self.slurm.get("pods", "-l", BRIDGE, namespace=SYSTEM)["items"]:
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
            holder = self.slurm.get(LEASE, namespace=SYSTEM)["spec"].get("holderIdentity", "")
            cluster = [REPO / "dev" / "cluster", "--name", CLUSTER]
            # A node sees its own processes only. Killed this way it gets no SIGTERM first.
            kill = ["node-exec", node.rpartition("-")[2]]
            # The operator is the same program.
            kill += ["pkill", "-9", "-f", "mainspring [b]ridge"]
            # A new pod starts at once; the kubelet would make the old one wait longer every time.
            delete = ["kubectl", "-n", SYSTEM, "delete", f"pod/{name}"]
            delete += ["--grace-period=0", "--force", "--wait=false"]
            # In the name of the dead and in no other's: the kubelet may have started the container again
            # before its pod was deleted, and that one may lead by now.
            path = "/spec/holderIdentity"
            operations = [{"op": "test", "path": path, "value": holder}]
            operations += [{"op": "replace", "path": path, "value": ""}]
            give_up = ["kubectl", "-n", SYSTEM, "patch", LEASE, "--type=json"]
            give_up += ["-p", json.dumps(operations)]
            for step in [kill, delete] + [give_up] * release:
                subprocess.run(cluster + step, capture_output=True)
            print(f"    bridge killed after {delay:.1f} s", flush=True)

    # --- workloads

    def make(self, kind: str, version: str, name: str, spec: dict, annotations=None) -> None:
        """While the bridge is away its webhook cannot say yes, so this may take a few attempts."""
        annotations = {JOB + key: value for key, value in (annotations or {}).items()}
        meta = {"name": name, "namespace": WORK, "annotations": annotations}
        body = json.dumps({"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec})
        end = time.monotonic() + 120
        while True:
            try:
                self.slurm.kubectl("apply", "--server-side", "-f", "-", stdin=body)
                return
            except Failure:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def make_pod(self, name: str, script: str = "sleep 600", annotations=None, **spec) -> str:
        self.make("Pod", "v1", name, pod_spec(script, **spec), annotations)
        return name

    def make_job(self, name: str, pods: int, script: str, annotations=None) -> str:
        template = {"spec": pod_spec(script)}
        spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template}
        self.make("Job", "batch/v1", name, spec, annotations)
        return name

    def pods(self) -> list[dict]:
        return self.slurm.get("pods", namespace=WORK)["items"]

    def pod(self, name: str) -> dict:
        return self.slurm.get(f"pod/{name}", namespace=WORK)

    def exists(self, name: str) -> bool:
        return name in [pod["metadata"]["name"] for pod in self.pods()]

    def phases(self) -> dict[str, str]:
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in self.pods()}

    def wait_running(self, *names: str) -> list[dict]:
        """These and no others are there, and run."""
        wanted = {name: "Running" for name in names}
        self.eventually(lambda: self.phases() == wanted, lambda: self.phases())
        return sorted(self.pods(), key=lambda pod: pod["metadata"]["name"])

    def running(self) -> dict[str, str]:
        """The pods that run and are to go on, and their UIDs."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in self.pods()
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
        }

    def job_of(self, name: str) -> str:
        return self.pod(name)["metadata"]["labels"][JOB_ID]

    def clear(self, *kinds: str) -> None:
        """Away with everything; then nothing waits, nothing runs, and the books are right."""
        for kind in (*kinds, "jobs.batch", "pods"):
            self.slurm.kubectl("-n", WORK, "delete", kind, "--all", "--wait=false")
        self.eventually(lambda: not self.pods(), lambda: self.phases())
        self.eventually(lambda: not self.live_jobs(), lambda: self.live_jobs())
        self.check_books()

    # --- Slurm

    def submit(self, *options: str, script: str = "sleep 600") -> str:
        """A native job of 100 MiB on the slurmd nodes."""
        output = ("-D", "/tmp", "-o", "/dev/null", "-p", "all", "--mem=100")
        return self.slurm.slurm("sbatch", "--parsable", *output, *options, "--wrap", script).strip()

    def all_jobs(self) -> list[dict]:
        return json.loads(self.slurm.slurm("scontrol", "show", "jobs", "--json"))["jobs"]

    def our_jobs(self) -> list[dict]:
        return [job for job in self.all_jobs() if '"uids"' in job.get("admin_comment", "")]

    def live_jobs(self) -> list[dict]:
        return [job for job in self.our_jobs() if set(job["job_state"]) & LIVE]

    def state(self, job: str) -> str:
        found = {str(one["job_id"]): one["job_state"][0] for one in self.all_jobs()}
        return found[job]

    def wait_for_state(self, job: str, *states: str) -> None:
        self.eventually(lambda: self.state(job) in states, lambda: self.state(job))

    def nodes(self) -> dict[str, dict]:
        answer = json.loads(self.slurm.slurm("scontrol", "show", "nodes", "--json"))
        return {node["name"]: node for node in answer["nodes"]}

    def worker_pod_on(self, node: str) -> dict:
        """That of the slurmd on this Kubernetes node. Slurm calls it by its host name."""
        pods = self.slurm.get("pods", "-l", "app.kubernetes.io/name=slurmd")["items"]
        (pod,) = [pod for pod in pods if pod["spec"]["nodeName"] == node]
        return pod

    def cores_of(self, job: str) -> set[int]:
        """The numbers of the cores that Slurm gave it, all on one node."""
        address = self.slurm.get("service/slurm-restapi")["spec"]["clusterIP"]
        url = f"http://{address}:6820/slurm/v0.0.45/resources/{job}"
        request = urllib.request.Request(url, headers={"X-SLURM-USER-TOKEN": self.token})
        with urllib.request.urlopen(request, timeout=30) as answer:
            (node,) = json.load(answer)["nodes"]
        bits = int(node["core_bitmap"], 16)
        return {core for core in range(bits.bit_length()) if bits >> core & 1}

    def is_drained(self, node: str) -> bool:
        return "DRAIN" in self.nodes()[node]["state"]

    def accounted(self, job: str, field: str) -> str:
        return self.slurm.slurm("sacct", "-n", "-X", "-P", "-j", job, "-o", field).strip()

    def check_books(self) -> None:
        """No pod ever had two jobs at a time. One after the other it may: a gang that loses a member just as
        its job starts gives that up. Slurm keeps asking at once in vain as a job, too."""
        jobs: dict[str, list[dict]] = {}
        for job in filter(lambda job: job["nodes"], self.our_jobs()):
            for uid in json.loads(job["admin_comment"])["uids"]:
                jobs.setdefault(uid, []).append(job)
        for of_pod in jobs.values():
            of_pod.sort(key=lambda job: job["job_id"])
            for earlier, later in zip(of_pod, of_pod[1:]):
                both = f"jobs {earlier['job_id']} and {later['job_id']}"
                self.assertFalse(set(earlier["job_state"]) & LIVE, both)
                end, start = earlier["end_time"]["number"], later["start_time"]["number"]
                self.assertLessEqual(end, start, both)


def pod_spec(script: str = "sleep 600", resources: dict | None = None, **more) -> dict:
    """One CPU to Slurm. To the kubelet less: others have requests on these nodes, too."""
    container = {
        "name": "main",
        "image": "localhost/mainspring/slurmctld:26.05",
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", script],
        "resources": resources or {"requests": {"cpu": "100m", "memory": "32Mi"}},
    }
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [container],
        **more,
    }
