"""What the end-to-end tests share: a two-node Kubernetes that leaves no trace, patience with daemons
that are being replaced, and what one wants to know when something fails."""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster.leftovers import Footprint  # noqa: E402
from msdev.console import Failure  # noqa: E402
from msdev.managed_slurm import SYSTEM  # noqa: E402
from msdev.process import wait_for  # noqa: E402

OPERATOR = "app.kubernetes.io/name=mainspring"
KINDS = "controllers,nodesets,loginsets,restapis,accountings"


def is_protected(pod: dict) -> bool:
    """Of a worker's pod: whether the operator knows of a job there. It learns that one has begun or is over
    some time after Slurm, and what it does with its workers depends on it."""
    return pod["metadata"]["labels"].get("nodeset.slinky.slurm.net/pod-protect") == "true"


class ClusterCase(unittest.TestCase):
    """Of a subclass: `cluster_name`, and `slurm`, with which kubectl is called, once there is one."""

    cluster_name: str
    explanations = (
        ("get", "pods", "-A", "-o", "wide"),
        ("get", KINDS, "-A", "-o", "yaml"),
        ("get", "events", "-A", "--sort-by=.lastTimestamp"),
        ("-n", SYSTEM, "logs", "-l", OPERATOR, "--tail=150", "--prefix"),
        ("-n", SYSTEM, "logs", "-l", OPERATOR, "--tail=50", "--prefix", "--previous"),
    )

    @classmethod
    def setUpClass(cls):
        cls.cluster("down")
        cls.footprint = Footprint(cls.cluster_name)
        cls.addClassCleanup(cls.take_down)
        cls.cluster("up", "--nodes", "2")
        try:
            cls.install_all()
        except Exception:
            cls.explain()
            raise

    @classmethod
    def install_all(cls):
        """What the tests find in the cluster."""
        raise NotImplementedError

    @classmethod
    def cluster(cls, *arguments: str) -> None:
        command = [REPO / "dev" / "cluster", "--name", cls.cluster_name, *arguments]
        subprocess.run(command, check=True, timeout=600)

    @classmethod
    def take_down(cls):
        if os.environ.get("MAINSPRING_E2E_KEEP"):
            return
        cls.footprint.note()
        cls.cluster("down")
        if left := cls.footprint.left():
            raise AssertionError("left behind: " + ", ".join(sorted(left)))

    @classmethod
    def explain(cls):
        """What one wants to know when something fails, while it is still there."""
        if not hasattr(cls, "slurm"):
            return
        for command in cls.explanations:
            try:
                print(f"--- kubectl {' '.join(command)}\n{cls.slurm.kubectl(*command)}", flush=True)
            except Failure as failure:
                print(f"--- {failure}", flush=True)

    def setUp(self):
        self.started = time.monotonic()

    def tearDown(self):
        if self.has_failed():
            self.explain()
        print(f"    {time.monotonic() - self.started:.0f} s", flush=True)

    def has_failed(self) -> bool:
        outcome = self._outcome.result
        return any(test is self for test, _ in outcome.failures + outcome.errors)

    def eventually(self, condition, explain=lambda: "", patience: float = 120) -> None:
        def holds() -> bool:
            try:
                return condition()
            except (Failure, ValueError, LookupError):
                return False  # A daemon that is being replaced does not answer.

        # Some looks are a kubectl each, and a process in a pod.
        if not wait_for(holds, patience, 0.5, seldom=2.0):
            self.fail(f"not within {patience:.0f} s. {explain()}")
