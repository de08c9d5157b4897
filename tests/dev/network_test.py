"""What a cluster's network asks of the kernel. With a modprobe and switches that pretend; the network
itself is tested in tests/real."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import network  # noqa: E402
from msdev.cluster.layout import Cluster  # noqa: E402
from msdev.console import Failure  # noqa: E402


class NetworkTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.calls = self.root / "calls"
        self.switches = self.root / "bridge"
        self.patch("OF_BRIDGES", self.switches)
        self.patch("inside", lambda place: [])
        self.have_modprobe("true")
        # Of the rest of it, all is tried with real clusters.
        for name in ("_ensure_bridge", "_ensure_place", "_ip"):
            self.patch(name, lambda *_: None)

    def patch(self, name: str, value) -> None:
        self.enterContext(mock.patch.object(network, name, value))

    def have_modprobe(self, does: str) -> None:
        """Notes its arguments, then does this."""
        program = self.root / "modprobe"
        program.write_text(f'#!/bin/sh\necho "$@" >> {self.calls}\n{does}\n')
        program.chmod(0o755)
        self.patch("MODPROBE", str(program))

    def have_switches(self, *names: str) -> None:
        self.switches.mkdir()
        for name in names:
            (self.switches / name).write_text("0\n")

    def ensure(self, nodes: int) -> list[str]:
        """The calls of modprobe."""
        network.ensure(Cluster("test-net", 1, nodes))
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def test_a_kernel_whose_bridges_do_not_ask_netfilter_is_taught_it(self):
        self.assertEqual(self.ensure(nodes=1), ["br_netfilter"])

    def test_one_that_does_is_left_alone(self):
        self.have_switches()
        self.assertEqual(self.ensure(nodes=1), [])

    def test_who_cannot_load_the_module_is_told_why_and_what_to_do(self):
        self.have_modprobe("echo 'FATAL: Module not found in directory /lib/modules' >&2; exit 1")
        with self.assertRaisesRegex(Failure, "(?s)br_netfilter.*not found in dir.*Run 'modprobe"):
            self.ensure(nodes=1)

    def test_a_cluster_without_nodes_has_no_services_and_needs_no_module(self):
        self.have_modprobe("exit 1")
        self.assertEqual(self.ensure(nodes=0), [])

    def test_every_switch_that_is_there_is_put_on(self):
        self.have_switches("bridge-nf-call-iptables", "bridge-nf-call-arptables")
        self.ensure(nodes=2)
        said = {file.name: file.read_text().strip() for file in self.switches.iterdir()}
        self.assertEqual(said, {"bridge-nf-call-iptables": "1", "bridge-nf-call-arptables": "0"})


if __name__ == "__main__":
    unittest.main()
