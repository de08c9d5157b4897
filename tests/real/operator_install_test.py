"""The operator as the real helm installs it for certain namespaces: with the arguments and the rights of
its chart and no others it does all its work there, elsewhere nothing, and is refused nothing. When it
is uninstalled, nothing is left."""

import json
import subprocess
import unittest

import clusters
from charts import REPO, helm
from operator_harness import (
    KEYS,
    PROGRAM,
    Operator,
    OperatorTest,
    controller,
    free_port,
    nodeset,
    secret,
    slinky,
)
from operator_kube import Refused

HOME, WATCHED, OTHER = "ops", "watched", "other"
USER = f"system:serviceaccount:{HOME}:mainspring"
# Where an operator that is no pod listens, and how much it says, are the test's matter.
OWN_FLAGS = ("--health-addr", "--metrics-addr", "--webhook-addr", "--log-level")
WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
FOREGROUND = {"propagationPolicy": "Foreground"}
KEPT = {"Secret": (), "Lease": (), "ServiceAccount": ("default",), "Service": ()}
KEPT |= {"ConfigMap": ("kube-root-ca.crt",), "Deployment": (), "Pod": ()}
KEPT |= {"Role": (), "RoleBinding": (), "PodDisruptionBudget": ()}


class OperatorInstallTest(OperatorTest):
    cluster = "test-op-install"
    with_operator = False

    @classmethod
    def install(cls):
        definitions = subprocess.run([PROGRAM, "crds"], check=True, capture_output=True, text=True)
        run = lambda *words, **more: clusters.kubectl(cls.cluster, *words, **more)  # noqa: E731
        run("apply", "--server-side", "-f", "-", text=definitions.stdout)
        run("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        for name in (HOME, WATCHED, OTHER):
            cls.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        values = {"operator": {"namespaces": WATCHED}, "webhook": {"podsBinding": True}}
        cls.helm("install", "mainspring", str(REPO / "charts" / "mainspring"), values=values)
        cls.write_kubeconfig(HOME)

    @classmethod
    def helm(cls, *words: str, values: dict | None = None):
        config = str(cls.layout.kubeconfig)
        done = helm(*words, "--namespace", HOME, "--kubeconfig", config, values=values)
        if done.returncode != 0:
            raise AssertionError(f"helm {words}:\n{done.stdout}{done.stderr}")

    @classmethod
    def as_installed(cls) -> Operator:
        """With the arguments of its Deployment; the API server asks it by its address."""
        address = cls.layout.host_address
        port = free_port(address)
        for kind in WEBHOOKS:
            for found in cls.api.all(kind):
                for hook in found["webhooks"]:
                    path = hook["clientConfig"].pop("service")["path"]
                    hook["clientConfig"]["url"] = f"https://{address}:{port}{path}"
                cls.api.call("PUT", cls.api.path(kind, None, found["metadata"]["name"]), found)
        (deployment,) = cls.api.all("Deployment", HOME)
        given = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        flags = [flag for flag in given if flag.split("=")[0] not in ("operator", *OWN_FLAGS)]
        own = (f"--webhook-addr={address}:{port}", f"--webhook-ip={address}")
        rest = f"--rest-url={WATCHED}/slurm={cls.slurm.url}"
        return Operator(cls.kubeconfig, cls.logs() / "operator.log", *flags, *own, rest)

    def setUp(self):
        self.ns = WATCHED

    def fill(self, ns: str) -> list[tuple[str, str]]:
        """One of each kind."""
        self.api.create(
            secret(ns, "slurm-key", {"slurm.key": b"s" * 1024}),
            secret(ns, "jwt-key", {"jwt.key": self.slurm.key}),
            secret(ns, "sssd", {"sssd.conf": b"[sssd]\n"}),
            secret(ns, "db", {"password": b"p"}),
            secret(ns, "campus", {"auth-token": self.slurm.token.encode()}),
        )
        ref = {"controllerRef": {"name": "slurm"}}
        password = {"name": "db", "key": "password"}
        storage = {"storageConfig": {"host": "db", "passwordKeyRef": password}}
        login = {"login": {"image": "i"}, "initconf": {"image": "i"}}
        login["sssdConfRef"] = {"name": "sssd", "key": "sssd.conf"}
        token = {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice", "lifetime": "1h"}
        campus = slinky("Cluster", ns, "campus", {"server": self.slurm.url})
        campus["apiVersion"] = "slinky.slurm.net/v1alpha1"
        campus["spec"]["token"] = {"secretRef": "campus"}
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
        claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
        keep = {"whenDeleted": "Delete", "whenScaled": "Delete"}
        workers = {"volumeClaimTemplates": [claim], "persistentVolumeClaimRetentionPolicy": keep}
        objects = [
            slinky("Accounting", ns, "acct", {**KEYS, **storage, "slurmdbd": {"image": "i"}}),
            controller(ns, accountingRef={"name": "acct"}),
            slinky("RestApi", ns, "slurm", {**ref, "slurmrestd": {"image": "i"}}),
            slinky("LoginSet", ns, "login", {**ref, **login}),
            slinky("Token", ns, "robot", token),
            campus,
            nodeset(ns, f"{ns}w", replicas=2, **workers),
        ]
        self.api.create(*objects)
        return [(one["kind"], one["metadata"]["name"]) for one in objects]

    def condition(self, kind: str, name: str, which: str) -> str:
        found = self.api.get(kind, self.ns, name).get("status", {}).get("conditions", [])
        return next((c["status"] for c in found if c["type"] == which), "")

    def refusals(self) -> list[str]:
        """What the operator wanted to write and was not let, by the API server's account."""
        found = []
        for line in self.layout.audit_log.read_text().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The last line may still be on its way.
            if entry["user"]["username"] != USER:
                continue
            if entry.get("responseStatus", {}).get("code") in (401, 403):
                found.append(f"{entry['verb']} {entry['requestURI']}")
        return found

    def left(self) -> list[str]:
        """What of the release is still there."""
        found = [
            f"{kind} {one['metadata']['name']}"
            for kind, kept in KEPT.items()
            for one in self.api.all(kind, HOME)
            if one["metadata"]["name"] not in kept
        ]
        wide = ("ClusterRole", "ClusterRoleBinding", *WEBHOOKS, *POLICIES)
        for kind, ns in [(k, None) for k in wide] + [("Role", WATCHED), ("RoleBinding", WATCHED)]:
            for one in self.api.all(kind, ns):
                if one["metadata"]["name"].startswith("mainspring"):
                    found.append(f"{kind} {one['metadata']['name']}")
        return found

    def test_its_rights_suffice_and_nothing_is_left_of_it(self):
        operator = self.as_installed().wait_ready()
        self.addCleanup(operator.kill)
        # The webhooks must be there before our kinds can be made where they are asked.
        works = lambda: self.api.create(controller(WATCHED), dry_run=True)  # noqa: E731
        self.wait(works, "the webhooks answer")
        made = self.fill(WATCHED)
        elsewhere = self.fill(OTHER)
        self.wait_idle("watchedw", 2)
        for kind, name in made:
            ready = lambda: self.condition(kind, name, "Ready") == "True"  # noqa: E731
            self.wait(ready, lambda: f"{kind}: {self.api.get(kind, WATCHED, name)['status']}")
        self.assertEqual(len(self.api.all("PersistentVolumeClaim", WATCHED)), 2)
        self.api.spec("NodeSet", WATCHED, "watchedw", replicas=1)
        self.wait(lambda: set(self.pods("watchedw")) == {"watchedw-0"}, "the scale-in")
        self.cordon_node(self.node_of("watchedw-0"))
        self.wait(lambda: self.slurm.is_draining("watchedw-0"), "the cordon")
        for kind, name in elsewhere:
            self.assertNotIn("status", self.api.get(kind, OTHER, name), f"{kind} elsewhere")
        for kind in ("Pod", "StatefulSet", "Deployment", "Service", "PodDisruptionBudget"):
            self.assertEqual(self.api.all(kind, OTHER), [], kind)
        # Where nobody drains, nothing is held up.
        self.api.delete("NodeSet", OTHER, "otherw", **FOREGROUND)
        with self.assertRaises(Refused):
            self.api.delete("NodeSet", WATCHED, "watchedw", **FOREGROUND)
        self.api.delete("NodeSet", WATCHED, "watchedw")
        self.wait(lambda: not self.api.find("NodeSet", WATCHED, "watchedw"), "it is let go")
        self.assertEqual(self.refusals(), [])
        # Of reading the audit log says nothing.
        self.assertNotIn("forbidden", operator.log.read_text().lower())

        self.assertIn("Lease mainspring-operator", self.left())
        self.assertTrue(self.api.get("Secret", HOME, "mainspring-webhook-certs")["data"])
        # It goes on for as long as its pod would take to end.
        self.helm("uninstall", "mainspring")
        self.wait(lambda: self.left() == [], self.left)
        self.stays(lambda: self.left() == [], self.left, 8)
        operator.stop()
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
