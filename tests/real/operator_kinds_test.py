"""Scenarios 10, 11 and 13 to 15 of the operator: slurmrestd, slurmdbd, login pods, tokens. And what is
outside Kubernetes: a slurmdbd in which slurmctld accounts by the lines that the operator wrote for it, and
by nothing else; and a Slurm known by a Cluster (v1alpha1), whose status shows of a real one that it
answers, goes, comes back, is upgraded and gets another token, and one that leads nowhere harms nobody."""

import base64
import json
import re
import socket
import time
import unittest

import clusters
from operator_harness import KEYS, OperatorTest, dev_slurm, secret, slinky
from operator_slurm import RestProxy, claims_of, is_signed_with

from msdev import slurm_conf
from msdev.console import Failure
from msdev.slurm import Instance

LINE = "AccountingStorage"
OLD = "test-op-kinds-old"
CONDITIONS = ("Ready", "Progressing", "Degraded", "SlurmReachable")


def env_of(container: dict) -> dict:
    return {one["name"]: one.get("value", "") for one in container.get("env", [])}


class OperatorKindsTest(OperatorTest):
    cluster = "test-op-kinds"
    slurm_options = ("--accounting",)

    @classmethod
    def remove_slurm(cls):
        super().remove_slurm()
        dev_slurm("down", "--name", OLD)

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

    # --- a slurmdbd outside

    def command(self, *words: str) -> str:
        return self.slurm.instance.sandbox.output([*words])

    def account_by(self, lines: list[str]):
        """slurmctld has these lines about accounting, and no others."""
        conf = self.slurm.instance.folder / "files" / "etc" / "slurm.conf"
        kept = [line for line in conf.read_text().splitlines() if not line.startswith(LINE)]
        self.slurm.stop_slurmctld()
        conf.write_text("\n".join([*kept, *lines]) + "\n")
        self.slurm.start_slurmctld()
        self.wait(lambda: self.slurm.call("nodes/").get("meta"), "slurmctld answers")

    def state(self, job: int) -> str:
        return self.command("sacct", "-n", "-X", "-P", "-j", str(job), "-o", "State").strip()

    def test_a_slurmdbd_outside(self):
        self.account_by([])
        with self.assertRaises(Failure):
            self.command("sacct")
        address = {"host": slurm_conf.ADDRESS, "port": self.slurm.plan.port("slurmdbd")}
        outside = {"external": True, "externalConfig": address}
        self.api.create(slinky("Accounting", self.ns, "acct", outside))
        self.controller(accountingRef={"name": "acct"})
        lines = lambda: [  # noqa: E731
            line for line in self.slurm_conf().splitlines() if line.startswith(LINE)
        ]
        self.wait(lambda: len(lines()) == 3, lambda: f"{lines()}")
        self.assertEqual(self.api.all("StatefulSet", self.ns)[1:], [], "a slurmdbd of ours")
        self.account_by(lines())

        name = self.nodeset(1)
        self.wait_idle(name, 1)
        job = self.slurm.run_job(f"{name}-0", "-J", "told")
        self.wait(lambda: self.state(job) == "RUNNING", lambda: self.state(job))
        self.slurm.cancel(job)
        self.wait(lambda: self.state(job).startswith("CANCELLED"), lambda: self.state(job))
        known = self.command(
            "sacctmgr", "-n", "-P", "show", "cluster", "format=Cluster,ControlPort"
        )
        self.assertIn(f"{self.cluster}|{self.slurm.plan.port('slurmctld')}", known)
        conditions = lambda: {  # noqa: E731
            c["type"]: f"{c['status']} {c['reason']}"
            for c in self.api.get("Accounting", self.ns, "acct")["status"]["conditions"]
        }
        wanted = {"Ready": "True External", "Progressing": "False Settled"}
        wanted |= {"Degraded": "False AsExpected", "SlurmReachable": "True Answers"}
        self.wait(lambda: conditions() == wanted, lambda: f"{conditions()}")

    # --- a Slurm outside

    def put_token(self, text: str, name: str = "token"):
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
        self.put_token(self.slurm.token)
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
        self.put_token(slurm_conf.token(b"k" * 32, "slurm"))
        self.wait_troubled("NoAnswer")
        self.assert_silence(15)
        self.put_token(self.slurm.token)
        self.wait_ready()
        self.put_token(slurm_conf.token(self.slurm.key, "slurm"))
        self.stays(lambda: self.shown()["isReady"], lambda: f"{self.shown()}", 12)
        self.api.delete("Secret", self.ns, "token")
        self.wait_troubled("SecretMissing")

    def test_it_goes_and_comes_back(self):
        self.put_token(self.slurm.token)
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
        self.put_token("whoever")
        self.campus(server.url)
        found = self.wait_shown(lambda s: s.get("isReady") and s.get("slurmVersion"))
        self.assertTrue(re.match(r"24\.11\.", found["slurmVersion"]), found)
        self.assertEqual(found["apiVersion"], "v0.0.42")
        server.move(self.slurm.url, self.slurm.token)
        found = self.wait_shown(lambda s: s["slurmVersion"].startswith("26.05."))
        self.assertEqual(found["apiVersion"], "v0.0.45")
        self.assertTrue(found["isReady"])

    def test_one_that_leads_nowhere_harms_nobody(self):
        self.put_token(self.slurm.token)
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
