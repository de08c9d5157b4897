"""Talking to a cluster: reading its API, applying objects through kubectl, asking its DNS."""

import http.client
import json
import os
import socket
import ssl
import struct
import subprocess
from datetime import datetime

from ..console import Failure
from . import parts
from .layout import API_PORT, Cluster


def environment(cluster: Cluster) -> dict[str, str]:
    """This machine's, pointed at the cluster. Its address must not be sought behind a proxy."""
    own = {"KUBECONFIG": str(cluster.kubeconfig)}
    for name in ("NO_PROXY", "no_proxy"):
        before = os.environ.get(name)
        own[name] = ",".join(filter(None, [before, cluster.network, ".svc", ".cluster.local"]))
    return {**os.environ, **own}


def kubectl(cluster: Cluster, *arguments: str, text: str | None = None, timeout=30.0):
    """The finished process, its output captured; the caller looks at the return code."""
    argv = [parts.kubectl(), f"--request-timeout={timeout:.0f}s", *arguments]
    try:
        return subprocess.run(
            argv,
            input=text,
            env=environment(cluster),
            capture_output=True,
            text=True,
            timeout=timeout + 5,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"no answer within {timeout:.0f}s")


def get(cluster: Cluster, path: str, timeout: float = 5.0) -> tuple[int, bytes]:
    """Status and body of a GET as the administrator; status 0 if there is no answer."""
    try:
        tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        address = cluster.control_plane.address
        line = http.client.HTTPSConnection(address, API_PORT, timeout=timeout, context=tls)
        try:
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()
    except (OSError, http.client.HTTPException):
        return 0, b""


def is_ready(cluster: Cluster) -> bool:
    return get(cluster, "/readyz", timeout=2.0) == (200, b"ok")


def exists(cluster: Cluster, path: str) -> bool:
    return get(cluster, path)[0] == 200


def apply(cluster: Cluster, objects: list[dict]) -> None:
    """Server-side, so that it may be repeated and leaves alone what others set."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    options = ["--server-side", "--force-conflicts", "--field-manager=dev-cluster", "-f", "-"]
    answer = kubectl(cluster, "apply", *options, text=text, timeout=60)
    if answer.returncode != 0:
        reasons = "\n".join(answer.stderr.splitlines()[:5])
        raise Failure(f"the API server refuses the add-ons:\n{reasons}")


def ready_nodes(cluster: Cluster) -> dict[str, float]:
    """The nodes that are ready, and when (seconds since 1970) each last said so."""
    status, body = get(cluster, "/api/v1/nodes")
    if status != 200:
        return {}
    return {
        node["metadata"]["name"]: _seconds(condition["lastHeartbeatTime"])
        for node in json.loads(body)["items"]
        for condition in node["status"].get("conditions", [])
        if condition["type"] == "Ready" and condition["status"] == "True"
    }


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def dns_answers(cluster: Cluster) -> bool:
    """Asks the cluster's DNS service, through kube-proxy, for the address of the API."""
    name = b"".join(
        bytes([len(label)]) + label.encode()
        for label in ("kubernetes", "default", "svc", "cluster", "local")
    )
    header = struct.pack(">HHHHHH", 4711, 0x0100, 1, 0, 0, 0)
    question = name + b"\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(1.0)
        try:
            asked.sendto(header + question, (cluster.dns_service, 53))
            return socket.inet_aton(cluster.api_service) in asked.recv(512)
        except OSError:
            return False
