#!/usr/bin/python3
"""dev/cluster with two nodes: what later tests take for granted is shown to hold, and our client's way to
pods, which needs a real kubelet, leads there."""

import base64
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import clusters
from clusters import ClusterTest, apply, killed_up, kubectl, run
from kube_case import PROGRAMS, connection
from msdev.cluster.layout import CLUSTERS
from msdev.cluster.parts import POD_IMAGE

NAME = "test-nodes"
NODES = (f"{NAME}-1", f"{NAME}-2")
BOUND = "--timeout=60s"


def container(*command: str) -> dict:
    return {
        "name": "main",
        "image": POD_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/pod", *command],
    }


def pod(name: str, node: str | None = None, command=("serve", ":8080"), **spec) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "containers": [container(*command)],
            "terminationGracePeriodSeconds": 0,
            **({"nodeName": node} if node else {}),
            **spec,
        },
    }


def service(name: str, port: int = 8080, **spec) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": port}], **spec},
    }


def budget(name: str) -> dict:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
    }


def wait_ready(*names: str) -> None:
    kubectl(NAME, "wait", BOUND, "--for=condition=Ready", *(f"pod/{n}" for n in names))


def field(thing: str, path: str) -> str:
    return kubectl(NAME, "get", thing, "-o", f"jsonpath={{{path}}}")


def in_pod(name: str, *command: str) -> str:
    return kubectl(NAME, "exec", name, "--", "/pod", *command)


