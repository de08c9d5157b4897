"""The in-memory Kubernetes API of tests/sim against the real kube-apiserver: same calls, same answers."""

import base64
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
CLUSTER = [str(REPO / "dev" / "cluster"), "--name", "test-diff"]
PROGRAM = REPO / "build" / "debug" / "tests" / "differential"
SEEDS, STEPS = 20, 60


def output_of(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)}:\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class DifferentialTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(output_of, *CLUSTER, "down")
        output_of(*CLUSTER, "up", "--control-plane-only")

    def test_the_model_answers_like_the_real_one(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **self.kube(Path(folder))}
            done = subprocess.run(
                [PROGRAM, "1", str(SEEDS), str(STEPS)], env=environment, timeout=600
            )
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


if __name__ == "__main__":
    unittest.main()
