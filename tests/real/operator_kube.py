"""The Kubernetes API as the operator's tests speak it: objects in, objects out, refusals as exceptions."""

import http.client
import json
import os
import ssl
import threading
import time
from urllib.parse import quote, urlencode

SLINKY = "/apis/slinky.slurm.net/v1beta1"
# By kind: the API that serves it, its resource, and whether it lives in namespaces.
KINDS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "Service": ("/api/v1", "services", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "ControllerRevision": ("/apis/apps/v1", "controllerrevisions", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "CustomResourceDefinition": (
        "/apis/apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        False,
    ),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        False,
    ),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        False,
    ),
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        False,
    ),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        False,
    ),
    "Controller": (SLINKY, "controllers", True),
    "NodeSet": (SLINKY, "nodesets", True),
    "LoginSet": (SLINKY, "loginsets", True),
    "RestApi": (SLINKY, "restapis", True),
    "Accounting": (SLINKY, "accountings", True),
    "Token": (SLINKY, "tokens", True),
    "Cluster": ("/apis/slinky.slurm.net/v1alpha1", "clusters", True),
}
# How long a test waits for what should happen at once, before it gives up.
PATIENCE = float(os.environ.get("OPERATOR_TEST_PATIENCE", "90"))
PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "json": "application/json-patch+json",
}


class Refused(AssertionError):
    """An answer that is no success."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


def eventually(condition, what, seconds: float = PATIENCE, every: float = 0.1):
    """The first true value of condition(), asked again until time is up, the longer it takes the less
    often; `what` may be called for the story of the failure. A condition may fail by an assertion or
    by something that is absent.
    """
    end, pause = time.monotonic() + seconds, every
    while True:
        try:
            value, trouble = condition(), ""
        except (AssertionError, KeyError, IndexError, TypeError) as error:
            value, trouble = None, f" ({type(error).__name__}: {error})"
        if value:
            return value
        if time.monotonic() >= end:
            story = what() if callable(what) else what
            raise AssertionError(f"waited {seconds:.0f}s in vain: {story}{trouble}")
        time.sleep(pause)
        pause = min(pause * 1.2, every * 4)


class KubeApi:
    """As the cluster's administrator. Each thread has a connection of its own."""

    def __init__(self, cluster):
        self.address = cluster.control_plane.address
        self.tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self.tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self.lines = threading.local()
        self.warnings: list[str] = []  # Of the last answer.

    def call(self, method: str, path: str, body=None, content="application/json"):
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": content, "Accept": "application/json"}
        for attempt in (1, 2):
            line = getattr(self.lines, "line", None)
            if line is None:
                line = http.client.HTTPSConnection(self.address, 6443, context=self.tls, timeout=40)
                self.lines.line = line
            try:
                line.request(method, path, body=data, headers=headers)
                answer = line.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                # The server may have closed a line that lay idle.
                line.close()
                self.lines.line = None
                if attempt == 2:
                    raise
        self.warnings = answer.headers.get_all("Warning") or []
        try:
            result = json.loads(text or b"{}")
        except ValueError:
            result = {"message": text.decode(errors="replace")}
        if answer.status >= 300:
            raise Refused(answer.status, result.get("message", ""))
        return result

    def lines_of(self, path: str):
        """The JSON lines of an answer that goes on, such as a watch's, until it ends."""
        line = http.client.HTTPSConnection(self.address, 6443, context=self.tls, timeout=40)
        try:
            line.request("GET", path)
            answer = line.getresponse()
            if answer.status != 200:
                raise Refused(answer.status, answer.read().decode(errors="replace"))
            for one in answer:
                yield json.loads(one)
        finally:
            line.close()

    @staticmethod
    def path(kind: str, ns: str | None = None, name: str = "", sub: str = "") -> str:
        api, resource, namespaced = KINDS[kind]
        place = f"/namespaces/{ns}" if namespaced and ns else ""
        tail = "".join(f"/{quote(part)}" for part in (name, sub) if part)
        return f"{api}{place}/{resource}{tail}"

    def get(self, kind: str, ns: str | None, name: str) -> dict:
        return self.call("GET", self.path(kind, ns, name))

    def find(self, kind: str, ns: str | None, name: str) -> dict | None:
        try:
            return self.get(kind, ns, name)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def all(self, kind: str, ns: str | None = None, **selectors: str) -> list[dict]:
        """selectors: labelSelector, fieldSelector."""
        path = self.path(kind, ns) + ("?" + urlencode(selectors) if selectors else "")
        return self.call("GET", path)["items"]

    def create(self, *objects: dict, dry_run: bool = False) -> dict:
        for one in objects:
            path = self.path(one["kind"], one["metadata"].get("namespace"))
            made = self.call("POST", path + ("?dryRun=All" if dry_run else ""), one)
        return made

    def apply(self, *objects: dict) -> dict:
        for one in objects:
            meta = one["metadata"]
            path = self.path(one["kind"], meta.get("namespace"), meta["name"])
            path += "?fieldManager=test&force=true"
            made = self.call("PATCH", path, one, PATCHES["apply"])
        return made

    def patch(self, kind, ns, name, change, how: str = "merge", sub: str = "") -> dict:
        return self.call("PATCH", self.path(kind, ns, name, sub), change, PATCHES[how])

    def spec(self, kind: str, ns: str, name: str, **fields) -> dict:
        """Changes fields of an object's spec."""
        return self.patch(kind, ns, name, {"spec": fields})

    def annotate(self, kind: str, ns: str | None, name: str, annotations: dict) -> dict:
        """None removes one."""
        return self.patch(kind, ns, name, {"metadata": {"annotations": annotations}})

    def delete(self, kind: str, ns: str | None, name: str, **options) -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        try:
            self.call("DELETE", self.path(kind, ns, name), body)
        except Refused as refused:
            if refused.status != 404:
                raise

    def evict(self, ns: str, name: str) -> int:
        """The status of the answer: 201, or 429 where a budget forbids it."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": ns},
        }
        try:
            self.call("POST", self.path("Pod", ns, name, "eviction"), body)
        except Refused as refused:
            return refused.status
        return 201

    def token(self, ns: str, account: str) -> str:
        """Of a ServiceAccount, for two hours."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        body["spec"] = {"expirationSeconds": 7200}
        path = self.path("ServiceAccount", ns, account, "token")
        return self.call("POST", path, body)["status"]["token"]

    def events(self, ns: str, reason: str) -> list[dict]:
        return [e for e in self.all("Event", ns) if e.get("reason") == reason]
