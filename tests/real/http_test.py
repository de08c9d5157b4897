"""Our HTTP client against the real kube-apiserver and the real slurmrestd."""

import base64
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
CLUSTER = [str(REPO / "dev" / "cluster"), "--name", "test-http"]
SLURM = [str(REPO / "dev" / "slurm")]
PROGRAM = REPO / "build" / "debug" / "tests" / "http_peers"


def output_of(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)}:\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(os.geteuid() == 0, "the clusters need root")
class HttpPeersTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(output_of, *CLUSTER, "down")
        self.addCleanup(output_of, *SLURM, "down", "--name", "test-http")
        output_of(*CLUSTER, "up", "--control-plane-only")
        output_of(*SLURM, "up", "--name", "test-http", "--nodes", "1")

    def test_every_case_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **self.kube(Path(folder)), **self.slurm()}
            done = subprocess.run([PROGRAM], env=environment, timeout=300)
        self.assertEqual(done.returncode, 0)

    def kube(self, folder: Path) -> dict[str, str]:
        config = json.loads(output_of(*CLUSTER, "kubectl", "config", "view", "--raw", "-o", "json"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        files = {
            "KUBE_CA": cluster["certificate-authority-data"],
            "KUBE_CERT": user["client-certificate-data"],
            "KUBE_KEY": user["client-key-data"],
        }
        for name, data in files.items():
            (folder / name).write_bytes(base64.b64decode(data))
        return {"KUBE_URL": cluster["server"], **{name: str(folder / name) for name in files}}

    def slurm(self) -> dict[str, str]:
        endpoint = json.loads(output_of(*SLURM, "endpoint", "--name", "test-http"))
        return {"SLURM_URL": endpoint["url"], "SLURM_TOKEN": endpoint["token"]}


if __name__ == "__main__":
    unittest.main()
