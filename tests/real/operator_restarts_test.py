"""slurmctld that does not come to rest: it restarts every 20 seconds, for ten minutes, while NodeSets are
made and scaled. Pods come all the same, each once, and afterwards Slurm has every worker."""

import os
import threading
import time
import unittest
from collections import Counter
from contextlib import contextmanager

from operator_harness import OperatorTest
from operator_kube import PATIENCE

SECONDS = float(os.environ.get("OPERATOR_TEST_RESTARTS", "600"))  # Fewer while writing a test.
EVERY, AWAY = 20.0, 4.0
EACH = 2.0  # Between two looks.
SETS, REPLICAS = 4, 3


class Restarts(threading.Thread):
    """Ends slurmctld and starts it again, until it is told to stop; then slurmctld is up."""

    def __init__(self, slurm):
        super().__init__(daemon=True)
        self.slurm = slurm
        self.over, self.away = threading.Event(), threading.Event()
        self.held = threading.Lock()
        self.count = 0

    def run(self):
        due = time.monotonic()
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due = time.monotonic() + EVERY
            self.slurm.stop_slurmctld()
            self.away.set()
            self.over.wait(AWAY)
            with self.held:
                self.away.clear()
            self.slurm.start_slurmctld()
            self.count += 1

    @contextmanager
    def down(self):
        """Not before the end of this slurmctld comes back."""
        while True:
            assert self.away.wait(PATIENCE), "slurmctld does not restart any more"
            with self.held:
                if self.away.is_set():
                    yield
                    return

    def stop(self):
        self.over.set()
        self.join()


class OperatorRestartsTest(OperatorTest):
    cluster = "test-op-restarts"

    def names(self) -> list[str]:
        return [f"{self.ns}{letter}" for letter in "abcdefgh"[:SETS]]

    def all_uids(self) -> dict[str, str]:
        return {
            pod: found["metadata"]["uid"]
            for name in self.names()
            for pod, found in self.pods(name).items()
        }

    def watched_uids(self) -> dict[str, str]:
        return {
            pod: found["metadata"]["uid"]
            for name in self.names()
            for pod, found in self.watched_pods(name).items()
        }

    def go_on(self, until: float, pods: dict[str, str]):
        """Time passes. The operator is well, and the pods that are there stay those they are."""
        while time.monotonic() < until:
            self.assertTrue(self.operator.says_ok("/healthz", timeout=PATIENCE), "it is healthy")
            now = self.watched_uids()
            self.assertLessEqual(pods.items(), now.items(), "a pod went away")
            pods |= now
            time.sleep(EACH)
        self.wait(
            lambda: self.watched_uids() == self.all_uids(),
            lambda: f"the watch goes on: {self.watched_uids()}, not {self.all_uids()}",
        )

    def test_pods_come_all_the_same(self):
        self.controller()
        process = self.operator.process.pid
        restarts = Restarts(self.slurm)
        restarts.start()
        self.addCleanup(restarts.stop)
        pods: dict[str, str] = {}
        wanted: set[str] = set()
        begin, steps = time.monotonic(), SETS * REPLICAS
        for step in range(steps):
            replicas, name = step // SETS + 1, self.names()[step % SETS]
            wanted.add(f"{name}-{replicas - 1}")
            with restarts.down():
                if replicas == 1:
                    self.nodeset(1, name=name)
                else:
                    self.api.spec("NodeSet", self.ns, name, replicas=replicas)
                self.wait(lambda: set(self.all_uids()) == wanted, lambda: f"{self.all_uids()}")
            self.go_on(begin + SECONDS * (step + 1) / steps, pods)
        restarts.stop()
        self.assertGreaterEqual(restarts.count, SECONDS / EVERY / 2, "slurmctld did restart")
        self.wait(lambda: set(self.all_uids()) == wanted, lambda: f"{self.all_uids()}", 10)
        for name in self.names():
            self.wait_idle(name, REPLICAS)
        self.go_on(time.monotonic() + 10, pods)
        self.assertEqual(self.operator.process.pid, process)
        made = [
            w
            for w in self.writes("pods")
            if w["verb"] == "create" and "subresource" not in w["objectRef"]
        ]
        good = [w["objectRef"]["name"] for w in made if w["responseStatus"]["code"] == 201]
        self.assertEqual(Counter(good), Counter(wanted), "each pod is made once")
        gone = [w["requestURI"] for w in self.writes("pods") if w["verb"].startswith("delete")]
        self.assertEqual(gone, [])


if __name__ == "__main__":
    unittest.main()