def eventually(what, seconds: float = 30.0):
    """Returns what `what()` returns as soon as it does not raise."""
    end = time.monotonic() + seconds
    while True:
        try:
            return what()
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Self-signed, for an address or a DNS name."""
    kind = "IP" if name.replace(".", "").isdigit() else "DNS"
    files = folder / "tls.crt", folder / "tls.key"
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    argv += ["-subj", "/CN=webhook", "-addext", f"subjectAltName={kind}:{name}"]
    subprocess.run([*argv, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def webhook(name: str, client: dict, authority: Path) -> dict:
    """Asked about ConfigMaps in the namespace of the same name."""
    bundle = base64.b64encode(authority.read_bytes()).decode()
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.mainspring.dev",
                "clientConfig": {**client, "caBundle": bundle},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 5,
            }
        ],
    }


class Refuser(BaseHTTPRequestHandler):
    """An admission webhook on this machine that says no."""

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": review["request"]["uid"], "allowed": False}
        answer["status"] = {"message": "refused by a webhook on the host"}
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class TwoNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        clusters.reserve(cls, NAME)
        # Killed where the nodes just begin, and finished by the second: as if by an impatient user.
        killed_up(NAME, "up", step="waiting for the nodes")
        run(NAME, "up")
        cls.prefix = f"10.{100 + clusters.index_of(NAME)}"
        apply(NAME, pod("a", NODES[0]), pod("b", NODES[1]), service("a"), service("b"))
        wait_ready("a", "b")

    def test_pods_on_two_nodes_talk_both_ways_with_their_own_addresses(self):
        address = {name: field(f"pod/{name}", ".status.podIP") for name in "ab"}
        for one, other in ("ab", "ba"):
            answer = in_pod(one, "get", f"http://{address[other]}:8080").split()
            self.assertEqual(answer, [other, address[one]])

    def test_names_of_services_resolve_and_answer(self):
        for one, other in ("ab", "ba"):
            address = field(f"service/{other}", ".spec.clusterIP")
            for name in (other, f"{other}.default.svc.cluster.local"):
                self.assertEqual(in_pod(one, "resolve", name).split(), [address])
            answer = eventually(lambda: in_pod(one, "get", f"http://{other}:8080"))
            self.assertEqual(answer.split()[0], other)

    def test_a_service_answers_pods_on_the_node_of_its_own(self):
        apply(NAME, pod("beside-a", NODES[0]))
        wait_ready("beside-a")
        answer = eventually(lambda: in_pod("beside-a", "get", "http://a:8080"))
        self.assertEqual(answer.split()[0], "a")

    def test_an_unknown_name_fails_at_once(self):
        done = run(NAME, "kubectl", "exec", "a", "--", "/pod", "resolve", "x.invalid", check=False)
        self.assertIn("no such host", done.stderr)

    def test_headless_services_give_pods_names(self):
        apply(
            NAME,
            service("named", clusterIP="None"),
            pod("named", NODES[1], hostname="first", subdomain="named"),
        )
        wait_ready("named")
        address = field("pod/named", ".status.podIP")
        resolved = lambda: self.assertEqual(
            in_pod("a", "resolve", "first.named").split(), [address]
        )
        eventually(resolved)

    def test_logs_arrive(self):
        self.assertIn("serving on :8080", kubectl(NAME, "logs", "a"))

    def test_the_machine_reaches_services_and_node_ports(self):
        apply(NAME, {**service("b", type="NodePort"), "metadata": {"name": "node-port"}})
        port = field("service/node-port", ".spec.ports[0].nodePort")
        urls = [f"http://{field('service/b', '.spec.clusterIP')}:8080"]
        urls += [f"http://{self.prefix}.0.{10 + n}:{port}" for n in (1, 2)]
        for url in urls:
            with self.subTest(url=url):
                self.assertTrue(eventually(lambda: self.fetch(url)).startswith("b "))

    def fetch(self, url: str) -> str:
        try:
            with build_opener(ProxyHandler({})).open(url, timeout=5) as answer:
                return answer.read().decode()
        except OSError as error:
            self.fail(f"{url}: {error}")

    def test_a_daemon_set_runs_on_every_node(self):
        labels = {"app": "everywhere"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container("pause")]}}
        apply(
            NAME,
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "everywhere"},
                "spec": {"selector": {"matchLabels": labels}, "template": template},
            },
        )
        kubectl(NAME, "rollout", "status", BOUND, "daemonset/everywhere")
        where = kubectl(
            NAME, "get", "pods", "-l", "app=everywhere", "-o", "jsonpath={.items[*].spec.nodeName}"
        )
        self.assertEqual(sorted(where.split()), list(NODES))

    def test_a_claim_binds_and_is_shared_between_nodes_also_by_ordinary_users(self):
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "shared"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "20Gi"}},
            },
        }
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}
        users = []
        for name, node in zip(("w", "r"), NODES):
            one = pod(name, node, volumes=[volume], securityContext={"runAsUser": 1000})
            one["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
            users.append(one)
        apply(NAME, claim, *users)
        wait_ready("w", "r")
        self.assertEqual(field("pvc/shared", ".status.phase"), "Bound")
        in_pod("w", "write", "/data/file", "from w")
        self.assertEqual(in_pod("r", "read", "/data/file"), "from w")
        name = field("pvc/shared", ".spec.volumeName")
        kubectl(NAME, "delete", "pod/w", "pod/r", "pvc/shared", BOUND)
        kubectl(NAME, "wait", "--for=delete", BOUND, f"pv/{name}")
        self.assertFalse((CLUSTERS / NAME / "tmp/volumes" / name).exists())

    def test_a_gang_is_scheduled_when_it_is_complete(self):
        group = {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": "gang"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }
        member = {"schedulingGroup": {"podGroupName": "gang"}}
        apply(NAME, group, pod("gang-1", **member), pod("alone"))
        wait_ready("alone")
        self.assertEqual(field("pod/gang-1", ".spec.nodeName"), "")
        apply(NAME, pod("gang-2", **member))
        wait_ready("gang-1", "gang-2")

    def test_our_client_does_to_pods_what_kubectl_does(self):
        """exec, attach, port-forward, logs, binding and eviction. Nobody schedules `unbound`: it is bound."""
        apply(NAME, pod("main"), pod("expendable"), pod("unbound", schedulerName="none"))
        apply(NAME, budget("main"))
        wait_ready("main", "expendable")
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **connection(NAME, Path(folder))}
            environment["UNBOUND_UID"] = field("pod/unbound", ".metadata.uid")
            environment["NODE"] = field("pod/main", ".spec.nodeName")
            done = subprocess.run([PROGRAMS / "pod_streams"], env=environment, timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(field("pod/unbound", ".metadata.annotations.mainspring/test"), "bound")
        wait_ready("unbound")
        kubectl(NAME, "wait", BOUND, "--for=delete", "pod/expendable")

    def test_a_webhook_on_the_machine_is_asked(self):
        address = f"{self.prefix}.0.1"
        with tempfile.TemporaryDirectory() as folder:
            files = certificate(Path(folder), address)
            server = ThreadingHTTPServer((address, 0), Refuser)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*files)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            url = f"https://{address}:{server.server_address[1]}/"
            self.assert_refused("on-host", {"url": url}, files[0], "by a webhook on the host")

    def test_a_webhook_in_a_pod_is_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            files = certificate(Path(folder), "in-pod.default.svc")
            secret = ["create", "secret", "tls", "in-pod"]
            kubectl(NAME, *secret, f"--cert={files[0]}", f"--key={files[1]}")
            server = pod(
                "in-pod",
                NODES[1],
                ("webhook", ":8443", "/tls/tls.crt", "/tls/tls.key"),
                volumes=[{"name": "tls", "secret": {"secretName": "in-pod"}}],
            )
            server["spec"]["containers"][0]["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
            apply(NAME, server, service("in-pod", 8443))
            wait_ready("in-pod")
            where = {"service": {"name": "in-pod", "namespace": "default", "port": 8443}}
            self.assert_refused("in-pod", where, files[0], "by a webhook in a pod")

    def assert_refused(self, name: str, client: dict, authority: Path, message: str):
        kubectl(NAME, "create", "namespace", name)
        apply(NAME, webhook(name, client, authority))
        create = ["kubectl", "-n", name, "create", "configmap", "--dry-run=server", "x"]
        eventually(lambda: self.assertIn(message, run(NAME, *create, check=False).stderr))

    def test_an_image_archive_can_be_loaded(self):
        archive = next(Path.home().glob(".cache/mainspring/scratch-pod/*/image.tar"))
        run(NAME, "load", str(archive))

    def test_commands_run_inside_a_node(self):
        self.assertEqual(run(NAME, "node-exec", "2", "hostname").stdout.strip(), NODES[1])
        self.assertEqual(run(NAME, "node-exec", "3", "true", check=False).returncode, 1)

    def test_z_a_killed_node_is_started_again_and_so_are_its_pods(self):
        """Last by its name, for it disturbs the others."""
        record = json.loads((CLUSTERS / NAME / "run" / "n2.json").read_text())
        # Where Services answer neighbours only by this switch, `up` sees to it, too.
        switch = "/proc/sys/net/bridge/bridge-nf-call-iptables"
        in_node = lambda what: run(  # noqa: E731
            NAME, "node-exec", "2", "sh", "-c", f"[ ! -e {switch} ] || {what} {switch}"
        )
        in_node("echo 0 >")
        subprocess.run(["kill", "-KILL", str(record["pid"])], check=True)
        self.assertEqual(run(NAME, "status", check=False).returncode, 1)
        run(NAME, "up")
        self.assertIn(in_node("cat").stdout.strip(), ("", "1"))
        address = field("pod/a", ".status.podIP")
        eventually(lambda: in_pod("b", "get", f"http://{address}:8080"), 90)

    def test_helm_sees_the_cluster(self):
        self.assertEqual(json.loads(run(NAME, "helm", "list", "-o", "json").stdout), [])


CUT = "test-nodes-cut"


def there_is_a_container() -> bool:
    """By its control group, below those of the node and of a pod: of DNS, for which `up` waits."""
    below = f"mscl-{CUT}/n*/kubepods/**/pod*/*/cgroup.procs"
    return any(next(Path("/sys/fs/cgroup").glob(f"{at}{below}"), None) for at in ("", "*/"))


class Interrupted(ClusterTest):
    """kill -9 of `up` while nodes are made: containers, mounts and cgroups of theirs may be there."""

    names = (CUT,)
    MOMENTS = (
        ("nodes:", 0.0),
        ("nodes:", 0.7),
        ("add-ons", 0.0),
        ("waiting for the nodes", there_is_a_container),
    )

    def test_down_cleans_what_a_killed_up_left(self):
        (name,) = self.names
        for step, then in self.MOMENTS:
            with self.subTest(step=step, then=then):
                killed_up(name, "up", step=step, then=then)
                self.down(name)
                self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
