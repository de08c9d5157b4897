"""Scenarios 10, 11 and 13 to 15 of the operator: slurmrestd, slurmdbd, login pods, tokens."""

import base64
import json
import time
import unittest

from operator_harness import KEYS, OperatorTest, secret, slinky
from operator_slurm import claims_of, is_signed_with


def env_of(container: dict) -> dict:
    return {one["name"]: one.get("value", "") for one in container.get("env", [])}


class OperatorKindsTest(OperatorTest):
    cluster = "test-op-kinds"

    def accounting(self, **spec) -> dict:
        storage = {"host": "db", "passwordKeyRef": {"name": "db", "key": "password"}}
        own = {**KEYS, "storageConfig": {**storage, "username": "slurm"}}
        own["slurmdbd"] = {"image": "slurmdbd:1"}
        return self.api.create(slinky("Accounting", self.ns, "acct", {**own, **spec}))

    def test_10_accounting_is_in_the_configuration(self):
        self.api.create(secret(self.ns, "db", {"password": b"p"}))
        self.controller()
        rest = {"controllerRef": {"name": "slurm"}, "slurmrestd": {"image": "slurmrestd:1"}}
        self.api.create(slinky("RestApi", self.ns, "slurm", rest))

        def args(deployment: dict) -> list[str]:
            return deployment["spec"]["template"]["spec"]["containers"][0]["args"]

        made = self.wait_for("Deployment", "slurm-restapi")
        self.assertEqual(args(made), ["-s", "openapi/slurmctld", "0.0.0.0:6820"])
        container = made["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(env_of(container)["SLURM_JWT"], "daemon")
        self.assertEqual(made["spec"]["template"]["spec"]["securityContext"]["runAsUser"], 65534)
        port = self.wait_for("Service", "slurm-restapi")["spec"]["ports"][0]
        self.assertEqual((port["name"], port["port"]), ("slurmrestd", 6820))
        self.assertIn("AccountingStorageType=accounting_storage/none", self.slurm_conf())

        self.accounting()
        self.api.spec("Controller", self.ns, "slurm", accountingRef={"name": "acct"})
        self.wait_for("Deployment", "slurm-restapi", lambda d: args(d) == ["0.0.0.0:6820"])
        wanted = (
            "AccountingStorageType=accounting_storage/slurmdbd",
            "AccountingStorageHost=acct-accounting",
            "AccountingStoragePort=6819",
        )
        self.wait(lambda: all(w in self.slurm_conf() for w in wanted), "the accounting lines")

    def test_11_accounting(self):
        self.accounting()
        self.wait(lambda: self.api.events(self.ns, "SyncFailed"), "an event SyncFailed")
        self.assertIsNone(self.api.find("StatefulSet", self.ns, "acct-accounting"))
        self.api.create(secret(self.ns, "db", {"password": b"tr0ub4dor"}))
        made = self.wait_for("Secret", "acct-accounting")
        conf = base64.b64decode(made["data"]["slurmdbd.conf"]).decode()
        for line in (
            "DbdHost=acct-accounting-0",
            "StorageHost=db",
            "StoragePort=3306",
            "StorageLoc=slurm_acct_db",
            "StoragePass=tr0ub4dor",
        ):
            self.assertIn(line + "\n", conf)
        stateful = self.wait_for("StatefulSet", "acct-accounting")
        self.assertEqual(stateful["spec"]["replicas"], 1)
        template = stateful["spec"]["template"]
        self.assertIn("slinky.slurm.net/slurmdbd-conf-hash", template["metadata"]["annotations"])
        self.assertEqual(
            template["spec"]["containers"][0]["readinessProbe"]["tcpSocket"]["port"], 6819
        )

    def login(self, **spec) -> dict:
        own = {"controllerRef": {"name": "slurm"}, "login": {"image": "login:1"}}
        own["initconf"] = {"image": "alpine:1"}
        own["sssdConfRef"] = {"name": "sssd", "key": "sssd.conf"}
        return self.api.create(slinky("LoginSet", self.ns, "login", {**own, **spec}))

    def test_13_login(self):
        self.api.create(secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\n"}))
        self.login(rootSshAuthorizedKeys="ssh-ed25519 AAAA root@example.com")
        self.wait(lambda: self.api.events(self.ns, "ControllerRefFailed"), "ControllerRefFailed")
        self.controller()
        workload = self.wait_login_workload()
        config = self.wait_for("ConfigMap", "login-ssh-config")["data"]
        self.assertIn("ssh-ed25519 AAAA root@example.com", config["authorized_keys"])
        self.assertIn("UsePAM yes", config["sshd_config"])
        self.assertEqual(self.wait_for("Service", "login")["spec"]["ports"][0]["port"], 22)
        keys = self.wait_for("Secret", "login-ssh-host-keys")
        self.assertTrue(keys["immutable"])
        self.assertEqual(
            set(keys["data"]),
            {f"ssh_host_{k}_key{p}" for k in ("rsa", "ecdsa", "ed25519") for p in ("", ".pub")},
        )
        name = "slinky.slurm.net/sssd-conf-hash"
        hash_of = lambda w: w["spec"]["template"]["metadata"]["annotations"][name]  # noqa: E731
        before = hash_of(workload)
        self.api.apply(secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\ndebug_level = 1\n"}))
        self.wait(lambda: hash_of(self.wait_login_workload()) != before, "the hash of sssd.conf")
        again = self.api.get("Secret", self.ns, "login-ssh-host-keys")
        self.assertEqual(again["data"], keys["data"])
        self.assertEqual(again["metadata"]["uid"], keys["metadata"]["uid"])

    def wait_login_workload(self) -> dict:
        return self.wait_for("Deployment", "login")

    def test_14_scale(self):
        self.api.create(secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\n"}))
        self.controller()
        self.login()
        name = self.nodeset(1)
        for kind, which, pods in ("LoginSet", "login", "login"), ("NodeSet", name, "slurmd"):
            scale = lambda: self.api.call(  # noqa: E731
                "GET", self.api.path(kind, self.ns, which, "scale")
            )
            self.wait(lambda: scale()["status"].get("selector"), f"{kind} says its selector")
            change = {"spec": {"replicas": 2}}
            self.api.patch(kind, self.ns, which, change, sub="scale")
            self.assertEqual(self.api.get(kind, self.ns, which)["spec"]["replicas"], 2)
            self.wait(lambda: scale()["status"]["replicas"] == 2, f"{kind} has two replicas")
            selected = self.api.all("Pod", self.ns, labelSelector=scale()["status"]["selector"])
            self.assertEqual(len(selected), 2)
            self.assertEqual(selected[0]["metadata"]["labels"]["app.kubernetes.io/name"], pods)

    def token(self, name: str, **spec) -> dict:
        own = {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice"}
        return self.api.create(slinky("Token", self.ns, name, {**own, **spec}))

    def jwt(self, name: str) -> str:
        found = self.wait_for("Secret", name)
        return base64.b64decode(found["data"]["SLURM_JWT"]).decode()

    def test_15_tokens(self):
        self.token("quick", lifetime="10s")
        first = self.jwt("quick-jwt-alice")
        self.assertTrue(is_signed_with(first, self.slurm.key))
        claims = claims_of(first)
        self.assertEqual(claims["sun"], "alice")
        self.assertEqual(claims["exp"] - claims["iat"], 10)
        header = json.loads(base64.urlsafe_b64decode(first.split(".")[0] + "=="))
        self.assertEqual(header["alg"], "HS256")
        self.wait_for("Token", "quick", lambda t: t.get("status", {}).get("issuedAt"))
        self.token("once", refresh=False, lifetime="1s")
        once = self.jwt("once-jwt-alice")
        self.assertTrue(self.api.get("Secret", self.ns, "once-jwt-alice")["immutable"])
        # One that has run out before the operator sees it, owned as upstream has it.
        key = self.api.get("Secret", self.ns, "jwt-key")["metadata"]
        owner = {"apiVersion": "v1", "kind": "Secret", "name": "jwt-key", "uid": key["uid"]}
        old = secret(self.ns, "old", {"SLURM_JWT": first.encode()})
        old["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        self.api.create(old)
        self.wait(lambda: self.jwt("quick-jwt-alice") != first, "a new token before the end", 30)
        self.assertLess(time.time(), claims["exp"], "it came after the old one had run out")
        time.sleep(max(0.0, claims["exp"] - time.time()) + 1)
        self.token("late", secretRef={"name": "old", "key": "SLURM_JWT"}, lifetime="60s")
        self.wait(lambda: self.jwt("old") != first, "a token that has run out is replaced")
        self.assertEqual(self.jwt("once-jwt-alice"), once)


if __name__ == "__main__":
    unittest.main()
