"""A Slurm outside Kubernetes, known by a Cluster (v1alpha1): what its status shows of a real one that
answers, goes, comes back, is upgraded and gets another token; and that one that leads nowhere harms
nobody."""

import re
import socket
import unittest

import clusters
from operator_harness import OperatorTest, dev_slurm, secret
from operator_slurm import RestProxy

from msdev import slurm_conf
from msdev.slurm import Instance

OLD = "test-op-cluster-old"
CONDITIONS = ("Ready", "Progressing", "Degraded", "SlurmReachable")


class OperatorClusterTest(OperatorTest):
    cluster = "test-op-cluster"

    @classmethod
    def remove_slurm(cls):
        super().remove_slurm()
        dev_slurm("down", "--name", OLD)

    def token(self, text: str, name: str = "token"):
        self.api.apply(secret(self.ns, name, {"auth-token": text.encode()}))

    def campus(self, server: str, name: str = "campus", secret_ref: str = "token") -> str:
        head = {"apiVersion": "slinky.slurm.net/v1alpha1", "kind": "Cluster"}
        meta = {"name": name, "namespace": self.ns}
        spec = {"server": server, "token": {"secretRef": secret_ref}}
        self.api.create({**head, "metadata": meta, "spec": spec})
        return name

    def shown(self, name: str = "campus") -> dict:
        return self.api.get("Cluster", self.ns, name).get("status", {})

    def conditions(self, name: str = "campus") -> dict[str, str]:
        found = {c["type"]: c for c in self.shown(name).get("conditions", [])}
        return {kind: f"{found[kind]['status']} {found[kind]['reason']}" for kind in CONDITIONS}

    def wait_shown(self, test, name: str = "campus") -> dict:
        found = lambda: (lambda s: s if test(s) else None)(self.shown(name))  # noqa: E731
        return self.wait(found, lambda: f"{self.shown(name)}")

    def wait_ready(self, ready: bool = True, name: str = "campus") -> dict:
        return self.wait_shown(lambda s: s.get("isReady") is ready, name)

    def wait_troubled(self, reason: str, name: str = "campus"):
        wanted = {"Ready": f"False {reason}", "Progressing": "False Settled"}
        wanted |= {"Degraded": f"True {reason}", "SlurmReachable": "False NoAnswer"}
        self.wait(lambda: self.conditions(name) == wanted, lambda: f"{reason}: {self.shown(name)}")
        self.assertFalse(self.shown(name)["isReady"])

    def assert_silence(self, seconds: float):
        self.wait(lambda: self.writes("clusters"), "the audit log knows the operator")
        before = len(self.writes("clusters"))
        self.stays(lambda: len(self.writes("clusters")) == before, "a write at rest", seconds)

    def test_it_shows_what_there_is(self):
        self.token(self.slurm.token)
        self.campus(self.slurm.url)
        found = self.wait_shown(lambda s: s.get("isReady") and s.get("slurmVersion"))
        release = self.slurm.call("ping/")["meta"]["slurm"]["release"]
        self.assertEqual((found["slurmVersion"], found["apiVersion"]), (release, "v0.0.45"))
        self.assertEqual(found["freshness"], "fresh")
        self.assertEqual(found["observedGeneration"], 1)
        for condition in found["conditions"]:
            self.assertEqual(condition["observedGeneration"], 1, condition)
        wanted = {"Ready": "True Answers", "Progressing": "False Settled"}
        wanted |= {"Degraded": "False AsExpected", "SlurmReachable": "True Answers"}
        self.assertEqual(self.conditions(), wanted)
        table = clusters.kubectl(self.cluster, "-n", self.ns, "get", "clusters.slinky.slurm.net")
        self.assertRegex(table, r"NAME +READY +AGE\ncampus +true ")
        run = lambda *words: clusters.kubectl(self.cluster, "-n", self.ns, *words)  # noqa: E731
        which = "cluster.slinky.slurm.net/campus"
        run("wait", "--for=condition=Ready", which, "--timeout=10s")

        self.slurm.create_nodes(f"{self.ns}[1-3]")
        self.wait_shown(lambda s: s["nodes"] == len(self.slurm.nodes()) >= 3)
        jobs = self.shown()["jobs"]
        self.slurm.instance.sandbox.output(["sbatch", "-H", "-p", "all", "--wrap", "true"])
        self.wait_shown(lambda s: s["jobs"] == jobs + 1)
        self.assert_silence(25)

    def test_the_token_is_what_the_secret_holds_now(self):
        self.campus(self.slurm.url)
        self.wait_troubled("SecretMissing")
        self.token(slurm_conf.token(b"k" * 32, "slurm"))
        self.wait_troubled("NoAnswer")
        self.assert_silence(15)
        self.token(self.slurm.token)
        self.wait_ready()
        self.token(slurm_conf.token(self.slurm.key, "slurm"))
        self.stays(lambda: self.shown()["isReady"], lambda: f"{self.shown()}", 12)
        self.api.delete("Secret", self.ns, "token")
        self.wait_troubled("SecretMissing")

    def test_it_goes_and_comes_back(self):
        self.token(self.slurm.token)
        self.campus(self.slurm.url)
        before = self.wait_shown(lambda s: s.get("isReady") and s.get("slurmVersion"))
        self.slurm.kill_slurmrestd()
        try:
            self.wait_troubled("NoAnswer")
            gone = self.shown()
            self.assertTrue(gone["freshness"].startswith("stale since "), gone)
            self.assertEqual(gone["slurmVersion"], before["slurmVersion"])
            self.assert_silence(25)
        finally:
            self.slurm.start_slurmrestd()
        self.assertEqual(self.wait_ready()["freshness"], "fresh")

    def test_an_upgrade_shows(self):
        """Slurm 24.11 is replaced by 26.05 at the same address, while nobody looks."""
        dev_slurm("up", "--name", OLD, "--version", "24.11", "--nodes", "0")
        self.addCleanup(dev_slurm, "down", "--name", OLD)
        endpoint = Instance(OLD).endpoint()
        server = RestProxy(endpoint["url"])
        self.addCleanup(server.close)
        server.own_token = endpoint["token"]
        self.token("whoever")
        self.campus(server.url)
        found = self.wait_shown(lambda s: s.get("isReady") and s.get("slurmVersion"))
        self.assertTrue(re.match(r"24\.11\.", found["slurmVersion"]), found)
        self.assertEqual(found["apiVersion"], "v0.0.42")
        server.move(self.slurm.url, self.slurm.token)
        found = self.wait_shown(lambda s: s["slurmVersion"].startswith("26.05."))
        self.assertEqual(found["apiVersion"], "v0.0.45")
        self.assertTrue(found["isReady"])

    def test_one_that_leads_nowhere_harms_nobody(self):
        self.token(self.slurm.token)
        silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(silent.close)
        self.campus("http://127.0.0.1:1", "refused")
        self.campus("not a URL", "nonsense")
        self.campus(f"http://127.0.0.1:{silent.getsockname()[1]}", "silent")
        self.wait_troubled("NoAnswer", "refused")
        self.wait_troubled("InvalidServer", "nonsense")
        name = self.cluster_of(1)
        self.api.spec("NodeSet", self.ns, name, replicas=2)
        self.wait_idle(name, 2)
        self.campus(self.slurm.url, "good")
        self.wait_ready(name="good")
        self.assertFalse(self.shown("silent")["isReady"])
        self.assertTrue(self.operator.says_ok("/readyz") and self.operator.says_ok("/healthz"))
        for one in ("refused", "nonsense", "silent", "good"):
            self.api.delete("Cluster", self.ns, one)
        self.wait(lambda: not self.api.all("Cluster", self.ns), "they go")


if __name__ == "__main__":
    unittest.main()
