"""Webhooks and an aggregated API of ours, called by the real kube-apiserver."""

import base64
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import unittest
from pathlib import Path
from urllib.parse import urlsplit

import clusters
from kube_case import PROGRAMS, KubeCase
from operator_kube import Refused, eventually

PROGRAM = Path(os.environ.get("WEBHOOK_SERVER", PROGRAMS / "webhook_server"))
NAME = "test-webhook"
GROUP = "webhook.test"
# Certificates that live for seconds, so that a test sees generations of them.
LIVES = {"SERVING_LIFE": "36", "CA_LIFE": "48", "OVERLAP": "10"}


def kubectl(*arguments: str, **options):
    return clusters.ask(NAME, *arguments, **options)


def config_map(name: str, **data: str) -> dict:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


class WebhookTest(KubeCase):
    cluster = NAME

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The control plane has a network of its own; this is our side of the wire to it.
        where = urlsplit(cls.environment["KUBE_URL"])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((where.hostname, where.port))
            cls.address = probe.getsockname()[0]
        environment = {**cls.environment, **LIVES, "ADDRESS": cls.address}
        server = subprocess.Popen([PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(server.stdout.close)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        cls.port = int(server.stdout.readline())
        cls.install()

    @classmethod
    def install(cls):
        clusters.apply(NAME, *cls.webhooks(), cls.crd(), *cls.api_service())
        eventually(cls.bundles_are_there, "the authorities in the configurations")
        kubectl("wait", "--for=condition=Established", f"crd/things.{GROUP}", "--timeout=30s")
        service = f"apiservice/v1.served.{GROUP}"
        done = kubectl("wait", "--for=condition=Available", service, "--timeout=60s", check=False)
        if done.returncode != 0:
            raise AssertionError(kubectl("get", service, "-o", "jsonpath={.status}").stdout)

    @classmethod
    def webhooks(cls):
        for kind, path in ("Validating", "validate"), ("Mutating", "mutate"):
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": "webhook-test"},
                "webhooks": [
                    {
                        "name": f"{path}.{GROUP}",
                        "clientConfig": {"url": f"https://{cls.address}:{cls.port}/{path}"},
                        "rules": [
                            {
                                "apiGroups": [""],
                                "apiVersions": ["v1"],
                                "operations": ["CREATE", "UPDATE"],
                                "resources": ["configmaps"],
                            }
                        ],
                        "namespaceSelector": {
                            "matchLabels": {"kubernetes.io/metadata.name": "default"}
                        },
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                        "failurePolicy": "Fail",
                    }
                ],
            }

    @classmethod
    def crd(cls) -> dict:
        def version(name: str, field: str, storage: bool) -> dict:
            spec = {"type": "object", "properties": {field: {"type": "integer"}}}
            schema = {"type": "object", "properties": {"spec": spec}}
            return {
                "name": name,
                "served": True,
                "storage": storage,
                "schema": {"openAPIV3Schema": schema},
            }

        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing", "listKind": "ThingList"},
                "versions": [version("v1", "size", True), version("v2", "replicas", False)],
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": {"url": f"https://{cls.address}:{cls.port}/convert"},
                    },
                },
            },
        }

    @classmethod
    def api_service(cls):
        # We run beside the cluster, not in it: the Service is another name for our address.
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "webhook", "namespace": "default"},
            "spec": {
                "type": "ExternalName",
                "externalName": cls.address,
                "ports": [{"port": cls.port}],
            },
        }
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1.served.{GROUP}"},
            "spec": {
                "group": f"served.{GROUP}",
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"name": "webhook", "namespace": "default", "port": cls.port},
            },
        }

    @classmethod
    def bundles_are_there(cls) -> bool:
        services = "/apis/apiregistration.k8s.io/v1/apiservices"
        kind = cls.api.get("CustomResourceDefinition", None, f"things.{GROUP}")
        return all(
            (
                cls.published("Validating"),
                cls.published("Mutating"),
                kind["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
                cls.api.call("GET", f"{services}/v1.served.{GROUP}")["spec"]["caBundle"],
            )
        )

    @classmethod
    def published(cls, which: str) -> str:
        """The authorities by whom the API server knows our webhooks."""
        made = cls.api.get(f"{which}WebhookConfiguration", None, "webhook-test")
        return base64.b64decode(made["webhooks"][0]["clientConfig"]["caBundle"]).decode()

    def secret(self) -> dict[str, str]:
        data = self.api.get("Secret", "default", "webhook-certs")["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def apply(self, one: dict, check=True):
        """As people do, who read what kubectl says."""
        return kubectl("apply", "-f", "-", text=json.dumps(one), check=check)

    def test_a_denial_reaches_the_user_with_its_reason(self):
        done = self.apply(config_map("denied", forbidden="x"), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("data.forbidden: nobody may set it", done.stderr)
        self.assertIn("denied the request", done.stderr)

    def test_a_webhook_that_cannot_tell_is_left_to_the_failure_policy(self):
        done = self.apply(config_map("broken", broken="x"), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("failed calling webhook", done.stderr)
        self.assertIn("the webhook failed", done.stderr)

    def test_a_warning_is_shown_and_an_object_is_changed(self):
        done = self.apply(config_map("warned", old="x"))
        self.assertIn("Warning: data.old: use data.new instead", done.stderr)
        labels = json.loads(kubectl("get", "configmap", "warned", "-o", "json").stdout)["metadata"]
        self.assertIn(f"{GROUP}/by", labels["labels"])

    def test_objects_are_converted_there_and_back(self):
        thing = {"kind": "Thing", "metadata": {"name": "a"}}
        self.apply({**thing, "apiVersion": f"{GROUP}/v2", "spec": {"replicas": 3}})
        for version, field in ("v1", "size"), ("v2", "replicas"):
            got = kubectl("get", f"things.{version}.{GROUP}", "a", "-o", "json").stdout
            self.assertEqual(json.loads(got)["spec"], {field: 3})
        bad = {**thing, "apiVersion": f"{GROUP}/v2", "metadata": {"name": "b"}, "spec": {}}
        done = self.apply(bad, check=False)
        self.assertIn("spec.replicas: it is missing", done.stderr)

    def test_the_aggregated_api_knows_its_users_and_asks_what_they_may(self):
        path = f"/apis/served.{GROUP}/v1/namespaces/default/identities/x"
        mine = json.loads(kubectl("get", "--raw", path).stdout)
        self.assertEqual(mine["asked"], "x")
        self.assertIn("system:authenticated", mine["groups"])

        as_ann = ("--as=ann", "--as-group=dev", "--as-group=system:authenticated")
        refused = kubectl("get", "--raw", path, *as_ann, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Forbidden", refused.stderr)
        role = "identity-reader"
        kubectl("create", "role", role, "--verb=get", f"--resource=identities.served.{GROUP}")
        kubectl("create", "rolebinding", role, f"--role={role}", "--user=ann")
        eventually(
            lambda: kubectl("get", "--raw", path, *as_ann, check=False).returncode == 0,
            "the permission",
        )
        ann = json.loads(kubectl("get", "--raw", path, *as_ann).stdout)
        self.assertEqual(ann["user"], "ann")
        self.assertIn("dev", ann["groups"])
        self.assertIn("identities", kubectl("api-resources", f"--api-group=served.{GROUP}").stdout)

    def test_headers_that_anybody_could_send_are_not_believed(self):
        done = subprocess.run(
            ["curl", "-sk", "-H", "X-Remote-User: admin", "-H", "X-Remote-Group: system:masters",
             f"https://{self.address}:{self.port}/apis/served.{GROUP}/v1/namespaces/default/identities/x"],
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        self.assertEqual(json.loads(done.stdout)["code"], 401)

    def test_certificates_rotate_under_load_and_nobody_notices(self):
        before = self.secret()
        failures: list[str] = []
        done = threading.Event()
        counts = {"api": 0, "handshakes": 0}

        def through_the_api_server():
            while not done.wait(0.05):
                counts["api"] += 1
                try:
                    self.api.create(config_map("load"), dry_run=True)
                except (Refused, OSError) as problem:
                    failures.append(str(problem))

        # What a caller does that knows the bundle of a moment ago, with a new connection each time.
        def by_fresh_handshakes():
            while not done.is_set():
                context = ssl.create_default_context(cadata=self.published("Validating"))
                for _ in range(10):
                    counts["handshakes"] += 1
                    try:
                        self.handshake(context)
                    except (OSError, ssl.SSLError) as problem:
                        failures.append(str(problem))
                    time.sleep(0.05)

        threads = [
            threading.Thread(target=f) for f in (through_the_api_server, by_fresh_handshakes)
        ]
        for thread in threads:
            thread.start()
        serving, bundles = {before["tls.crt"]}, {before["ca.crt"]}
        try:
            eventually(
                lambda: self.note(serving, bundles) and len(serving) > 4 and len(bundles) > 3,
                "several generations of certificates",
                seconds=240,
                every=0.2,
            )
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        print(f"{counts}, {len(serving)} certificates, {len(bundles)} bundles", flush=True)

    def note(self, serving: set, bundles: set) -> bool:
        now = self.secret()
        serving.add(now["tls.crt"])
        bundles.add(now["ca.crt"])
        return True

    def handshake(self, context: ssl.SSLContext):
        with socket.create_connection((self.address, self.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="webhook.default.svc"):
                pass


if __name__ == "__main__":
    unittest.main()
