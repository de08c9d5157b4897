"""JobSet and LeaderWorkerSet on a cluster: their kinds, their webhooks, and their controllers as processes of
this machine, which go with the cluster. Built from the pinned Go module dev/workloads."""

import base64
import json
import socket
from dataclasses import dataclass
from pathlib import Path

from .. import golang
from ..cluster_client import ClusterClient
from ..console import Failure
from ..process import wait_for
from . import pki, processes, registry
from .layout import Cluster

PATIENCE = 60.0


@dataclass(frozen=True)
class Part:
    name: str
    port: int
    module: str
    kind: str  # The file that defines it.
    webhooks: str  # The file with their configuration.
    label: str  # Only of pods that have it the webhooks are asked.


PARTS = (
    Part(
        "jobset",
        9443,
        "sigs.k8s.io/jobset",
        "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
        "config/components/webhook/manifests.yaml",
        "jobset.sigs.k8s.io/jobset-name",
    ),
    Part(
        "lws",
        9444,
        "sigs.k8s.io/lws",
        "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
        "config/webhook/manifests.yaml",
        "leaderworkerset.sigs.k8s.io/name",
    ),
)


def program(jobs: int | None = None) -> Path:
    """The executable; beside it one link and two files for each part."""
    files = [(f"{part.name}-kind.yaml", part.module, part.kind) for part in PARTS]
    files += [(f"{part.name}-webhooks.yaml", part.module, part.webhooks) for part in PARTS]
    links = tuple(part.name for part in PARTS)
    return golang.build("workloads", links=links, jobs=jobs, files=tuple(files))


def install(name: str) -> None:
    """On the running cluster of this name. Returns when both controllers answer."""
    cluster, client, folder = registry.existing(name), ClusterClient(name), program().parent
    for part in PARTS:
        # Too large for the annotation of `apply`.
        client.kubectl("create", "-f", str(folder / f"{part.name}-kind.yaml"))
        pki.serve(cluster, part.name)
        argv = [folder / part.name, "--kubeconfig", cluster.kubeconfig, "--certs", cluster.pki]
        argv += ["--host", cluster.host_address, "--port", part.port]
        processes.daemon(cluster, part.name).start(argv, env=processes.environment(cluster))
    for part in PARTS:
        _wait_until_it_answers(cluster, part)
        for configuration in _webhooks(cluster, part, folder):
            client.kubectl("create", "-f", "-", stdin=json.dumps(configuration))


def _wait_until_it_answers(cluster: Cluster, part: Part) -> None:
    def answers() -> bool:
        try:
            socket.create_connection((cluster.host_address, part.port), 1).close()
            return True
        except OSError:
            return False

    if not wait_for(answers, PATIENCE, every=0.1):
        log = processes.daemon(cluster, part.name).log
        raise Failure(f"{part.name} does not answer. Read {log}")


def _webhooks(cluster: Cluster, part: Part, folder: Path) -> list[dict]:
    """As the project ships them, with another address: here they are not behind a Service."""
    import yaml  # A Debian package that `dev/setup` may not have installed yet.

    authority = base64.b64encode((cluster.pki / "ca.crt").read_bytes()).decode()
    address = f"https://{cluster.host_address}:{part.port}"
    found = list(yaml.safe_load_all((folder / f"{part.name}-webhooks.yaml").read_text()))
    for configuration in found:
        configuration["metadata"]["name"] = part.name
        configuration["webhooks"] = [w for w in configuration["webhooks"] if _is_served(w)]
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": address + path, "caBundle": authority}
            if webhook["rules"][0]["resources"] == ["pods"]:
                exists = {"key": part.label, "operator": "Exists"}
                webhook["objectSelector"] = {"matchExpressions": [exists]}
    return found


def _is_served(webhook: dict) -> bool:
    return webhook["rules"][0]["resources"] != ["disaggregatedsets"]
