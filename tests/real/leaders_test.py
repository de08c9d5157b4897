"""Leader election against the real API server. Runs alone: its leases last three seconds, which on a
machine that others keep busy an honest leader may miss."""

import json
import signal
import threading
import time
import unittest

from clusters import kubectl
from kube_case import PROGRAMS, KubeCase, eventually

NAME = "test-leaders"


class LeadersTest(KubeCase):
    cluster = NAME

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


if __name__ == "__main__":
    unittest.main()
