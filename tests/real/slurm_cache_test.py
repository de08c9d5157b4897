"""Our change cache on a real Slurm where jobs and nodes come and go and daemons die: at quiet points
it says what fresh lists say, each object's story was told once and in order, no job went back, and
what the test started and cancelled was told. SLURM_CACHE_TEST_SECONDS makes it last longer than the
minute or so that it takes otherwise."""

import json
import os
import random
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from operator_kube import eventually

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import slurm_conf  # noqa: E402
from msdev.console import Failure  # noqa: E402
from msdev.slurm import SLURM_UID, Instance  # noqa: E402

PROGRAM = REPO / "build" / "debug" / "tests" / "slurm_follow"
SEED, ROUNDS, STEPS = 7, 7, 20
SECONDS = float(os.environ.get("SLURM_CACHE_TEST_SECONDS", 0))


class Follower:
    """The cache, as a process that obeys."""

    def __init__(self, url: str, key: Path, token: Path):
        where = {"SLURM_URL": url, "SLURM_KEY": str(key), "SLURM_TOKEN": str(token)}
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", PROGRAM],
            env={**os.environ, **where},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *words) -> str:
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Operations:
    """What people do to a cluster, by chance, whatever comes of it: some name what is gone, some meet a
    dead daemon. `nodes` are there from the beginning."""

    def __init__(self, instance: Instance, nodes: list[str], partition: str):
        self.instance, self.nodes, self.partition = instance, nodes, partition
        self.endpoint = instance.endpoint()
        self.key = Path(self.endpoint["jwt_key"])
        self.version = self.endpoint["api_versions"][-1]
        self.random = random.Random(SEED)
        self.made = []  # Nodes.
        self.jobs = []
        self.cancelled = []  # Since it was last emptied.

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(
            f"{self.endpoint['url']}/slurm/{self.version}/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "X-SLURM-USER-TOKEN": slurm_conf.token(self.key.read_bytes(), "slurm"),
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError):
            return {}

    def scontrol(self, *words: str) -> None:
        """For what REST cannot do in every version."""
        try:
            self.instance.sandbox.output(["scontrol", *words])
        except Failure:
            pass

    def submit(self) -> None:
        """A job that runs until it is cancelled."""
        job = {
            "name": f"job{len(self.jobs)}",
            "partition": self.partition,
            "cpus_per_task": self.random.choice([1, 1, 4, 32]),
            "memory_per_node": {"set": True, "number": 100},
            "admin_comment": f"key{len(self.jobs)}",
            "hold": self.random.random() < 0.2,
        }
        self.note(self.call("POST", "job/submit", self.as_job(job)))

    def as_job(self, job: dict) -> dict:
        return {"job": {**job, "flags": ["EXTERNAL_JOB"]}}

    def note(self, made: dict) -> None:
        if made.get("job_id"):
            self.jobs.append(made["job_id"])

    @staticmethod
    def with_script(job: dict, script: str) -> dict:
        where = {"current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"]}
        return {"script": f"#!/bin/sh\n{script}\n", "job": {**job, **where}}

    def batch(self) -> None:
        job = {"name": "batch", "partition": "compute", "requeue": True}
        self.note(
            self.call(
                "POST",
                "job/submit",
                self.with_script(job, f"sleep {self.random.choice([0, 1, 2, 30])}"),
            )
        )

    def any_job(self) -> int:
        """Mostly one of the last."""
        return self.random.choice(self.jobs[-12:]) if self.jobs else 1

    def cancel(self) -> None:
        job = self.any_job()
        answer = self.call("DELETE", f"job/{job}")
        if answer and not answer["errors"] and not answer.get("status"):
            self.cancelled.append(job)

    def cancel_many(self) -> None:
        jobs = [str(self.any_job()) for _ in range(3)]
        answer = self.call("DELETE", "jobs/", {"jobs": jobs})
        refused = {
            str(one["step_id"]) for one in answer.get("status") or [] if one["error"]["code"]
        }
        if answer and not answer["errors"]:
            self.cancelled += [int(job) for job in jobs if job not in refused]

    def requeue(self) -> None:
        """Also one that was cancelled, which then lives again."""
        job = self.any_job()
        self.cancelled = [other for other in self.cancelled if other != job]
        self.scontrol("requeue", str(job))

    def release(self) -> None:
        self.call("POST", f"job/{self.any_job()}", {"hold": False})

    def change_node(self) -> None:
        change = self.random.choice(
            [
                {"state": ["DRAIN"], "reason": "test"},
                {"state": ["UNDRAIN"]},
                {"state": ["RESUME"]},
                {"state": ["RESUME"]},
                {"state": ["DOWN"], "reason": "test"},
                {"comment": "x"},
            ]
        )
        self.call("POST", f"node/{self.random.choice(self.nodes + self.made)}", change)

    def create_node(self) -> None:
        name = f"dyn{len(self.made)}"
        self.made.append(name)
        conf = f"NodeName={name} NodeAddr=127.9.9.{len(self.made) % 250} CPUs=8 RealMemory=8000"
        self.create(f"{conf} Feature={self.partition}")

    def create(self, conf: str) -> None:
        self.call("POST", "new/node/", {"node_conf": f"{conf} State=External"})

    def delete_node(self) -> None:
        if self.made:
            self.call("DELETE", f"node/{self.random.choice(self.made)}")

    def reserve(self) -> None:
        name = f"r{self.random.randrange(4)}"
        if self.random.random() < 0.4:
            self.call("DELETE", f"reservation/{name}")
            return
        start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 86_400))
        what = [f"reservation={name}", "users=alice", f"starttime={start}", "duration=5"]
        self.scontrol("create", *what, f"nodes={self.random.choice(self.nodes)}")

    def change_partition(self) -> None:
        state = self.random.choice(["UP", "UP", "DRAIN"])
        self.scontrol("update", "partitionname=all", f"state={state}")

    def make_partition(self) -> None:
        name = f"p{self.random.randrange(3)}"
        if self.random.random() < 0.4:
            self.scontrol("delete", f"partitionname={name}")
        else:
            self.scontrol("create", f"partitionname={name}", f"nodes={self.nodes[0]}")

    def act(self) -> None:
        kinds = [self.submit] * 5 + [self.cancel] * 2 + [self.release] + [self.change_node] * 3
        kinds += [self.create_node, self.delete_node, self.batch, self.batch, self.requeue]
        kinds += [self.cancel_many, self.reserve, self.reserve, self.change_partition]
        kinds += [self.make_partition]
        self.random.choice(kinds)()

    def running(self) -> list[dict]:
        jobs = self.call("GET", "jobs/").get("jobs", [])
        return [job for job in jobs if job["job_state"] == ["RUNNING"]]


