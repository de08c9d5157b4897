#!/usr/bin/python3
"""Clusters and Slurm leave nothing behind anywhere on the machine: looked for also where no name says
whose it is, so no other test may run meanwhile. The tests of each look for what bears their names."""

import os
import subprocess
import unittest
from pathlib import Path

from clusters import CLUSTER, REPO, killed_up
from msdev.cluster.leftovers import traces

NAME = "test-machine"


def call(program: Path, *arguments: str) -> None:
    subprocess.run([program, *arguments], check=True, capture_output=True, timeout=300)


class WholeMachine(unittest.TestCase):
    maxDiff = None

    def cluster(self, *arguments: str) -> None:
        call(CLUSTER, "--name", NAME, *arguments)

    def test_nothing_of_a_cluster_with_a_node_is_left(self):
        self.cluster("down")
        self.addCleanup(self.cluster, "down")
        before = traces()
        killed_up(NAME, "up", "--nodes", "1", step="nodes:", then=0.5)
        self.cluster("up", "--nodes", "1")
        self.assertNotEqual(traces(), before)
        self.cluster("down")
        self.assertEqual(traces() - before, set())

    def test_nothing_of_slurm_is_left(self):
        slurm = REPO / "dev" / "slurm"
        call(slurm, "down", "--name", NAME)
        self.addCleanup(call, slurm, "down", "--name", NAME)
        before = self.of_slurm()
        call(slurm, "up", "--name", NAME, "--nodes", "1")
        call(slurm, "exec", "--name", NAME, "srun", "true")
        call(slurm, "down", "--name", NAME)
        self.assertEqual(self.of_slurm() - before, set())

    def of_slurm(self) -> set[str]:
        groups = Path("/sys/fs/cgroup").glob("*/*slurm*")
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        spaces = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
        return {*map(str, groups), *spaces, *(mount for mount in mounts if "slurm" in mount)}


if __name__ == "__main__":
    unittest.main(verbosity=2)
