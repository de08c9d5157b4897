"""What the tests of dev/cluster share: running it, and looking for anything that it left behind."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import registry  # noqa: E402
from msdev.cluster.leftovers import traces, traces_of  # noqa: E402

CLUSTER = REPO / "dev" / "cluster"


def run(name: str, *arguments: str, text=None, timeout=300.0, check=True):
    """dev/cluster with these arguments; raises with its output if it fails."""
    done = subprocess.run(
        [CLUSTER, "--name", name, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"dev/cluster {arguments} failed:\n{done.stdout}\n{done.stderr}")
    return done


def kubectl(name: str, *arguments: str, **options) -> str:
    return run(name, "kubectl", *arguments, **options).stdout


def apply(name: str, *objects: dict) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    kubectl(name, "apply", "-f", "-", text=text)


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class ClusterTest(unittest.TestCase):
    """Fails if a test leaves something behind that was not there before it."""

    names: tuple[str, ...] = ()
    # Whether no other test runs meanwhile, so that everything on the machine can be looked at.
    alone = False

    def setUp(self):
        self.remove_all()
        self.before = self.traces()

    def tearDown(self):
        self.remove_all()
        self.assertEqual(self.traces() - self.before, set(), "left behind after 'down'")

    def traces(self) -> set[str]:
        return traces() if self.alone else traces_of(*self.names)

    def remove_all(self):
        for name in self.names:
            run(name, "down", timeout=60)

    def assert_works(self, name: str):
        self.assertIn("kube-system", kubectl(name, "get", "namespaces", timeout=30))


def index_of(name: str) -> int:
    return registry.existing(name).index