class OldOperations(Operations):
    """Of a Slurm without external nodes and jobs, and without node creation by REST."""

    def as_job(self, job: dict) -> dict:
        return self.with_script(job, "sleep 3600")

    def create(self, conf: str) -> None:
        self.scontrol("create", *f"{conf} State=CLOUD".split())


@unittest.skipUnless(os.geteuid() == 0, "dev/slurm needs root")
class SlurmCacheTest(unittest.TestCase):
    def start(self, version: str, *flags: str) -> None:
        self.name = f"test-slurm-cache-{version.replace('.', '')}"
        self.dev_slurm("down")
        self.addCleanup(self.dev_slurm, "down")
        # Jobs are forgotten while we look; by default that takes five minutes.
        self.dev_slurm("up", "--version", version, "--conf", "MinJobAge=20", *flags)
        self.instance = Instance(self.name)
        self.key = Path(self.instance.endpoint()["jwt_key"])
        self.token = self.instance.folder / "token"
        self.write_token(3600)

    def dev_slurm(self, verb: str, *flags: str) -> None:
        command = [REPO / "dev" / "slurm", verb, "--name", self.name, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # Trouble, each of it over when it returns

    def nothing(self) -> None:
        pass

    def kill_slurmctld(self) -> None:
        self.instance.sandbox.kill("slurmctld")
        self.cache.ask("killed")
        # What it had not saved may be lost, also that a job was cancelled.
        self.people.cancelled.clear()
        time.sleep(2)
        self.instance.start_slurmctld(self.instance.plan())

    def kill_slurmrestd(self) -> None:
        self.instance.sandbox.kill("slurmrestd")
        time.sleep(1)
        self.instance.start_slurmrestd(self.instance.plan())

    def reconfigure(self) -> None:
        self.people.call("GET", "reconfigure/")

    def rotate_key(self) -> None:
        new = self.key.with_suffix(".new")
        new.touch(mode=0o600)
        os.chown(new, SLURM_UID, SLURM_UID)
        new.write_bytes(os.urandom(32))
        new.rename(self.key)
        # By hand: no token is good before slurmctld has read the new key.
        self.instance.sandbox.output(["scontrol", "reconfigure"])

    def write_token(self, life: int) -> None:
        text = slurm_conf.token(self.key.read_bytes(), "slurm", life)
        new = self.token.with_suffix(".new")
        new.write_text(text)
        new.rename(self.token)

    def let_token_expire(self) -> None:
        before = int(self.cache.ask("refused"))
        self.write_token(3)
        self.cache.ask("file")
        self.people.submit()
        eventually(lambda: int(self.cache.ask("refused")) > before, "an expired token is refused")
        self.write_token(3600)
        self.people.act()
        self.assertEqual(self.cache.ask("check"), "ok")
        self.cache.ask("key")

    # The whole

    def run_rounds(self, people: Operations) -> None:
        self.people = people
        self.cache = Follower(people.endpoint["url"], self.key, self.token)
        self.addCleanup(self.cache.stop)
        trouble = [self.nothing, self.kill_slurmctld, self.let_token_expire, self.kill_slurmrestd]
        trouble += [self.reconfigure, self.rotate_key, self.kill_slurmctld]
        self.assertEqual(self.cache.ask("check"), "ok")
        end, number = time.monotonic() + SECONDS, 0
        while number < ROUNDS or time.monotonic() < end:
            for step in range(STEPS):
                people.act()
                time.sleep(people.random.random() * 0.2)
                if step == STEPS // 2:
                    trouble[number % len(trouble)]()
            self.check_quiet_point(f"round {number}")
            number += 1
        self.assertEqual(self.cache.ask("end"), "ok")

    def check_quiet_point(self, where: str) -> None:
        now = time.time()
        self.assertEqual(self.cache.ask("check"), "ok", where)
        started = [
            job["job_id"] for job in self.people.running() if job["start_time"]["number"] < now - 1
        ]
        self.assertEqual(self.cache.ask("started", *started), "ok", f"{where}: starts not told")
        ended = self.cache.ask("ended", *self.people.cancelled)
        self.assertEqual(ended, "ok", f"{where}: ends not told")
        self.people.cancelled.clear()

    def test_the_cache_agrees_with_slurm_26_05_whatever_happens(self):
        self.start("26.05", "--nodes", "1", "--external", "6")
        nodes = ["node1", *(f"ext{number}" for number in range(1, 7))]
        self.run_rounds(Operations(self.instance, nodes, "external"))

    def test_the_cache_agrees_with_slurm_24_11_whatever_happens(self):
        self.start("24.11", "--nodes", "3")
        self.run_rounds(OldOperations(self.instance, ["node1", "node2", "node3"], "compute"))


if __name__ == "__main__":
    unittest.main()
