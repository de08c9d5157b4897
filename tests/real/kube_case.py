"""What tests of programs that speak to an API server share: a control plane, and how they are told of it."""

import base64
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from clusters import REPO, kubeconfig, reserve, run
from msdev.cluster import registry
from operator_kube import KubeApi

PROGRAMS = REPO / "build" / "debug" / "tests"
CONTROL = Path(__file__).with_name("cluster_control.py")


def connection(name: str, folder: Path) -> dict[str, str]:
    """Where the API server is, and files in `folder` with what its administrator shows it."""
    config = kubeconfig(name)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    files = {
        "KUBE_CA": cluster["certificate-authority-data"],
        "KUBE_CERT": user["client-certificate-data"],
        "KUBE_KEY": user["client-key-data"],
    }
    for variable, data in files.items():
        (folder / variable).write_bytes(base64.b64decode(data))
    return {"KUBE_URL": cluster["server"], **{one: str(folder / one) for one in files}}


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class KubeCase(unittest.TestCase):
    """Of a subclass: `cluster`, the name of one without nodes that its tests share."""

    cluster = ""

    @classmethod
    def setUpClass(cls):
        reserve(cls, cls.cluster)
        run(cls.cluster, "up", "--control-plane-only")
        layout = registry.existing(cls.cluster)
        cls.api = KubeApi(layout)
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.environment = {
            **os.environ,
            **connection(cls.cluster, folder),
            "KUBECONFIG": str(layout.kubeconfig),
            "KUBE_CONTROL": f"{sys.executable} {CONTROL} {cls.cluster}",
        }

    def start(self, *argv):
        process = subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process
