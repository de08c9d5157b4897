"""Our Kubernetes client and controller runtime against the real API server."""

import signal
import subprocess
import unittest

from clusters import REPO, kubectl
from kube_case import PROGRAMS, KubeCase, eventually

NAME = "test-kube"
EXAMPLE = REPO / "build" / "debug" / "examples" / "about_controller"


class KubeTest(KubeCase):
    cluster = NAME

    def run_cases(self, program: str):
        done = subprocess.run([PROGRAMS / program], env=self.environment, timeout=400)
        self.assertEqual(done.returncode, 0)

    def test_verbs(self):
        self.run_cases("kube_verbs")

    def test_watches(self):
        self.run_cases("kube_watch")

    def test_access(self):
        self.run_cases("kube_access")

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
