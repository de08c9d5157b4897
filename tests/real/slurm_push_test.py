"""slurmctld tells the bridge when jobs start and end: the script of the chart as its PrologSlurmctld and
EpilogSlurmctld, and a real bridge, which needs no Kubernetes for this."""

import os
import re
import secrets
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from bridge_alone import BridgeAlone
from charts import one, render

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.slurm import SLURM_UID, Instance  # noqa: E402
from operator_harness import dev_slurm, free_port  # noqa: E402
from operator_kube import eventually  # noqa: E402

NAME = "test-slurm-push"


@unittest.skipUnless(os.geteuid() == 0, "dev/slurm needs root")
class SlurmPushTest(unittest.TestCase):
    def setUp(self):
        dev_slurm("down", "--name", NAME)
        self.addCleanup(dev_slurm, "down", "--name", NAME)
        dev_slurm("up", "--name", NAME, "--nodes", "1")
        self.instance = Instance(NAME)
        self.sandbox = self.instance.sandbox
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.port = free_port("127.0.0.1")
        self.key = secrets.token_hex(16)
        self.start_bridge()
        self.install_script()

    def start_bridge(self):
        endpoint = self.instance.endpoint()
        (self.folder / "key").write_text(f"{self.key}\n")
        flags = ["--slurm-push-addr", f"127.0.0.1:{self.port}"]
        flags += ["--slurm-push-key-file", self.folder / "key"]
        self.bridge = BridgeAlone(self, self.folder, endpoint["url"], endpoint["token"], flags)
        eventually(lambda: self.pushes() == 0, lambda: f"the bridge:\n{self.bridge.said()}")

    def install_script(self):
        """slurmctld does not start with a script that is not there, so it is told of it later."""
        to = [{"host": "localhost", "port": self.port, "path": "/slurm/events"}]
        objects = render("slurm", {"push": {"enabled": True, "to": to}})
        self.write_key(self.key)
        etc = self.instance.folder / "files" / "etc"
        with (etc / "slurm.conf").open("a") as conf:
            for when in ("prolog", "epilog"):
                (name, text), *others = one(
                    objects, "ConfigMap", f"slurm-{when}-slurmctld-scripts"
                )["data"].items()
                self.assertEqual(others, [])
                (etc / name).write_text(text)
                (etc / name).chmod(0o755)
                conf.write(f"{when.capitalize()}Slurmctld=/etc/slurm/{name}\n")
        self.sandbox.output(["scontrol", "reconfigure"])

    def write_key(self, key: str):
        """As the Secret's volume has it for slurmctld."""
        script = f"""mkdir -p /etc/slurm-push && umask 377 && rm -f /etc/slurm-push/key &&
            printf %s {key} >/etc/slurm-push/key && chown {SLURM_UID} /etc/slurm-push/key"""
        self.sandbox.output(["sh", "-c", script])

    def pushes(self) -> int:
        """How many the bridge's cache was told; -1 while there is no answer."""
        found = re.search(r"^slurm_cache_pushes_total (\d+)", self.bridge.metrics(), re.M)
        return int(found[1]) if found else -1

    def run_job(self):
        """From start to end, and until slurmctld has run its scripts."""
        argv = ["sbatch", "--wait", "-o", "/dev/null", "--wrap", "true"]
        self.sandbox.output(argv)
        squeue = ["squeue", "--noheader", "--format=%i"]
        eventually(lambda: not self.sandbox.output(squeue).strip(), "the job is over")

    def post(self, key: str | None) -> int:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/slurm/events",
            data=b"event=start&job_id=1",
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code

    def test_starts_and_ends_arrive_with_the_key_and_not_without(self):
        self.run_job()
        eventually(lambda: self.pushes() == 2, lambda: f"{self.pushes()}\n{self.bridge.said()}")

        self.write_key("wrong")
        self.run_job()
        self.assertEqual(self.post(None), 401)
        self.assertEqual(self.post("wrong"), 401)
        # What was refused never comes; half a second is for what would have been on its way.
        time.sleep(0.5)
        self.assertEqual(self.pushes(), 2)

        self.assertEqual(self.post(self.key), 204)
        eventually(lambda: self.pushes() == 3, lambda: f"{self.pushes()}")

        new = self.folder / "key.new"
        new.write_text("rotated")
        new.rename(self.folder / "key")
        self.write_key("rotated")
        self.assertEqual(self.post(self.key), 401)
        self.run_job()
        eventually(lambda: self.pushes() == 5, lambda: f"{self.pushes()}\n{self.bridge.said()}")


if __name__ == "__main__":
    unittest.main()
