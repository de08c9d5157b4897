"""End to end: the ways of running Slurm that an ordinary cluster does not show, with real pods.

Three clusters side by side, each in a namespace of its own: two slurmctld that share their state; a
slurmctld that the operator does not manage; and one that takes new files up in place, has workers
that people log in to by ssh, and in the end loses its state.
"""

import base64
import json
import os
import secrets
import unittest

from cluster_case import REPO, ClusterCase, is_protected

from msdev.console import Failure
from msdev.managed_slurm import ManagedSlurm

CLUSTER = os.environ.get("MAINSPRING_E2E_CLUSTER", "test-modes")
FILES = REPO / "tests" / "e2e" / "operator_modes"
WORKERS = "app.kubernetes.io/name=slurmd"
ACTIVE = "controller.slinky.slurm.net/active"
SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
# While it stands still nothing saves the state again, and killed it saves nothing on its way out.
LOSE_STATE = """
kill -STOP $(pidof slurmctld)
rm -rf /var/spool/slurmctld/*/*
kill -KILL $(pidof slurmctld)
"""


class Slurm(ManagedSlurm):
    """One cluster: where slurmctld is asked, and what its workers, nodes and jobs are."""

    controller = "slurm-controller-0"

    def slurm(self, *command: str) -> str:
        return self.inside(self.namespace, self.controller, "slurmctld", *command)

    def install(self) -> None:
        self.install_slurm("-f", str(FILES / f"{self.namespace}.yaml"))

    def submit(self, *options: str, script: str = "hostname") -> str:
        output = ("-D", "/tmp", "-o", "/dev/null")
        return self.slurm("sbatch", "--parsable", *output, *options, "--wrap", script).strip()

    def state(self, job: str) -> str:
        answer = json.loads(self.slurm("scontrol", "show", "job", job, "--json"))
        return answer["jobs"][0]["job_state"][0]

    def pods(self, selector: str = WORKERS) -> list[dict]:
        return self.get("pods", "-l", selector)["items"]

    def uids(self, selector: str = WORKERS) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(selector)}

    def worker(self, number: int, *command: str) -> str:
        return self.inside(self.namespace, f"slurm-worker-main-{number}", "slurmd", *command)

    def condition(self, what: str, kind: str) -> dict:
        conditions = self.get(what)["status"]["conditions"]
        return next(one for one in conditions if one["type"] == kind)


