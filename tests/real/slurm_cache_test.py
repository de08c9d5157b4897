"""Our change cache on a real Slurm where jobs and nodes come and go and daemons die: at quiet points
it says what a fresh list says, and each object's story was told once and in order."""

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

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import slurm_conf  # noqa: E402
from msdev.slurm import SLURM_UID, Instance  # noqa: E402

NAME = "test-slurm-cache"
PROGRAM = REPO / "build" / "debug" / "tests" / "slurm_follow"
SEED, ROUNDS, STEPS = 7, 6, 25


@unittest.skipUnless(os.geteuid() == 0, "dev/slurm needs root")
class SlurmCacheTest(unittest.TestCase):
    def setUp(self):
        self.dev_slurm("down")
        self.addCleanup(self.dev_slurm, "down")
        # Jobs are forgotten while we look; by default that takes five minutes.
        self.dev_slurm("up", "--nodes", "1", "--external", "6", "--conf", "MinJobAge=20")
        self.instance = Instance(NAME)
        self.endpoint = self.instance.endpoint()
        self.key = Path(self.endpoint["jwt_key"])
        self.random = random.Random(SEED)
        self.jobs, self.nodes = [], []

    def dev_slurm(self, verb: str, *flags: str) -> None:
        command = [REPO / "dev" / "slurm", verb, "--name", NAME, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        """Whatever comes of it: some calls name what is gone, some meet a dead daemon."""
        request = urllib.request.Request(
            f"{self.endpoint['url']}/slurm/v0.0.45/{path}",
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

    def submit(self) -> None:
        job = {
            "name": f"job{len(self.jobs)}",
            "partition": "external",
            "flags": ["EXTERNAL_JOB"],
            "cpus_per_task": self.random.choice([1, 4, 32]),
            "memory_per_node": {"set": True, "number": 1000},
            "admin_comment": f"key{len(self.jobs)}",
            "hold": self.random.random() < 0.2,
        }
        made = self.call("POST", "job/submit", {"job": job})
        if "job_id" in made:
            self.jobs.append(made["job_id"])

    def batch(self) -> None:
        job = {
            "name": "batch",
            "partition": "compute",
            "current_working_directory": "/tmp",
            "environment": ["PATH=/usr/bin:/bin"],
        }
        script = f"#!/bin/sh\nsleep {self.random.randrange(3)}\n"
        self.call("POST", "job/submit", {"script": script, "job": job})

    def cancel(self) -> None:
        if self.jobs:
            self.call("DELETE", f"job/{self.random.choice(self.jobs)}")

    def release(self) -> None:
        if self.jobs:
            self.call("POST", f"job/{self.random.choice(self.jobs)}", {"hold": False})

    def change_node(self) -> None:
        change = self.random.choice(
            [{"state": ["DRAIN"], "reason": "test"}, {"state": ["UNDRAIN"]}, {"comment": "x"}]
        )
        self.call("POST", f"node/ext{self.random.randrange(1, 7)}", change)

    def create_node(self) -> None:
        name = f"dyn{len(self.nodes)}"
        self.nodes.append(name)
        conf = f"NodeName={name} NodeAddr=127.9.9.{len(self.nodes)} CPUs=8 RealMemory=8000"
        self.call("POST", "new/node/", {"node_conf": f"{conf} Feature=external State=External"})

    def delete_node(self) -> None:
        if self.nodes:
            self.call("DELETE", f"node/{self.random.choice(self.nodes)}")

    def reserve(self) -> None:
        start = {"set": True, "number": int(time.time()) + 86_400}
        body = {"name": f"r{self.random.randrange(4)}", "users": ["alice"], "start_time": start}
        body |= {"node_list": ["node1"], "duration": {"set": True, "number": 5}}
        self.call("POST", "reservation", body)

    def act(self) -> None:
        kinds = [self.submit] * 5 + [self.cancel] * 3 + [self.release, self.change_node]
        kinds += [self.change_node, self.create_node, self.delete_node, self.batch, self.reserve]
        self.random.choice(kinds)()

    def kill_slurmctld(self) -> None:
        self.instance.sandbox.kill("slurmctld")
        time.sleep(2)
        self.instance.start_slurmctld(self.instance.plan())

    def kill_slurmrestd(self) -> None:
        self.instance.sandbox.kill("slurmrestd")
        time.sleep(1)
        self.instance.start_slurmrestd(self.instance.plan())

    def reconfigure(self) -> None:
        self.call("GET", "reconfigure/")

    def rotate_key(self) -> None:
        new = self.key.with_suffix(".new")
        new.touch(mode=0o600)
        os.chown(new, SLURM_UID, SLURM_UID)
        new.write_bytes(os.urandom(32))
        new.rename(self.key)
        self.reconfigure_by_hand()

    def reconfigure_by_hand(self) -> None:
        # No token is good before slurmctld has read the new key.
        self.instance.sandbox.output(["scontrol", "reconfigure"])

    def test_the_cache_agrees_with_slurm_whatever_happens(self):
        cache = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", PROGRAM],
            env={**os.environ, "SLURM_URL": self.endpoint["url"], "SLURM_KEY": str(self.key)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(cache.stdout.close)
        self.addCleanup(cache.wait)
        self.addCleanup(cache.kill)

        def ask(word: str) -> str:
            print(word, file=cache.stdin, flush=True)
            return cache.stdout.readline().strip()

        trouble = [
            lambda: None,
            self.kill_slurmctld,
            self.kill_slurmrestd,
            self.reconfigure,
            self.rotate_key,
            self.kill_slurmctld,
        ]
        self.assertEqual(ask("check"), "ok")
        for number in range(ROUNDS):
            for step in range(STEPS):
                self.act()
                time.sleep(self.random.random() * 0.3)
                if step == STEPS // 2:
                    trouble[number % len(trouble)]()
            self.assertEqual(ask("check"), "ok", f"round {number}")
        self.assertEqual(ask("end"), "ok")
        cache.stdin.close()


if __name__ == "__main__":
    unittest.main()
