"""A bridge that knows Slurm only by a Cluster (v1alpha1) and its Secret, with the rights that the
chart gives it and no others, against a real API server and a real slurmctld: both objects come late,
change, go and come back. Whatever they do, nothing that runs is ended."""

import base64
import json
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import clusters
from bridge_harness import CONFIG, BridgeTest
from charts import render
from operator_harness import PROGRAM, secret
from operator_slurm import RestProxy, short_lived

from msdev import slurm_conf

HOME = "campus"  # The namespace of the Cluster.


class BridgeClusterTest(BridgeTest):
    cluster = "test-br-cluster"

    @classmethod
    def write_files(cls):
        cls.proxy = RestProxy(cls.slurm.url)
        cls.addClassCleanup(cls.proxy.close)
        super().write_files()
        # What the harness hands over by flags must not be what it works with.
        cls.token.write_text("nobody's")
        where = f"slurmCluster: {{namespace: {HOME}, name: slurm}}\n"
        cls.config_file.write_text(f"{CONFIG}{where}{cls.config}")
        clusters.kubectl(cls.cluster, "create", "namespace", HOME)
        cls.become_the_charts_account()

    @classmethod
    def become_the_charts_account(cls):
        named = {"name": "slurm", "namespace": HOME, "secretName": "slurm-token"}
        values = {"fullnameOverride": "bridge", "sharedConfig": {"slurmCluster": named}}
        objects = render("mainspring-bridge", values, namespace="kube-system")
        kinds = ("Role", "ServiceAccount", "RoleBinding")
        clusters.apply(cls.cluster, *(each for each in objects if each["kind"].endswith(kinds)))
        config = clusters.kubeconfig(cls.cluster, cls.api.token("kube-system", "bridge"))
        cls.kubeconfig.write_text(json.dumps(config))

    @classmethod
    def install(cls):
        made = subprocess.run([PROGRAM, "crds"], check=True, capture_output=True, text=True)
        clusters.kubectl(cls.cluster, "apply", "--server-side", "-f", "-", text=made.stdout)
        wait = ("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        clusters.kubectl(cls.cluster, *wait)
        cls.put_token(cls.slurm.token)
        cls.put_cluster(cls.proxy.url)

    @classmethod
    def put_token(cls, text: str, key: str = "auth-token"):
        cls.api.delete("Secret", HOME, "slurm-token")
        cls.api.create(secret(HOME, "slurm-token", {key: text.encode()}))

    @classmethod
    def put_cluster(cls, server: str):
        cls.api.apply(
            {
                "apiVersion": "slinky.slurm.net/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": "slurm", "namespace": HOME},
                "spec": {"server": server, "token": {"secretRef": "slurm-token"}},
            }
        )

    def tearDown(self):
        """For what ends, and for the next test."""
        self.put_token(self.slurm.token)
        self.put_cluster(self.proxy.url)
        self.wait_health("[+]slurm cluster ok")

    def health(self) -> str:
        try:
            with urllib.request.urlopen(f"http://{self.bridge.health}/readyz?verbose") as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError as error:
            return str(error)

    def wait_health(self, *words: str):
        said = lambda: all(word in self.health() for word in words)  # noqa: E731
        self.wait(said, lambda: f"health says {words}: {self.health()}")

    def wait_event(self, reason: str):
        about = lambda e: e["regarding"]["kind"] == "Cluster"  # noqa: E731
        found = lambda: [e for e in self.api.events(HOME, reason) if about(e)]  # noqa: E731
        return self.wait(found, f"an event {reason} on the Cluster")[0]

    def set_scene(self):
        self.pod("runs")
        self.wait_bound("runs")
        self.number = self.job_id("runs")
        self.uid = self.get("runs")["metadata"]["uid"]

    def is_at_work(self) -> bool:
        meta = self.get("runs")["metadata"]
        same = meta["uid"] == self.uid and "deletionTimestamp" not in meta
        return same and self.job(self.number)["job_state"] == ["RUNNING"]

    def another_token(self) -> str:
        """Good, and not the one of before."""
        return short_lived(self.slurm.token, self.slurm.key, 3600.0 + time.time() % 1000)

    def test_25j_a_pod_is_scheduled_and_the_token_rotated(self):
        self.set_scene()
        fresh = self.another_token()
        data = {"auth-token": base64.b64encode(fresh.encode()).decode()}
        self.api.patch("Secret", HOME, "slurm-token", {"data": data})
        self.wait(lambda: self.proxy.tokens[-1] == fresh, "the new token is used")
        self.pod("next")
        self.wait_bound("next")
        self.assertTrue(self.is_at_work())

    def test_25k_a_token_that_slurm_refuses_ends_nothing(self):
        self.set_scene()
        wrong = slurm_conf.token(b"k" * 32, "slurm")
        self.put_token(wrong)
        self.wait(lambda: self.proxy.tokens[-1] == wrong, "the wrong token is used")
        self.pod("waits")
        # Longer than what is known of jobs counts as fresh.
        self.stays(self.is_at_work, "it runs on", 40.0)
        self.assertFalse(self.get("waits")["spec"].get("nodeName"))
        self.put_token(self.another_token())
        self.wait_bound("waits")
        self.assertTrue(self.is_at_work())

    def test_25l_without_cluster_and_secret_it_goes_on_as_before(self):
        self.set_scene()
        self.api.delete("Secret", HOME, "slurm-token")
        self.wait_health("[!]slurm cluster", "slurm-token", "is not there", "are used on")
        self.wait_event("SecretMissing")
        self.api.delete("Cluster", HOME, "slurm")
        self.wait_health("[!]slurm cluster", "Cluster campus/slurm: it is not there")
        self.pod("next")
        self.wait_bound("next")
        self.stays(self.is_at_work, "it runs on", 5.0)

    def test_25m_a_bridge_that_starts_without_them_waits_and_ends_nothing(self):
        self.set_scene()
        self.api.delete("Cluster", HOME, "slurm")
        self.api.delete("Secret", HOME, "slurm-token")
        self.restart_bridge()
        self.wait_health("[!]slurm cluster", "Slurm cannot be asked yet")
        self.pod("waits")
        self.stays(self.is_at_work, "it runs on", 10.0)
        self.assertFalse(self.job_id("waits"))
        self.put_cluster(self.proxy.url)
        self.wait_health("spec.token.secretRef", "is not there")
        self.put_token(self.slurm.token, key="SLURM_JWT")
        self.wait_health("auth-token", "lacks this key")
        self.put_token(self.slurm.token)
        self.wait_bound("waits")
        self.assertTrue(self.is_at_work())

    def test_25n_it_follows_slurm_to_another_address(self):
        self.set_scene()
        other = RestProxy(self.slurm.url)
        self.addCleanup(other.close)
        self.put_cluster(other.url)
        self.wait(lambda: other.tokens, "it is asked there")
        self.pod("next")
        self.wait_bound("next")
        before = len(self.proxy.tokens)
        self.stays(lambda: len(self.proxy.tokens) == before, "nobody asks where it was")
        self.put_cluster("nowhere")
        self.wait_health("[!]slurm cluster", "spec.server: nowhere")
        self.wait_event("InvalidServer")
        self.pod("still")
        self.wait_bound("still")
        self.assertTrue(self.is_at_work())

    def test_25o_it_may_read_no_other_secret_there(self):
        user = "--as=system:serviceaccount:kube-system:bridge"

        def may(*words: str) -> bool:
            asked = ("auth", "can-i", *words, "-n", HOME, user)
            return clusters.kubectl(self.cluster, *asked, check=False).strip() == "yes"

        self.assertTrue(may("get", "secrets/slurm-token"))
        self.assertTrue(may("watch", "clusters.slinky.slurm.net/slurm"))
        for words in (
            ("get", "secrets"),
            ("list", "secrets/slurm-token"),
            ("update", "secrets/slurm-token"),
            ("get", "secrets/other"),
            ("list", "clusters.slinky.slurm.net"),
            ("patch", "clusters.slinky.slurm.net/slurm"),
        ):
            self.assertFalse(may(*words), words)


if __name__ == "__main__":
    unittest.main()
