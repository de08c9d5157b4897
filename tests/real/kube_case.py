"""What tests of our Kubernetes client share: a control plane, and how its programs are told of it."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clusters import REPO, ClusterTest, kubectl, run

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


class KubeCase(ClusterTest):
    """Of a subclass: `names`, one cluster, which every test finds new and without nodes."""

    def setUp(self):
        super().setUp()
        (name,) = self.names
        run(name, "up", "--control-plane-only")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kubeconfig = run(name, "kubeconfig").stdout.strip()
        cluster = json.loads(kubectl(name, "config", "view", "--raw", "-o", "json"))["clusters"][0]
        ca = self.folder / "ca.crt"
        ca.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
        self.environment = {
            **os.environ,
            "KUBECONFIG": self.kubeconfig,
            "KUBE_URL": cluster["cluster"]["server"],
            "KUBE_CA": str(ca),
            "KUBE_CONTROL": f"{sys.executable} {CONTROL} {name}",
        }

    def start(self, *argv):
        process = subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process
