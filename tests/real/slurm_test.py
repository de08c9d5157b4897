"""dev/slurm against real daemons: it starts them, they work, and nothing of them is left."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
import urllib.request
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.process import start_time, wait_for  # noqa: E402
from msdev.slurm import FOLDER, Instance  # noqa: E402
from msdev import slurm_conf  # noqa: E402

PATIENCE = 60.0  # Nothing here takes that long; a broken daemon is found after this time.
NAMES = ("test-one", "test-two", "test-broken")


def dev_slurm(*arguments, check: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [REPO / "dev" / "slurm", *arguments], capture_output=True, text=True, timeout=900
    )
    if check and done.returncode != 0:
        raise AssertionError(f"dev/slurm {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done


def remove_all() -> None:
    for name in NAMES:
        dev_slurm("down", "--name", name)


class Rest:
    """A client as simple as can be of one instance."""

    def __init__(self, name: str):
        self.endpoint = json.loads(dev_slurm("endpoint", "--name", name).stdout)
        self.version = self.endpoint["api_versions"][-1]

    def call(self, method: str, path: str, body: dict | None = None, user: str = "slurm") -> dict:
        request = urllib.request.Request(
            f"{self.endpoint['url']}/slurm/{self.version}/{path}",
            method=method,
            data=json.dumps(body).encode() if body else None,
            headers={
                "X-SLURM-USER-TOKEN": self.endpoint["tokens"][user],
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def job_state(self, job: int) -> list[str]:
        return self.call("GET", f"job/{job}")["jobs"][0]["job_state"]


def traces() -> dict[str, set]:
    """What our instances could leave on the machine. What bears no name is looked for
    by machine_test.py."""
    return {
        "processes": {pid for name in NAMES for pid in Instance(name).sandbox.processes()},
        "slurm programs": {pid for pid in _pids() if _runs_slurm(pid)},
        "mounts": {
            line
            for line in Path("/proc/self/mounts").read_text().splitlines()
            if any(f"{FOLDER}/{name}/" in line for name in NAMES)
        },
        "folders": {name for name in NAMES if (FOLDER / name).exists()},
    }


def _pids() -> list[int]:
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if start_time(pid) is not None]


def _runs_slurm(pid: int) -> bool:
    """Of our instances: a Slurm that belongs to pods has another root."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        mounts = Path(f"/proc/{pid}/mountinfo").read_text()
    except OSError:
        return False
    return name.startswith(("slurm", "mariadbd")) and any(
        f"/slurm/{own}/" in mounts for own in NAMES
    )


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        remove_all()

    def setUp(self):
        self.before = traces()

    def tearDown(self):
        remove_all()
        left = {kind: found - self.before[kind] for kind, found in traces().items()}
        self.assertEqual(left, {kind: set() for kind in left})

    def wait_for_state(self, rest: Rest, job: int, state: str) -> None:
        reached = wait_for(lambda: state in rest.job_state(job), PATIENCE, every=0.1)
        self.assertTrue(reached, f"job {job} is {rest.job_state(job)}, not {state}")

    def test_nodes_and_rest_and_external_jobs_work(self):
        dev_slurm("up", "--name", "test-one", "--nodes", "2", "--external", "1")
        rest = Rest("test-one")

        self.assertEqual(rest.version, "v0.0.45")
        self.assertEqual(rest.call("GET", "ping")["pings"][0]["responding"], True)

        said = dev_slurm("exec", "--name", "test-one", "--user", "alice", "srun", "-N2", "hostname")
        self.assertEqual(sorted(said.stdout.split()), ["node1", "node2"])
        said = dev_slurm("exec", "--name", "test-one", "--user", "alice", "srun", "id", "-un")
        self.assertEqual(said.stdout.strip(), "alice")

        external = {"flags": ["EXTERNAL_JOB"], "partition": "external", "name": "held"}
        job = rest.call("POST", "job/submit", {"job": external}, user="alice")["job_id"]
        self.wait_for_state(rest, job, "RUNNING")
        self.assertEqual(rest.call("GET", f"job/{job}")["jobs"][0]["nodes"], "ext1")
        rest.call("DELETE", f"job/{job}")
        self.wait_for_state(rest, job, "CANCELLED")

        address = rest.call("GET", "node/ext1")["nodes"][0]["address"]
        self.assertTrue(address.startswith("127."), address)

        again = dev_slurm("up", "--name", "test-one", "--nodes", "2", "--external", "1")
        self.assertIn(rest.endpoint["token"], again.stdout)
        refused = dev_slurm("up", "--name", "test-one", "--nodes", "3", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("other options", refused.stderr)

    def test_two_versions_run_side_by_side(self):
        dev_slurm("up", "--name", "test-one", "--nodes", "1", "--gpus", "2")
        dev_slurm("up", "--name", "test-two", "--nodes", "1", "--version", "24.11")
        for name, version, api in (
            ("test-one", "26.05", "v0.0.45"),
            ("test-two", "24.11", "v0.0.42"),
        ):
            rest = Rest(name)
            self.assertEqual((rest.endpoint["version"], rest.version), (version, api))
            self.assertEqual(rest.call("GET", "ping")["pings"][0]["responding"], True)
            said = dev_slurm("exec", "--name", name, "srun", "--version")
            self.assertIn(version, said.stdout)
            dev_slurm("exec", "--name", name, "--user", "alice", "srun", "true")
        asked = ("srun", "--gres=gpu:2", "printenv", "CUDA_VISIBLE_DEVICES")
        said = dev_slurm("exec", "--name", "test-one", "--user", "alice", *asked)
        self.assertEqual(said.stdout.strip(), "0,1")

        dev_slurm("down", "--name", "test-one")
        self.assertEqual(Rest("test-two").call("GET", "ping")["pings"][0]["responding"], True)

    def test_accounting_remembers_jobs(self):
        dev_slurm("up", "--name", "test-one", "--nodes", "1", "--accounting")
        dev_slurm(
            "exec", "--name", "test-one", "--user", "alice", "srun", "--job-name=kept", "true"
        )
        ask = ("sacct", "-a", "-X", "-n", "-P", "-o", "JobName,User,Account,State")

        def answer() -> str:
            return dev_slurm("exec", "--name", "test-one", *ask).stdout.strip()

        wait_for(lambda: answer().endswith("COMPLETED"), PATIENCE, every=0.5)
        self.assertEqual(answer(), "kept|alice|test|COMPLETED")

    def test_an_interrupted_start_is_repaired_or_removed(self):
        for seconds in (0.2, 0.6, 1.2):
            with self.subTest(seconds=seconds):
                command = [REPO / "dev" / "slurm", "up", "--name", "test-broken", "--nodes", "1"]
                child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                time.sleep(seconds)  # Where exactly it is interrupted does not matter.
                child.send_signal(signal.SIGKILL)
                child.wait()
                if seconds > 1:
                    dev_slurm("up", "--name", "test-broken", "--nodes", "1")
                    said = dev_slurm("exec", "--name", "test-broken", "srun", "hostname")
                    self.assertEqual(said.stdout.strip(), "node1")
                dev_slurm("down", "--name", "test-broken")
                self.assertEqual(Instance("test-broken").sandbox.processes(), [])
                self.assertFalse((FOLDER / "test-broken").exists())

    def test_a_dead_daemon_is_seen_and_up_repairs_it(self):
        dev_slurm("up", "--name", "test-one", "--nodes", "1")
        dev_slurm("exec", "--name", "test-one", "pkill", "slurmctld")
        instance = Instance("test-one")
        self.assertTrue(wait_for(lambda: not instance.is_up(), PATIENCE))
        self.assertIn("not up", dev_slurm("status").stdout)
        dev_slurm("up", "--name", "test-one", "--nodes", "1")
        self.assertTrue(instance.is_up())

    def test_impossible_wishes_are_explained(self):
        for wish, answer in (
            (("up", "--version", "24.11", "--external", "1"), "no external nodes"),
            (("up", "--nodes", "1000"), "choose 0 to 250"),
            (("up", "--name", "No/Good"), "lower-case letters"),
            (("endpoint", "--name", "test-one"), "not up"),
            (("exec", "--name", "test-one", "sinfo"), "not up"),
            (("logs", "--name", "test-one", "nobody"), "choose one of the logs"),
        ):
            with self.subTest(wish=wish):
                refused = dev_slurm(*wish, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(answer, refused.stderr)
                self.assertNotIn("Traceback", refused.stderr)


class PlanTest(unittest.TestCase):
    def plan(self, **changes) -> slurm_conf.Plan:
        usual = {"name": "x", "version": "26.05", "index": 1, "nodes": 2, "external": 0, "gpus": 0}
        return slurm_conf.Plan(**usual | {"accounting": False, "lines": ()} | changes)

    def test_external_nodes_are_made_in_ranges_of_one_subnet(self):
        made = slurm_conf.external_nodes(self.plan(external=501))
        self.assertEqual(
            [words[0] for words in made],
            ["NodeName=ext[1-250]", "NodeName=ext[251-500]", "NodeName=ext501"],
        )
        self.assertEqual(
            [words[1] for words in made],
            ["NodeAddr=127.65.0.[1-250]", "NodeAddr=127.65.1.[1-250]", "NodeAddr=127.65.2.1"],
        )

    def test_nodes_with_gpus_are_made_one_by_one(self):
        made = slurm_conf.external_nodes(self.plan(external=3, gpus=8))
        self.assertEqual(
            [words[0] for words in made], ["NodeName=ext1", "NodeName=ext2", "NodeName=ext3"]
        )

    def test_no_address_is_outside_the_loopback(self):
        last = self.plan(index=slurm_conf.MAX_INSTANCES, external=slurm_conf.MAX_EXTERNAL)
        self.assertEqual(last.external_address(slurm_conf.MAX_EXTERNAL), "127.109.199.250")

    def test_ports_of_instances_do_not_overlap(self):
        plans = [self.plan(index=i, nodes=slurm_conf.MAX_NODES) for i in (1, 2, 3)]
        ports = [port for plan in plans for port in plan.ports]
        self.assertEqual(len(ports), len(set(ports)))
        last = self.plan(index=slurm_conf.MAX_INSTANCES, nodes=slurm_conf.MAX_NODES)
        self.assertLess(max(last.ports), 32768)


if __name__ == "__main__":
    unittest.main(verbosity=2)
