"""Rules that the operator keeps whatever happens: silence at rest, pods in spite of a dead slurmrestd, a
limit to what it deletes."""

import time
import unittest

from operator_harness import KEYS, OperatorTest, nodeset, secret, slinky
from operator_kube import PATIENCE, Refused

LIMIT = 12  # Of deletions a minute.


class OperatorRulesTest(OperatorTest):
    cluster = "test-op-rules"
    flags = (f"--deletions-per-minute={LIMIT}",)

    def test_at_rest_nothing_is_written(self):
        name = self.cluster_of(3, partition={"enabled": True, "config": "State=UP"})
        self.api.create(
            secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\n"}),
            secret(self.ns, "db", {"password": b"p"}),
        )
        ref = {"controllerRef": {"name": "slurm"}}
        storage = {"host": "db", "passwordKeyRef": {"name": "db", "key": "password"}}
        for kind, spec in {
            "RestApi": {**ref, "slurmrestd": {"image": "i"}},
            "LoginSet": {
                **ref,
                "login": {"image": "i"},
                "initconf": {"image": "i"},
                "sssdConfRef": {"name": "sssd", "key": "sssd.conf"},
            },
            "Accounting": {**KEYS, "storageConfig": storage, "slurmdbd": {"image": "i"}},
            "Token": {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice", "lifetime": "1h"},
        }.items():
            self.api.create(slinky(kind, self.ns, kind.lower(), spec))
            self.wait_for(kind, kind.lower(), lambda one: one.get("status", {}).get("conditions"))
        # A worker under a person's cordon, one that an administrator drained, one that is busy.
        self.api.annotate(
            "Pod", self.ns, f"{name}-0", {"nodeset.slinky.slurm.net/pod-cordon": "true"}
        )
        self.slurm.update(f"{name}-1", state="drain", reason="bad dimm")
        self.slurm.run_job(f"{name}-2", "-t", "60")
        self.wait(lambda: self.slurm.is_draining(f"{name}-0"), "drained")
        self.wait(lambda: self.writes(), "the audit log knows the operator")

        def is_quiet() -> bool:
            before = len(self.writes())
            time.sleep(3)
            return len(self.writes()) == before

        self.wait(is_quiet, "everything is as it should be", 90)
        before = len(self.writes())
        time.sleep(60)
        new = self.writes()[before:]
        self.assertEqual([(w["verb"], w["requestURI"]) for w in new], [])

    def test_pods_are_made_while_slurmrestd_is_dead(self):
        self.slurm.kill_slurmrestd()
        self.addCleanup(self.slurm.start_slurmrestd)
        self.controller()
        name = self.nodeset(5)
        names = {f"{name}-{n}" for n in range(5)}
        self.wait(lambda: set(self.pods()) == names, lambda: f"{set(self.pods())}")
        running = lambda: [
            p for p in self.pods().values() if p["status"]["phase"] == "Running"
        ]  # noqa: E731
        self.wait(lambda: len(running()) == 5, "all run")
        before = self.api.get("Pod", self.ns, f"{name}-1")["metadata"]["uid"]
        self.api.delete("Pod", self.ns, f"{name}-1")
        uid = lambda: self.pod(f"{name}-1")["metadata"]["uid"]  # noqa: E731
        self.wait(lambda: uid() != before, "a lost pod is made again")
        reach = lambda: {  # noqa: E731
            c["type"]: c["status"]
            for c in self.api.get("NodeSet", self.ns, name)["status"]["conditions"]
        }
        self.wait(lambda: reach().get("SlurmReachable") == "False", lambda: f"{reach()}")

    def fail_all(self, name: str):
        for pod in self.pods(name):
            self.api.patch("Pod", self.ns, pod, {"status": {"phase": "Failed"}}, sub="status")

    def test_what_is_deleted_in_a_minute_is_limited(self):
        """Whatever the evidence. Comes last: for a minute nobody else may be deleted."""
        self.kubelet.without_slurm.add(self.ns)
        self.controller()
        name = self.nodeset(20)
        running = lambda: [
            p for p in self.pods(name).values() if p["status"]["phase"] == "Running"
        ]  # noqa: E731
        self.wait(lambda: len(running()) == 20, lambda: f"{len(running())} pods")
        self.fail_all(name)
        self.wait(lambda: self.api.events(self.ns, "DeletionsLimited"), "it says that it stops")
        failed = lambda: [
            p for p in self.pods(name).values() if p["status"]["phase"] == "Failed"
        ]  # noqa: E731
        self.stays(lambda: len(failed()) >= 20 - LIMIT, lambda: f"{len(failed())} are left", 3)
        # With nothing else that happens, the rest has its turn a minute later.
        self.wait(lambda: len(running()) == 20, lambda: f"{len(failed())} are left", 60 + PATIENCE)

    def test_a_namespace_that_is_made_again_works(self):
        name = self.cluster_of(2)
        self.kubelet.without_slurm.add(self.ns)
        self.api.spec("NodeSet", self.ns, name, deletion={"policy": "Immediate"})
        self.api.delete("Namespace", None, self.ns)
        self.wait(lambda: not self.api.find("Namespace", None, self.ns), "the namespace goes", 90)
        self.make_namespace(self.ns)
        self.kubelet.without_slurm.discard(self.ns)
        self.cluster_of(2)

    def test_a_busy_namespace_goes(self):
        """Its pods are taken by the namespace, whoever waits: nothing is left to wait for. It can be made
        again. The name is short, since it is in the path of a socket of slurmd."""
        name = self.cluster_of(2)
        self.slurm.run_job(f"{name}-0", "--no-requeue")
        self.api.delete("Namespace", None, self.ns)
        self.wait(lambda: not self.api.find("Namespace", None, self.ns), "the namespace goes")
        self.slurm.cancel_all()
        self.make_namespace(self.ns)
        self.cluster_of(2)

    def test_hostile_strings_are_refused(self):
        """By the schema alone, with no webhook in between."""
        partition = {"enabled": True, "config": "State=UP\nSlurmctldHost=evil"}
        for bad in (
            nodeset(self.ns, "n", partition=partition),
            nodeset(self.ns, "n", scalingMode="Everything"),
            nodeset(self.ns, "n", replicas="many"),
        ):
            with self.assertRaises(Refused) as refused:
                self.api.create(bad)
            self.assertEqual(refused.exception.status, 422, bad)


if __name__ == "__main__":
    unittest.main()
