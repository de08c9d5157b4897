"""Our Kubernetes client and controller runtime, the HTTP client below them and the model that simulations
have of it, against the real API server. One control plane serves them all: it takes many seconds of
processor time to start."""

import signal
import subprocess
import threading
import time
import unittest

from clusters import REPO, kubectl
from kube_case import PROGRAMS, KubeCase
from msdev.slurm import Instance
from operator_harness import dev_slurm
from operator_kube import eventually

NAME = "test-kube"
EXAMPLE = REPO / "build" / "debug" / "examples" / "about_controller"
SEEDS, STEPS = 20, 60


class KubeTest(KubeCase):
    cluster = NAME

    def run_cases(self, program: str, *arguments: str, **more: str):
        done = subprocess.run(
            [PROGRAMS / program, *arguments], env={**self.environment, **more}, timeout=600
        )
        self.assertEqual(done.returncode, 0)

    def test_verbs(self):
        self.run_cases("kube_verbs")

    def test_watches(self):
        self.run_cases("kube_watch")

    def test_access(self):
        self.run_cases("kube_access")

    def test_the_model_answers_like_the_real_one(self):
        self.run_cases("differential", "1", str(SEEDS), str(STEPS))

    def test_http_with_both_servers_that_it_is_made_for(self):
        dev_slurm("down", "--name", NAME)
        self.addCleanup(dev_slurm, "down", "--name", NAME)
        dev_slurm("up", "--name", NAME, "--nodes", "1")
        slurm = Instance(NAME).endpoint()
        self.run_cases("http_peers", SLURM_URL=slurm["url"], SLURM_TOKEN=slurm["token"])

    def test_the_example_controller_keeps_what_it_promises(self):
        controller = self.start(EXAMPLE)
        kubectl(NAME, "create", "namespace", "team-a")
        kubectl(NAME, "label", "namespace", "team-a", "example.com/team=rockets")
        team = lambda: self.api.get("ConfigMap", "team-a", "about")["data"]["team"]  # noqa: E731
        eventually(lambda: team() == "rockets", "the ConfigMap is made")
        kubectl(NAME, "-n", "team-a", "delete", "cm", "about")
        eventually(lambda: team() == "rockets", "a deleted one is made again")
        kubectl(NAME, "-n", "team-a", "patch", "cm", "about", "-p", '{"data":{"team":"x"}}')
        eventually(lambda: team() == "rockets", "an edited one is mended")
        kubectl(NAME, "label", "namespace", "team-a", "--overwrite", "example.com/team=stars")
        eventually(lambda: team() == "stars", "a new label arrives")
        controller.send_signal(signal.SIGTERM)
        self.assertEqual(controller.wait(timeout=30), 0)

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
        eventually(lambda: writers[-1] != "first", "another takes over")
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
        lease = self.api.get("Lease", "lead", "leader")
        self.assertEqual(lease["spec"].get("holderIdentity", ""), "")

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


if __name__ == "__main__":
    unittest.main()
