"""Scenarios 2, 4, 9, 39 and 40 of the operator: what is refused before it is stored, and which
operator acts on what. The API server asks the operator's webhooks by their address."""

import re
import unittest
import urllib.request

import clusters
from charts import REPO, helm, render
from operator_harness import (
    KEYS,
    Operator,
    OperatorTest,
    config_map,
    controller,
    free_port,
    nodeset,
    slinky,
)
from operator_kube import Refused, eventually
from operator_kubelet import OURS

CONFIGURATION = "mainspring"
CONFIG_OF = "mainspring.slurm.net/config-of"
TOPOLOGY = "topology.slinky.slurm.net/spec"
FOREGROUND = {"propagationPolicy": "Foreground"}


class OperatorWebhookTest(OperatorTest):
    cluster = "test-op-webhook"
    paths: set[str] = set()  # That the chart tells the API server.

    @classmethod
    def before_operator(cls):
        address = cls.layout.host_address
        url = f"https://{address}:{free_port(address)}"
        cls.flags = (
            f"--webhook-addr={url.removeprefix('https://')}",
            f"--webhook-ip={address}",
            "--webhook-namespace=kube-system",
            f"--webhook-configuration={CONFIGURATION}",
        )
        # As the chart has them, but for the way to the operator, which is no pod here.
        values = {"webhook": {"podsBinding": True}}
        for one in render("mainspring", values, namespace="kube-system"):
            if one["kind"].endswith("WebhookConfiguration"):
                for hook in one["webhooks"]:
                    cls.paths.add(path := hook["clientConfig"]["service"]["path"])
                    hook["clientConfig"] = {"url": url + path}
                cls.api.create(one)
            elif one["kind"].startswith("ValidatingAdmissionPolicy"):
                cls.api.create(one)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()

        def works() -> bool:
            """The certificates are there, and the API server has taken them up."""
            try:
                cls.api.create(controller("default", clusterName="x" * 50), dry_run=True)
            except Refused as refused:
                return "40" in refused.message
            return False

        eventually(works, "the webhooks answer", 60)

    def refused(self, what: dict, *words: str):
        """That it is refused, with these words; nothing is stored."""
        with self.assertRaises(Refused, msg=what) as caught:
            self.api.create(what, dry_run=True)
        for word in words:
            self.assertIn(word, caught.exception.message)

    def allowed(self, what: dict, *warnings: str):
        self.api.create(what, dry_run=True)
        for word in warnings:
            self.assertIn(word, " ".join(self.api.warnings))

    def change_refused(self, kind: str, name: str, word: str, **fields):
        with self.assertRaises(Refused) as caught:
            self.api.spec(kind, self.ns, name, **fields)
        self.assertIn(word, caught.exception.message)

    def claim(self, name: str, mode: str):
        size = {"requests": {"storage": "1Gi"}}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": self.ns},
                "spec": {"accessModes": [mode], "resources": size},
            }
        )

    def test_the_chart_names_exactly_what_is_served(self):
        with urllib.request.urlopen(f"http://{self.operator.metrics}/metrics") as answer:
            text = answer.read().decode()
        served = re.findall(
            r'^controller_runtime_webhook_requests_in_flight{webhook="(.*?)"', text, re.M
        )
        self.assertEqual(set(served), self.paths)

    def test_02_keys_are_asked_for(self):
        self.refused(controller(self.ns, slurmKeyRef=None), "slurmKeyRef")
        self.allowed(
            controller(
                self.ns,
                slurmKeyRef=None,
                jwtKeyRef=None,
                external=True,
                externalConfig={"host": "h", "port": 1},
            )
        )

    def test_04_a_claim_for_one_node_is_no_ground_for_several_slurmctld(self):
        self.claim("one", "ReadWriteOnce")
        self.claim("many", "ReadWriteMany")
        ha = lambda claim: controller(  # noqa: E731
            self.ns, ha={"enabled": True}, persistence={"enabled": True, "existingClaim": claim}
        )
        self.refused(ha("one"), "ReadWriteMany")
        self.allowed(ha("many"))
        self.allowed(ha("not-yet-there"))

    def test_09_files_that_are_generated_are_refused(self):
        for name, data in {
            "conf": {"slurm.conf": "ClusterName=x\n"},
            "dbd": {"slurmdbd.conf": "DbdHost=x\n"},
            "odd": {"unknown.conf": "x\n"},
            "fine": {"cgroup.conf": "ConstrainCores=yes\n"},
        }.items():
            self.api.create(config_map(self.ns, name, data))
        with_file = lambda name: controller(self.ns, configFileRefs=[{"name": name}])  # noqa: E731
        self.refused(with_file("conf"), "slurm.conf")
        self.refused(with_file("dbd"), "slurmdbd.conf")
        self.refused(with_file("missing"), "missing")
        self.allowed(with_file("odd"), "unknown.conf")
        self.allowed(with_file("fine"))

    def test_09b_files_that_are_in_use_are_looked_at_when_they_change(self):
        for name in "used", "other":
            self.api.create(config_map(self.ns, name, {"cgroup.conf": "ConstrainCores=yes\n"}))
        self.api.create(controller(self.ns, configFileRefs=[{"name": "used"}]))
        self.wait_for(
            "ConfigMap", "used", lambda one: CONFIG_OF in one["metadata"].get("labels", {})
        )
        bad = {"data": {"cgroup.conf": "NoSuchKey=1\n"}}
        with self.assertRaises(Refused) as caught:
            self.api.patch("ConfigMap", self.ns, "used", bad)
        self.assertIn("NoSuchKey", caught.exception.message)
        self.api.patch("ConfigMap", self.ns, "other", bad)
        self.api.delete("ConfigMap", self.ns, "used")
        self.assertIn("still refers", " ".join(self.api.warnings))

    def helm(self, *words: str, values: dict | None = None) -> str:
        config = clusters.run(self.cluster, "kubeconfig").stdout.strip()
        done = helm(*words, "--namespace", self.ns, "--kubeconfig", config, values=values)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def test_09c_the_chart_may_have_partitions_over_its_node_sets(self):
        """helm brings the Controller, which has the partitions, before the NodeSets."""
        both = {"enabled": True, "nodesets": ["cpu", "gpu"]}
        values = {
            "nodesets": {"cpu": {"replicas": 0}, "gpu": {"replicas": 0}},
            "partitions": {"both": both},
        }
        told = self.helm("install", "slurm", str(REPO / "charts" / "slurm"), values=values)
        self.assertRegex(told, r"extraConf: there is no node or NodeSet \W+cpu\W+ yet")
        line = "PartitionName=both Nodes=cpu,gpu"
        self.wait_for("ConfigMap", "slurm-config", lambda one: line in one["data"]["slurm.conf"])
        self.wait_for("StatefulSet", "slurm-controller")
        # And so an upgrade brings a new one.
        values["nodesets"]["new"] = {"replicas": 0}
        both["nodesets"].append("new")
        self.helm("upgrade", "slurm", str(REPO / "charts" / "slurm"), values=values)
        self.wait_for(
            "ConfigMap",
            "slurm-config",
            lambda one: line + ",new" in one["data"]["slurm.conf"],
        )
        self.helm("uninstall", "slurm")

    def test_39_controllers(self):
        self.refused(controller(self.ns, clusterName="x" * 41), "clusterName")
        self.allowed(controller(self.ns, clusterName="x" * 40))
        self.allowed(
            controller(self.ns, service={"spec": {"externalIPs": ["192.0.2.1"]}}), "externalIPs"
        )
        self.api.create(controller(self.ns, clusterName="one"))
        self.change_refused("Controller", "slurm", "clusterName", clusterName="two")
        other = {"name": "other", "key": "slurm.key"}
        self.change_refused("Controller", "slurm", "slurmKeyRef", slurmKeyRef=other)
        self.change_refused("Controller", "slurm", "jwtKeyRef", jwtKeyRef={**other, "key": "jwt"})
        self.change_refused("Controller", "slurm", "persistence", persistence={"enabled": True})
        kept = {"enabled": True, "existingClaim": "a"}
        self.api.create(controller(self.ns, "kept", persistence=kept))
        change = {"existingClaim": "b"}
        self.change_refused("Controller", "kept", "existingClaim", persistence=change)
        self.api.spec("Controller", self.ns, "slurm", extraConf="MinJobAge=100\n")

    def test_39b_nodesets(self):
        one = lambda **spec: nodeset(self.ns, "n", **spec)  # noqa: E731
        rolling = lambda most: {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": most},
        }  # noqa: E731
        self.refused(one(controllerRef={"name": ""}), "controllerRef")
        self.refused(one(updateStrategy=rolling(0)), "maxUnavailable")
        self.refused(one(updateStrategy=rolling("0%")), "maxUnavailable")
        self.allowed(one(updateStrategy=rolling("1%")))
        scheduled = {"startTime": "2099-01-01T00:00:00Z", "duration": "30s"}
        strategy = {"type": "ScheduledUpdate", "scheduledUpdate": scheduled}
        self.refused(one(updateStrategy=strategy), "duration")
        ssh = {"enabled": True, "sssdConfRef": {"name": "", "key": "sssd.conf"}}
        self.refused(one(ssh=ssh), "sssdConfRef")
        self.refused(one(template={"spec": {"hostname": "Not_A_Name"}}), "hostname")
        self.allowed(one(template={"spec": {"hostname": "gpu-"}}))
        self.refused(one(extraConf="no equals sign"), "extraConf")
        self.allowed(one(extraConf="Gres=gpu:2 RealMemory=1000"))
        self.api.create(controller(self.ns), one(replicas=0))
        self.change_refused("NodeSet", "n", "controllerRef", controllerRef={"name": "other"})
        claims = [{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
        self.change_refused("NodeSet", "n", "volumeClaimTemplates", volumeClaimTemplates=claims)
        self.api.spec("NodeSet", self.ns, "n", replicas=1)
        plain = {"image": "slurmd:1", "securityContext": {"privileged": False}}
        other = nodeset(self.ns, "other", slurmd=plain)
        self.refused(other, "slurmd.securityContext.privileged", "cgroup.conf", '"n"', '"other"')
        self.allowed(nodeset(self.ns, "other"))

    def test_39c_the_other_kinds(self):
        ref, address = {"controllerRef": {"name": "slurm"}}, {
            "spec": {"externalIPs": ["192.0.2.1"]}
        }
        sssd = {"sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}
        login = lambda **spec: slinky(
            "LoginSet", self.ns, "l", {**ref, **sssd, **spec}
        )  # noqa: E731
        self.refused(login(controllerRef={"name": ""}), "controllerRef")
        self.refused(login(sssdConfRef={"name": "", "key": "x"}), "sssdConfRef")
        self.allowed(login(service=address), "externalIPs")
        self.api.create(login())
        self.change_refused("LoginSet", "l", "controllerRef", controllerRef={"name": "other"})

        rest = slinky("RestApi", self.ns, "r", {**ref, "service": address})
        self.allowed(rest, "externalIPs")
        self.api.create(slinky("RestApi", self.ns, "r", ref))
        self.api.spec("RestApi", self.ns, "r", controllerRef={"name": "other"})

        storage = {"host": "db", "passwordKeyRef": {"name": "db", "key": "password"}}
        accounting = {**KEYS, "storageConfig": storage}
        self.allowed(
            slinky("Accounting", self.ns, "a", {**accounting, "service": address}), "externalIPs"
        )
        self.api.create(slinky("Accounting", self.ns, "a", accounting))
        other = {"name": "other", "key": "jwt"}
        self.change_refused("Accounting", "a", "jwtKeyRef", jwtKeyRef=other)

        self.api.create(
            slinky("Token", self.ns, "t", {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "u"})
        )
        self.change_refused("Token", "t", "jwtKeyRef", jwtKeyRef=other)

    def test_39d_a_worker_learns_its_place_when_it_is_bound(self):
        self.kubelet.make_node(f"{self.ns}-a", self.ns)
        self.api.annotate("Node", None, f"{self.ns}-a", {TOPOLOGY: "racks:rack1"})
        for name, app in ("worker", "slurmd"), ("other", "something"):
            labels = {"app.kubernetes.io/name": app, OURS: self.ns}
            pod = {"name": name, "namespace": self.ns, "labels": labels}
            spec = {"containers": [{"name": "c", "image": "i"}]}
            # Nobody else binds it.
            spec["schedulingGates"] = [{"name": "test/wait"}]
            self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": spec})
            with self.kubelet.lock:
                self.api.patch("Pod", self.ns, name, {"spec": {"schedulingGates": None}})
                target = {"apiVersion": "v1", "kind": "Node", "name": f"{self.ns}-a"}
                bind = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
                path = self.api.path("Pod", self.ns, name, "binding")
                self.api.call("POST", path + "?dryRun=All", {**bind, "target": target})
                self.assertNotIn(TOPOLOGY, self.annotations(name))
                self.api.call("POST", path, {**bind, "target": target})
            told = self.annotations(name).get(TOPOLOGY)
            self.assertEqual(told, "racks:rack1" if app == "slurmd" else None)

    def test_39e_hostile_strings_are_refused(self):
        """Whatever ends up in slurm.conf, in a shell or in a host name: one value stays one value."""
        evil = "x\nSlurmctldHost=evil"
        for field, bad in {
            "clusterName": controller(self.ns, clusterName=evil),
            "externalConfig": controller(
                self.ns, external=True, externalConfig={"host": evil, "port": 1}
            ),
            "extraConf": controller(self.ns, extraConf="NoSuchKey=1\n"),
            "partition": nodeset(self.ns, "n", partition={"enabled": True, "config": evil}),
            "hostname": nodeset(self.ns, "n", template={"spec": {"hostname": evil}}),
        }.items():
            with self.subTest(field):
                self.refused(bad, field)
        for conf in (
            "Gres=$(reboot)",
            'Gres="',
            "Gres=`reboot`",
            "Gres=a\nNodeName=evil",
            "Gres='",
        ):
            with self.subTest(conf):
                self.refused(nodeset(self.ns, "n", extraConf=conf), "extraConf")
        tree = "- topology: t\n  tree:\n    switches:\n    - switch: {}\n      nodes: n1\n"
        for number, name in enumerate(('"x\\nSlurmctldHost=evil"', "a b", "'a,b'", "'s[1-2]'")):
            with self.subTest(name):
                files = config_map(self.ns, f"files{number}", {"topology.yaml": tree.format(name)})
                self.api.create(files)
                refs = {"configFileRefs": [{"name": f"files{number}"}]}
                self.refused(controller(self.ns, **refs), "topology.yaml:4", "switch", "is no name")

    def bare(self, name: str, *finalizers: str, **spec) -> str:
        """A NodeSet without a Slurm, that goes when the test says so."""
        made = nodeset(self.ns, name, replicas=0, **spec)
        made["metadata"]["finalizers"] = ["test/kept", *finalizers]
        self.api.create(made)
        return name

    def deleted(self, name: str, **options) -> list[str]:
        """The finalizers that it has then."""
        self.api.delete("NodeSet", self.ns, name, **options)
        left = self.api.get("NodeSet", self.ns, name)["metadata"]
        self.assertTrue(left["deletionTimestamp"])
        return left["finalizers"]

    def not_deleted(self, name: str, **options):
        before = self.api.get("NodeSet", self.ns, name)["metadata"]
        with self.assertRaises(Refused) as caught:
            self.api.delete("NodeSet", self.ns, name, **options)
        self.assertEqual(caught.exception.status, 403)
        for word in f"{self.ns}/{name}", "--cascade=background", "spec.deletion.policy":
            self.assertIn(word, caught.exception.message)
        after = self.api.get("NodeSet", self.ns, name)["metadata"]
        self.assertEqual(after.get("deletionTimestamp"), before.get("deletionTimestamp"))
        # The operator puts its own there in its own time.
        drain = {"mainspring.slurm.net/drain"}
        self.assertEqual(set(after["finalizers"]) - drain, set(before["finalizers"]) - drain)

    def wait_for_the_policy(self):
        """The API server takes up policies in its own time."""

        def refuses() -> bool:
            try:
                self.api.delete("NodeSet", self.ns, "early", **FOREGROUND, dryRun=["All"])
            except Refused as refused:
                return refused.status == 403
            return False

        self.bare("early")
        self.wait(refuses, "deletion in the foreground is refused")

    def test_39f_no_job_ends_by_a_deletion_in_the_foreground(self):
        self.wait_for_the_policy()
        name = self.cluster_of(1)
        (worker,) = before = self.uids()
        job = self.slurm.run_job(worker)
        self.not_deleted(name, **FOREGROUND)
        # One that goes already: its workers are only being drained.
        self.assertNotIn("foregroundDeletion", self.deleted(name))
        self.not_deleted(name, **FOREGROUND)
        self.wait(lambda: self.slurm.is_draining(worker), "the worker is drained")
        self.stays(lambda: self.uids() == before, "its pod stays")
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
        self.slurm.cancel(job)
        self.wait(lambda: not self.api.find("NodeSet", self.ns, name), "it goes after the job")

    def test_39g_all_other_deletions_are_as_ever(self):
        self.wait_for_the_policy()
        for name, options in {
            "silent": {},
            "background": {"propagationPolicy": "Background"},
            "orphan": {"propagationPolicy": "Orphan"},
            "older": {"orphanDependents": False},
        }.items():
            with self.subTest(name):
                self.assertNotIn("foregroundDeletion", self.deleted(self.bare(name), **options))
        # Whoever put this finalizer there: a deletion that says nothing would be one in the foreground.
        marked = self.bare("marked", "foregroundDeletion")
        self.not_deleted(marked)
        background = {"propagationPolicy": "Background"}
        self.assertNotIn("foregroundDeletion", self.deleted(marked, **background))
        self.not_deleted(
            self.bare("slow", deletion={"policy": "Drain", "deadline": "1h"}), **FOREGROUND
        )
        at_once = self.bare("at-once", deletion={"policy": "Immediate"})
        self.deleted(at_once, **FOREGROUND)
        self.deleted(at_once, **FOREGROUND)
        self.bare("last")
        self.api.delete("Namespace", None, self.ns)
        going = lambda: self.api.get("NodeSet", self.ns, "last")["metadata"]["deletionTimestamp"]
        self.wait(going, "the namespace's contents go with it")

    def test_40_an_operator_for_one_namespace(self):
        """And two that take turns: the second goes on where the first was killed, and no pod is made
        twice or lost."""
        self.make_namespace(f"{self.ns}-b")
        type(self).operator.stop()
        self.addCleanup(self.restore)
        for kind in "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
            self.api.delete(kind, None, CONFIGURATION)
        first = self.start_one_of_two("first.log")
        for ns in self.ns, f"{self.ns}-b":
            self.api.create(controller(ns))
            self.api.create(nodeset(ns, f"{ns}w", replicas=3))
        self.wait_idle(f"{self.ns}w", 3)
        self.assertEqual(self.api.all("Pod", f"{self.ns}-b"), [])
        self.assertEqual(
            self.api.all("ConfigMap", f"{self.ns}-b", fieldSelector="metadata.name=slurm-config"),
            [],
        )
        before = {n: p["metadata"]["uid"] for n, p in self.pods().items()}
        self.start_one_of_two("second.log")
        self.api.spec("NodeSet", self.ns, f"{self.ns}w", replicas=12)
        self.wait(lambda: len(self.pods()) > 3, "it has begun")
        first.kill()
        names = {f"{self.ns}w-{n}" for n in range(12)}
        self.wait(lambda: set(self.pods()) == names, lambda: f"{set(self.pods())}", 90)
        self.wait_idle(f"{self.ns}w", 12)
        after = {n: p["metadata"]["uid"] for n, p in self.pods().items()}
        self.assertLessEqual(before.items(), after.items())

    def start_one_of_two(self, log: str) -> Operator:
        flags = ("--leader-elect", "--leader-elect-namespace=kube-system")
        url = f"--rest-url={self.ns}/slurm={self.slurm.url}"
        one = Operator(self.kubeconfig, self.logs() / log, *flags, url, f"--namespaces={self.ns}")
        self.addCleanup(one.kill)
        return one

    def restore(self):
        type(self).operator = self.start_operator()


if __name__ == "__main__":
    unittest.main()