class OperatorModesTest(ClusterCase):
    cluster_name = CLUSTER
    explanations = (
        *ClusterCase.explanations,
        *(
            ("-n", "pair", "logs", f"slurm-controller-{number}", "-c", "slurmctld", "--tail=80")
            for number in range(2)
        ),
    )

    @classmethod
    def install_all(cls):
        cls.pair, cls.hybrid, cls.single = (
            Slurm(CLUSTER, namespace) for namespace in ("pair", "hybrid", "single")
        )
        cls.slurm = cls.pair
        cls.pair.load_images()
        cls.pair.install_operator()
        cls.hybrid.controller = "slurmctld"
        cls.hybrid._make_namespace("hybrid", "privileged")
        keys = {key: cls.key() for key in ("slurm.key", "jwt.key")}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "data": keys}
        cls.hybrid.kubectl("-n", "hybrid", "apply", "-f", "-", stdin=json.dumps(secret))
        cls.hybrid.kubectl("-n", "hybrid", "apply", "-f", str(FILES / "slurmctld.yaml"))
        for slurm in (cls.single, cls.pair, cls.hybrid):
            slurm.install()
        for slurm in (cls.single, cls.pair, cls.hybrid):
            slurm.wait_ready()

    @staticmethod
    def key() -> str:
        return base64.b64encode(base64.b64encode(secrets.token_bytes(512))).decode()

    # --- a slurmctld that takes new files up in place, and workers with ssh

    def test_01_new_settings_are_taken_up_in_place_and_the_status_says_when(self):
        slurm = self.single
        controllers, workers = slurm.uids("app.kubernetes.io/name=slurmctld"), slurm.uids()
        before = self.config(slurm)
        job = slurm.submit(script="sleep 20")
        self.eventually(lambda: slurm.state(job) == "RUNNING")
        self.add_conf(slurm, "KillWait=37\nHealthCheckInterval=3600")
        self.eventually(lambda: self.config(slurm)["hash"] != before["hash"])
        self.eventually(lambda: self.config(slurm)["state"] == "Applied")
        after = self.config(slurm)
        self.assertEqual(after["method"], "Reconfigure")
        self.assertGreater(after["appliedAt"], before["appliedAt"])
        # Applied is applied: nothing is waited for here.
        self.assertRegex(slurm.slurm("scontrol", "show", "config"), r"KillWait +=\s*37 sec")
        self.eventually(lambda: "KillWait=37" in slurm.worker(0, "sh", "-c", self.cached_conf()))
        self.assertEqual(slurm.uids("app.kubernetes.io/name=slurmctld"), controllers)
        self.assertEqual(slurm.uids(), workers)
        self.eventually(lambda: slurm.state(job) == "COMPLETED")

    def test_02_users_log_in_to_the_worker_that_runs_their_job_and_to_no_other(self):
        slurm = self.single
        spec = slurm.get("pod/slurm-worker-main-0")["spec"]["containers"][0]
        self.assertFalse(spec["securityContext"]["privileged"])
        keys = "mkdir -m 700 .ssh && ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 && "
        self.as_alice(1, keys + "cp .ssh/id_ed25519.pub .ssh/authorized_keys")
        with self.assertRaises(Failure):
            self.as_alice(1, f"{SSH} main-0 true")
        job = self.as_alice(1, "sbatch --parsable -w main-0 --wrap 'sleep 60'").strip()
        self.eventually(lambda: slurm.state(job) == "RUNNING")
        self.eventually(lambda: self.as_alice(1, f"{SSH} main-0 hostname").split() == ["main-0"])
        # The operator knows of it, so that it will know of its end, too: workers with jobs are spared.
        self.eventually(lambda: self.states(slurm) != ["SlurmNodeStateIdle"] * 2)
        slurm.slurm("scancel", job)

    def test_03_the_state_of_slurmctld_is_lost(self):
        """What comes of it is looked at later: workers are given time."""
        slurm = self.single
        self.eventually(lambda: self.states(slurm) == ["SlurmNodeStateIdle"] * 2)
        self.eventually(lambda: not any(map(is_protected, slurm.pods())))
        type(self).forgotten = slurm.uids()
        try:
            slurm.slurm("sh", "-c", LOSE_STATE)
        except Failure:
            pass  # The container ends under the command.
        self.eventually(lambda: slurm.slurm("sinfo", "-h", "-N") == "")

    # --- a slurmctld that the operator does not manage

    def test_04_workers_join_a_slurmctld_that_runs_elsewhere(self):
        slurm = self.hybrid
        self.assertEqual(slurm.get("statefulsets")["items"], [])
        self.assertEqual(slurm.usable_nodes(), ["main-0", "main-1"])
        job = slurm.submit("-N2", script="srun hostname")
        self.eventually(lambda: slurm.state(job) == "COMPLETED")
        # The operator speaks to it: by what it does.
        pod = ("-n", "hybrid", "annotate", "pod/slurm-worker-main-0")
        slurm.kubectl(*pod, "nodeset.slinky.slurm.net/pod-cordon=true")
        self.eventually(lambda: slurm.usable_nodes() == ["main-1"])
        slurm.kubectl(*pod, "nodeset.slinky.slurm.net/pod-cordon-")
        self.eventually(lambda: slurm.usable_nodes() == ["main-0", "main-1"])

    # --- two slurmctld with one state

    def test_05_the_backup_takes_over_and_no_job_notices(self):
        slurm = self.pair
        self.assertEqual(self.responding(slurm), ["slurm-controller-0", "slurm-controller-1"])
        primary = slurm.get("pod/slurm-controller-0")
        node = primary["spec"]["nodeName"]
        worker = next(p for p in slurm.pods() if p["spec"]["nodeName"] != node)["spec"]["hostname"]
        job = slurm.submit("-w", worker, script="sleep 45")
        self.eventually(lambda: slurm.state(job) == "RUNNING")
        # Its node takes no pod, and the other node has a slurmctld already: it cannot come back.
        slurm.kubectl("cordon", node)
        self.addCleanup(slurm.kubectl, "uncordon", node)
        slurm.kubectl("-n", "pair", "delete", "pod", "slurm-controller-0", "--wait=false")
        slurm.controller = "slurm-controller-1"
        self.eventually(lambda: self.responding(slurm) == ["slurm-controller-1"])
        self.eventually(lambda: self.active(slurm) == ["slurm-controller-1"])
        self.eventually(lambda: slurm.state(job) == "RUNNING")
        second = slurm.submit("-w", worker)
        self.eventually(lambda: slurm.state(second) == "COMPLETED")
        # By REST: a node is drained through it.
        self.eventually(
            lambda: slurm.condition("controller/slurm", "SlurmReachable")["status"] == "True"
        )
        pod = next(p for p in slurm.pods() if p["spec"]["hostname"] == worker)["metadata"]["name"]
        annotate = ("-n", "pair", "annotate", f"pod/{pod}")
        slurm.kubectl(*annotate, "nodeset.slinky.slurm.net/pod-cordon=true")
        self.eventually(lambda: worker not in slurm.usable_nodes())
        slurm.kubectl(*annotate, "nodeset.slinky.slurm.net/pod-cordon-")
        self.eventually(lambda: slurm.state(job) == "COMPLETED")
        slurm.kubectl("uncordon", node)
        self.eventually(lambda: self.active(slurm) == ["slurm-controller-0"])
        # The first reads the state while the backup still saves it, and may find no node in it: then idle
        # workers register anew after two minutes (docs/operator-config.md).
        self.eventually(lambda: len(slurm.usable_nodes()) == 2, patience=300)

    # --- and the one that lost its state

    def test_06_workers_that_were_forgotten_register_anew(self):
        slurm = self.single
        self.assertTrue(hasattr(self, "forgotten"), "the state was not lost")
        self.eventually(lambda: len(slurm.usable_nodes()) == 2, patience=300)
        self.assertFalse(self.forgotten & slurm.uids())
        job = slurm.submit("-N2", script="srun hostname")
        self.eventually(lambda: slurm.state(job) == "COMPLETED")

    # --- how it is done

    def config(self, slurm: Slurm) -> dict:
        return slurm.get("controller/slurm")["status"]["config"]

    def add_conf(self, slurm: Slurm, lines: str) -> None:
        before = slurm.get("controller/slurm")["spec"]["extraConf"]
        patch = {"spec": {"extraConf": f"{before}\n{lines}\n"}}
        what = ("-n", slurm.namespace, "patch", "controller/slurm", "--type=merge")
        slurm.kubectl(*what, "-p", json.dumps(patch))

    def cached_conf(self) -> str:
        """Of a slurmd without files of its own."""
        return "cat /run/slurm/conf/slurm.conf /var/spool/slurmd/conf-cache/slurm.conf 2>&1 || true"

    def as_alice(self, worker: int, command: str) -> str:
        return self.single.worker(worker, "runuser", "-l", "alice", "-c", command)

    def states(self, slurm: Slurm) -> list[str]:
        return sorted(
            condition["type"]
            for pod in slurm.pods()
            for condition in pod["status"]["conditions"]
            if condition["type"].startswith("SlurmNodeState")
        )

    def responding(self, slurm: Slurm) -> list[str]:
        lines = slurm.slurm("scontrol", "ping").splitlines()
        return sorted(line.split()[2] for line in lines if line.endswith(" UP"))

    def active(self, slurm: Slurm) -> list[str]:
        pods = slurm.pods(f"app.kubernetes.io/name=slurmctld,{ACTIVE}=true")
        return [pod["metadata"]["name"] for pod in pods]


if __name__ == "__main__":
    unittest.main()
