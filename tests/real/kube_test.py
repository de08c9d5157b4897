"""Our Kubernetes client and controller runtime against the real API server."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from clusters import REPO, ClusterTest, kubectl, run

NAME = "test-kube"
PROGRAMS = REPO / "build" / "debug" / "tests"
EXAMPLE = REPO / "build" / "debug" / "examples" / "about_controller"
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


class KubeTest(ClusterTest):
    names = (NAME,)

    def setUp(self):
        super().setUp()
        run(NAME, "up", "--control-plane-only")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kubeconfig = run(NAME, "kubeconfig").stdout.strip()
        cluster = json.loads(kubectl(NAME, "config", "view", "--raw", "-o", "json"))["clusters"][0]
        ca = self.folder / "ca.crt"
        ca.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
        self.environment = {
            **os.environ,
            "KUBECONFIG": self.kubeconfig,
            "KUBE_URL": cluster["cluster"]["server"],
            "KUBE_CA": str(ca),
            "KUBE_CONTROL": f"{sys.executable} {CONTROL} {NAME}",
        }

    def run_cases(self, program: str):
        done = subprocess.run([PROGRAMS / program], env=self.environment, timeout=400)
        self.assertEqual(done.returncode, 0)

    def start(self, *argv):
        process = subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_verbs(self):
        self.run_cases("kube_verbs")

    def test_watches(self):
        self.run_cases("kube_watch")

    def test_access(self):
        self.run_cases("kube_access")

    def test_never_two_leaders_act(self):
        kubectl(NAME, "create", "namespace", "lead")
        writers = self.record_writers()
        first = self.start(PROGRAMS / "leader_process", "first", "lead")
        self.assertEqual(first.stdout.readline(), "leading\n")
        second = self.start(PROGRAMS / "leader_process", "second", "lead")
        third = self.start(PROGRAMS / "leader_process", "third", "lead")
        eventually(lambda: "first" in writers, "the first writes")

        # Stopped for longer than its lease, then continued: it must not write once.
        first.send_signal(signal.SIGSTOP)
        eventually(lambda: writers and writers[-1] != "first", "another takes over")
        time.sleep(1)
        first.send_signal(signal.SIGCONT)
        self.assertNotEqual(first.wait(timeout=30), 0, "a leader that lost its lease must end")

        # Killed: the other takes over when the lease has run out.
        leader, other = (second, third) if writers[-1] == "second" else (third, second)
        name = "third" if leader is second else "second"
        leader.kill()
        eventually(lambda: writers[-1] == name, "the last takes over")

        # Asked to stop: it releases the lease and says so.
        other.send_signal(signal.SIGTERM)
        self.assertEqual(other.wait(timeout=30), 0)
        holder = kubectl(NAME, "-n", "lead", "get", "lease", "leader", "-o", "json")
        self.assertEqual(json.loads(holder)["spec"].get("holderIdentity", ""), "")

        turns = [w for i, w in enumerate(writers) if i == 0 or writers[i - 1] != w]
        self.assertEqual(len(turns), len(set(turns)), f"two wrote by turns: {turns}")
        self.assertEqual(len(turns), 3, turns)

    def record_writers(self) -> list[str]:
        """Who wrote, in the order of the API server's own history."""
        writers: list[str] = []
        watch = self.start(
            "dev/cluster", "--name", NAME, "kubectl", "-n", "lead", "get", "configmap",
            "--field-selector=metadata.name=log", "--watch", "-o", "jsonpath={.data.writer}{'\\n'}",
        )  # fmt: skip

        def read():
            for line in watch.stdout:
                writers.append(line.strip())

        threading.Thread(target=read, daemon=True).start()
        return writers

    def test_the_example_controller_keeps_what_it_promises(self):
        controller = self.start(EXAMPLE)
        kubectl(NAME, "create", "namespace", "team-a")
        kubectl(NAME, "label", "namespace", "team-a", "example.com/team=rockets")
        team = lambda: kubectl(  # noqa: E731
            NAME, "-n", "team-a", "get", "cm", "about", "--ignore-not-found",
            "-o", "jsonpath={.data.team}",
        )  # fmt: skip
        eventually(lambda: team() == "rockets", "the ConfigMap is made")
        kubectl(NAME, "-n", "team-a", "delete", "cm", "about")
        eventually(lambda: team() == "rockets", "a deleted one is made again")
        kubectl(NAME, "-n", "team-a", "patch", "cm", "about", "-p", '{"data":{"team":"x"}}')
        eventually(lambda: team() == "rockets", "an edited one is mended")
        kubectl(NAME, "label", "namespace", "team-a", "--overwrite", "example.com/team=stars")
        eventually(lambda: team() == "stars", "a new label arrives")
        controller.send_signal(signal.SIGTERM)
        self.assertEqual(controller.wait(timeout=30), 0)


if __name__ == "__main__":
    unittest.main()
