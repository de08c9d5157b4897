"""Scenarios 2, 3 and 14 of the bridge: which pods become Slurm's, and which are refused before they are
stored. The bridge has the rights that its chart gives it, and the API server asks it as the chart says."""

import json
import unittest

import clusters
from bridge_harness import JOB, JOB_ID, NODE, SCHEDULER, BridgeTest, pod_spec
from charts import render
from operator_harness import free_port
from operator_kube import Refused, eventually

MANAGED = ("s02", "s60")
CLASS = "deviceclass.resource.kubernetes.io/"
TOLERATION = {
    "key": "slinky.slurm.net/managed-node",
    "operator": "Equal",
    "value": SCHEDULER,
    "effect": "NoExecute",
}


class BridgeAdmissionTest(BridgeTest):
    cluster = "test-br-admission"
    config = f"managedNamespaces: {json.dumps(MANAGED)}\n"

    @classmethod
    def write_files(cls):
        """As the chart has it, but for the way to the bridge, which is no pod here."""
        super().write_files()
        address = cls.layout.host_address
        url = f"https://{address}:{free_port(address)}"
        values = {"fullnameOverride": "bridge", "admission": {"managedNamespaces": list(MANAGED)}}
        objects = render("mainspring-bridge", values, namespace="kube-system")
        for each in objects:
            for hook in each.get("webhooks", []):
                hook["clientConfig"] = {"url": url + hook["clientConfig"]["service"]["path"]}
        kinds = ("Role", "ServiceAccount", "WebhookConfiguration", "Binding")
        wanted = [each for each in objects if each["kind"].endswith(kinds)]
        clusters.apply(cls.cluster, *wanted)
        config = clusters.kubeconfig(cls.cluster, cls.api.token("kube-system", "bridge"))
        cls.kubeconfig.write_text(json.dumps(config))
        cls.webhook_flags = (
            "--user=system:serviceaccount:kube-system:bridge",
            f"--webhook-addr={url.removeprefix('https://')}",
            f"--webhook-ip={address}",
            "--webhook-namespace=kube-system",
            "--webhook-secret=bridge-webhook-certs",
            "--webhook-configuration=bridge",
            "--leader-elect",
            "--leader-elect-namespace=kube-system",
        )

    @classmethod
    def start_bridge(cls, *flags: str):
        return super().start_bridge(*cls.webhook_flags, *flags)

    def setUp(self):
        super().setUp()
        self.wait_answers()

    def wait_answers(self):
        """The certificates are there, and the API server has taken them up."""
        eventually(lambda: TOLERATION in self.stored()["spec"]["tolerations"], "answers", 60)

    def make(self, meta: dict | None = None, **spec) -> dict:
        metadata = {"name": "p", "namespace": self.ns, **(meta or {})}
        wanted = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        return wanted | {"spec": pod_spec(more=spec)}

    def stored(self, meta: dict | None = None, **spec) -> dict:
        """How the pod would be stored."""
        return self.api.create(self.make(meta, **spec), dry_run=True)

    def refused(self, words: str, meta: dict | None = None, **spec):
        with self.assertRaises(Refused) as caught:
            self.stored(meta, **spec)
        self.assertIn(words, caught.exception.message)

    def change_refused(self, words: str, name: str, change: dict, sub: str = ""):
        with self.assertRaises(Refused) as caught:
            self.api.patch("Pod", self.ns, name, change, "strategic", sub)
        self.assertIn(words, caught.exception.message)

    def test_02_a_pod_of_a_managed_namespace_becomes_slurms(self):
        spec = self.stored(schedulerName="default-scheduler", nodeName="n1")["spec"]
        self.assertEqual(spec["schedulerName"], SCHEDULER)
        self.assertNotIn("nodeName", spec)
        self.assertIn(TOLERATION, spec["tolerations"])
        spec = self.stored(schedulerName="mine", nodeName="n1")["spec"]
        self.assertEqual((spec["schedulerName"], spec["nodeName"]), ("mine", "n1"))
        self.assertNotIn(TOLERATION, spec["tolerations"])

        self.pod("a", schedulerName="default-scheduler")
        (pod,) = self.wait_bound("a")
        self.assertEqual(pod["spec"]["schedulerName"], SCHEDULER)
        self.assertEqual(self.wait_job("a")["job_state"], ["RUNNING"])

    def test_03_elsewhere_only_pods_that_name_the_scheduler_are(self):
        spec = self.stored(schedulerName="default-scheduler", nodeName="n1")["spec"]
        self.assertEqual((spec["schedulerName"], spec["nodeName"]), ("default-scheduler", "n1"))
        self.pod("a", nodeName="n1")
        self.wait_bound("a")
        self.assertEqual(self.wait_job("a")["job_state"], ["RUNNING"])

    def test_14_what_slurm_cannot_do_is_refused_with_what_to_do_instead(self):
        def container(limits: dict, **more) -> list[dict]:
            resources = {"limits": limits, **more}
            return [{"name": "main", "image": "busybox:1", "resources": resources}]

        claim = [{"name": "gpu", "resourceClaimName": "gpu"}]
        self.refused(f"{CLASS}gpu.nvidia.com: 1", resourceClaims=claim)
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        self.refused("exclusive", topologySpreadConstraints=[spread])
        self.refused("one of the two", containers=container({f"{CLASS}dra.cpu": "1", "cpu": "1"}))
        self.refused("gpu.example.com", containers=container({f"{CLASS}tpu": "1"}))
        gres = {"annotations": {f"{JOB}gres": "gpu:1"}}
        self.refused("Remove one", gres, containers=container({f"{CLASS}gpu.nvidia.com": "1"}))
        cpus = {"annotations": {f"{JOB}cpu-per-task": "1"}}
        self.refused("Remove one", cpus, containers=container({f"{CLASS}dra.cpu": "1"}))
        self.refused("by the bridge alone", {"labels": {JOB_ID: "42"}})
        self.refused("by the bridge alone", {"annotations": {NODE: "n1"}})
        self.refused("timelimit", {"annotations": {f"{JOB}timelimit": "soon"}})
        rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}
        self.refused("one gang", affinity={"podAffinity": rules})
        self.refused("node of its own", affinity={"podAntiAffinity": rules})

    def test_14b_what_the_bridge_notes_is_changed_by_nobody_else(self):
        gate = [{"name": "example.com/wait"}]
        self.pod("waiting", schedulingGates=gate)
        forged = {"metadata": {"labels": {JOB_ID: "42"}}}
        self.change_refused("by the bridge alone", "waiting", forged)
        self.change_refused("by the bridge alone", "waiting", forged, "status")
        amounts = {"requests": {"cpu": "2", "memory": "100Mi"}}
        bigger = {"spec": {"containers": [{"name": "main", "resources": amounts}]}}
        self.change_refused("cannot be resized", "waiting", bigger, "resize")
        self.pod("a")
        self.wait_bound("a")
        number = self.wait_job("a")["job_id"]
        self.change_refused("by the bridge alone", "a", forged)
        nowhere = {"metadata": {"annotations": {NODE: None}}}
        self.change_refused("by the bridge alone", "a", nowhere)
        self.assertEqual(self.job_id("a"), str(number))

    def test_60_without_the_bridge_only_new_pods_of_its_own_wait(self):
        def finalizers(key: str) -> dict:
            return {"metadata": {key: ["example.com/mine"]}}

        self.pod("a")
        self.wait_bound("a")
        self.bridge.kill()
        try:
            with self.assertRaises(Refused):
                self.stored()
            with self.assertRaises(Refused):
                self.stored(schedulerName="default-scheduler")
            self.assertEqual(self.stored(schedulerName="mine")["spec"]["schedulerName"], "mine")
            other = self.make({"namespace": "default"}, schedulerName="default-scheduler")
            self.api.create(other, dry_run=True)
            self.api.patch("Pod", self.ns, "a", finalizers("finalizers"), "strategic")
            remove = finalizers("$deleteFromPrimitiveList/finalizers")
            self.api.patch("Pod", self.ns, "a", remove, "strategic")
        finally:
            type(self).bridge = self.start_bridge()
        self.wait_answers()


if __name__ == "__main__":
    unittest.main()
