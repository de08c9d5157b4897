"""A cluster's certificates fit their keys, also where the `up` that made them was killed. With the real
openssl, in a folder of its own; no cluster is made."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import layout, pki, processes  # noqa: E402
from msdev.process import start_time, wait_for  # noqa: E402

SLOW = """#!/bin/sh
echo $$ > {pid}
sleep 2
exec /usr/bin/openssl "$@"
"""


class PkiTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(layout, "CLUSTERS", self.root))
        self.cluster = layout.Cluster("test-pki", 1, 1)
        self.cluster.folder.mkdir()

    def kill_one_in_the_middle(self) -> int:
        """Kills who makes the first certificate with an openssl that takes its time, whose pid this is."""
        pid = self.root / "pid"
        (self.root / "openssl").write_text(SLOW.format(pid=pid))
        (self.root / "openssl").chmod(0o755)
        path = f"{self.root}:{os.environ['PATH']}"
        marked = {**processes.environment(self.cluster), "PATH": path}
        child = os.fork()
        if child == 0:
            os.environ["PATH"] = path
            pki.environment = lambda _: marked
            pki.ensure(self.cluster)
            os._exit(0)
        self.assertTrue(wait_for(lambda: pid.exists() and pid.read_text().strip(), 60))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return int(pid.read_text())

    def public_keys(self, name: str) -> list[bytes]:
        """What the certificate says, and what belongs to the key."""
        of = {"x509": ["-noout", "-pubkey"], "pkey": ["-pubout"]}
        files = {"x509": f"{name}.crt", "pkey": f"{name}.key"}
        return [
            subprocess.run(
                ["openssl", kind, *more, "-in", self.cluster.pki / files[kind]],
                check=True,
                capture_output=True,
            ).stdout
            for kind, more in of.items()
        ]

    def test_every_certificate_fits_its_key(self):
        pki.ensure(self.cluster)
        for file in self.cluster.pki.glob("*.crt"):
            self.assertEqual(*self.public_keys(file.stem), file.stem)

    def test_also_when_an_openssl_was_left_by_an_up_that_was_killed(self):
        left = self.kill_one_in_the_middle()
        # As the next `up` does it.
        processes.end_strays(self.cluster)
        pki.ensure(self.cluster)
        self.assertTrue(wait_for(lambda: start_time(left) is None, 60))
        self.assertEqual(*self.public_keys("ca"))


if __name__ == "__main__":
    unittest.main()
