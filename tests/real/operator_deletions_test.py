"""Three hundred workers that are to go in the same moment: a NodeSet is scaled to none and another one is
deleted. The limit holds and says so, who has a job stays, and the rest of the work goes on meanwhile."""

import unittest

from operator_harness import OperatorTest
from operator_kube import PATIENCE

LIMIT = 100  # Of deletions a minute.
BUSY = 3  # Workers of each NodeSet with a slurmd and a job.
MANY = 4  # Times the usual patience: one thread plays the kubelet of them all.


class OperatorDeletionsTest(OperatorTest):
    cluster = "test-op-deletions"
    flags = (f"--deletions-per-minute={LIMIT}",)

    def pods(self, name: str = "") -> dict[str, dict]:
        """Hundreds, looked at for minutes."""
        return self.watched_pods(name)

    def begin(self, name: str, replicas: int, busy: int = 0):
        """A NodeSet. The first of its workers have a slurmd, the others no more than a record."""
        for n in range(busy):
            self.slurm.start_worker(f"{name}-{n}", name)
        self.slurm.create_nodes(f"{name}-[{busy}-{replicas - 1}]")
        self.nodeset(replicas, name=name)

    def left(self) -> dict[str, str]:
        """The workers that were to go and are there, with their UIDs."""
        return {
            name: pod["metadata"]["uid"]
            for letter in "vw"
            for name, pod in self.pods(f"{self.ns}{letter}").items()
        }

    def moments(self, verb: str, prefix: str) -> list[str]:
        """When the operator did so to its pods."""
        return [
            write["requestReceivedTimestamp"]
            for write in self.writes("pods")
            if write["verb"] == verb and write["objectRef"].get("name", "").startswith(prefix)
        ]

    def test_300_deletions_in_one_go(self):
        self.kubelet.without_slurm.add(self.ns)
        self.controller()
        scaled, deleted, other = (f"{self.ns}{letter}" for letter in "wvn")
        self.begin(scaled, 200, BUSY)
        self.begin(deleted, 100, BUSY)
        self.wait_idle(scaled, 200, MANY * PATIENCE)
        self.wait_idle(deleted, 100, MANY * PATIENCE)
        busy = {f"{name}-{n}" for name in (scaled, deleted) for n in range(BUSY)}
        jobs = [self.slurm.run_job(name) for name in busy]
        before = self.left()

        self.api.spec("NodeSet", self.ns, scaled, replicas=0)
        self.api.delete("NodeSet", self.ns, deleted)
        self.begin(other, 3)
        self.wait_idle(other, 3)
        self.wait(lambda: self.api.events(self.ns, "DeletionsLimited"), "it says that it stops")
        self.wait(
            lambda: set(self.left()) == busy,
            lambda: f"all go but {busy}: {len(self.left())} are left",
            300 / LIMIT * 60 + MANY * PATIENCE,
        )
        self.stays(lambda: self.left() == {name: before[name] for name in busy}, "the busy stay", 5)
        for job in jobs:
            self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
        # What was asked for last did not have to wait until all others were gone.
        made, gone = self.moments("create", other), self.moments("delete", scaled)
        self.assertLess(max(made), max(gone))
        for job in jobs:
            self.slurm.cancel(job)
        self.wait(lambda: not self.left(), lambda: f"they go after their jobs: {self.left()}")
        self.wait(lambda: not self.api.find("NodeSet", self.ns, deleted), "the NodeSet goes")
        self.assertEqual(len(self.pods(other)), 3)


if __name__ == "__main__":
    unittest.main()
