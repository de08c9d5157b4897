"""What tests of our Kubernetes client share: a control plane, and how its programs are told of it."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from clusters import REPO, kubectl, reserve, run

PROGRAMS = REPO / "build" / "debug" / "tests"
CONTROL = Path(__file__).with_name("cluster_control.py")


def eventually(condition, what: str, seconds: float = 60.0):
    """The first true value of condition(), asked again until time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds:.0f}s in vain: {what}")


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class KubeCase(unittest.TestCase):
    """Of a subclass: `cluster`, the name of one without nodes that its tests share."""

    cluster = ""

    @classmethod
    def setUpClass(cls):
        reserve(cls, cls.cluster)
        run(cls.cluster, "up", "--control-plane-only")
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = json.loads(kubectl(cls.cluster, "config", "view", "--raw", "-o", "json"))
        server = config["clusters"][0]["cluster"]
        ca = cls.folder / "ca.crt"
        ca.write_bytes(base64.b64decode(server["certificate-authority-data"]))
        cls.environment = {
            **os.environ,
            "KUBECONFIG": run(cls.cluster, "kubeconfig").stdout.strip(),
            "KUBE_URL": server["server"],
            "KUBE_CA": str(ca),
            "KUBE_CONTROL": f"{sys.executable} {CONTROL} {cls.cluster}",
        }

    def start(self, *argv):
        process = subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process
