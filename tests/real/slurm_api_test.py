"""Every verb of our Slurm client against real daemons, new and old."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PROGRAM = REPO / "build" / "debug" / "tests" / "slurm_api"
NEW, OLD = "test-api-26", "test-api-24"
# A few seconds, alone. Nothing here is about time, so on a machine full of compilers and other
# clusters everybody is patient: the daemons with each other too, which give up after 10 s otherwise.
PATIENCE = 900
PATIENT = ("--conf", "MessageTimeout=60", "--conf", "BatchStartTimeout=60")


def dev_slurm(*arguments: str) -> str:
    done = subprocess.run(
        [REPO / "dev" / "slurm", *arguments], capture_output=True, text=True, timeout=600
    )
    if done.returncode != 0:
        raise AssertionError(f"dev/slurm {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


class SlurmApiTest(unittest.TestCase):
    def tearDown(self):
        dev_slurm("down", "--name", NEW)
        dev_slurm("down", "--name", OLD)

    setUp = tearDown

    def run_cases(self, name: str):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "endpoint.json").write_text(dev_slurm("endpoint", "--name", name))
        environment = {**os.environ, "SLURM_ENDPOINT": str(folder / "endpoint.json")}
        done = subprocess.run([PROGRAM], env=environment, timeout=PATIENCE)
        if done.returncode != 0:
            self.fail(f"{PROGRAM.name} ended with {done.returncode}\n{self.last_words(name)}")

    def last_words(self, name: str) -> str:
        """What the daemons said last: they are gone when somebody reads of a failure."""
        said = {each: dev_slurm("logs", "--name", name, each) for each in ("slurmctld", "slurmdbd")}
        return "\n".join(
            f"{each}:\n" + "\n".join(text.splitlines()[-80:]) for each, text in said.items()
        )

    def test_the_newest(self):
        dev_slurm(
            "up", "--name", NEW, "--nodes", "2", "--external", "2", "--gpus", "2", "--accounting",
            "--conf", "Licenses=matlab:5", *PATIENT,
        )  # fmt: skip
        self.run_cases(NEW)

    def test_the_oldest(self):
        dev_slurm(
            "up", "--name", OLD, "--version", "24.11", "--nodes", "2", "--accounting", *PATIENT
        )
        self.run_cases(OLD)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
