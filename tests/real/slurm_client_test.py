"""The core of our Slurm client against real slurmrestd and slurmctld, 26.05 and 24.11."""

import json
import os
import subprocess
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PROGRAM = REPO / "build" / "debug" / "tests" / "slurm_client"


def dev_slurm(*arguments: str) -> str:
    argv = [str(REPO / "dev" / "slurm"), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)}:\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(os.geteuid() == 0, "dev/slurm needs root")
class SlurmClientTest(unittest.TestCase):
    def check(self, version: str, *options: str):
        name = "test-client-" + version.replace(".", "")
        self.addCleanup(dev_slurm, "down", "--name", name)
        dev_slurm("up", "--name", name, "--version", version, "--nodes", "1", *options)
        endpoint = json.loads(dev_slurm("endpoint", "--name", name))
        environment = {
            **os.environ,
            "SLURM_URL": endpoint["url"],
            "SLURM_KEY": endpoint["jwt_key"],
            "SLURM_API": endpoint["api_versions"][-1],
        }

        def run(suite: str):
            argv = [PROGRAM, f"--gtest_filter={suite}.*"]
            self.assertEqual(subprocess.run(argv, env=environment, timeout=300).returncode, 0)

        run("SlurmClient")
        dev_slurm("exec", "--name", name, "pkill", "-9", "slurmctld")
        run("SlurmctldAway")
        dev_slurm("exec", "--name", name, "pkill", "-9", "slurmrestd")
        run("SlurmrestdAway")

    def test_the_newest_slurm(self):
        self.check("26.05", "--external", "1")

    def test_the_oldest_slurm(self):
        self.check("24.11")


if __name__ == "__main__":
    unittest.main()
