"""`dev/cluster up`: makes a cluster, or what is missing of one, and waits until it works.

Every step makes only what is not there, so a run that was interrupted, or a cluster of which a part
died, is completed by running it again.
"""

import json

from ..console import Failure, Steps, say, tail
from ..process import wait_for
from . import addons, api, control_plane, down, network, node, parts, pki, processes, registry
from .layout import MAX_NODES, Cluster, Node

PATIENCE = 120.0


def up(name: str, node_count: int, feature_gates: dict[str, bool], audit: bool, jobs) -> None:
    if not 0 <= node_count <= MAX_NODES:
        raise Failure(f"a cluster has 1 to {MAX_NODES} nodes, not {node_count}")
    with registry.changing(name):
        cluster = registry.find(name)
        if cluster is not None and not registry.from_this_boot(cluster):
            say(f"The machine was restarted since '{name}' was made; it is made anew.")
            down.remove(cluster)
            cluster = None
        if cluster is not None:
            _check_fits(cluster, node_count, feature_gates, audit)
            if cluster.node_count >= node_count and runs(cluster):
                if not _all_volumes_there(cluster):
                    _apply_addons(cluster)
                say(f"Cluster '{name}' is already running.")
                _tell(cluster)
                return
        _make(name, cluster, node_count, feature_gates, audit, jobs)


def runs(cluster: Cluster) -> bool:
    """Whether everything of it lives and answers now."""
    wanted = control_plane.components(cluster) + [n.label for n in cluster.nodes]
    if any(processes.daemon(cluster, name).pid() is None for name in wanted):
        return False
    if not api.is_ready(cluster):
        return False
    return not cluster.nodes or (not _not_ready(cluster) and api.dns_answers(cluster))


def _not_ready(cluster: Cluster) -> list[Node]:
    """For a while after a node's death the API believes what it said before: it must have spoken
    since its present process was started."""
    said = api.ready_nodes(cluster)
    started = {
        n.name: processes.daemon(cluster, n.label).record.stat().st_mtime for n in cluster.nodes
    }
    return [n for n in cluster.nodes if said.get(n.name, 0) < started[n.name]]


def _check_fits(cluster: Cluster, node_count: int, feature_gates: dict, audit: bool) -> None:
    if 0 < node_count < cluster.node_count:
        raise Failure(
            f"cluster '{cluster.name}' has {cluster.node_count} nodes and cannot shrink to "
            f"{node_count}; 'dev/cluster down' first"
        )
    if feature_gates and feature_gates != cluster.feature_gates:
        raise Failure(f"cluster '{cluster.name}' has other feature gates; 'dev/cluster down' first")
    if audit and not cluster.audit:
        raise Failure(f"cluster '{cluster.name}' keeps no audit log; 'dev/cluster down' first")


def _make(name, cluster: Cluster | None, node_count: int, feature_gates, audit, jobs) -> None:
    with_nodes = node_count or (cluster and cluster.node_count)
    steps = Steps(parts.STEPS + (6 if with_nodes else 3))
    built = parts.build(jobs, steps)
    if cluster is None:
        cluster = registry.create(name, node_count, feature_gates, audit)
    elif cluster.node_count < node_count:
        cluster = registry.resize(cluster, node_count)
    processes.end_strays(cluster)
    steps.next(f"network {cluster.network} on bridge {cluster.bridge}")
    network.ensure(cluster)
    steps.next("etcd and certificates")
    control_plane.ensure_etcd(cluster, built)
    pki.ensure(cluster)
    steps.next("control plane: " + ", ".join(control_plane.components(cluster)[1:]))
    control_plane.ensure(cluster, built)
    if cluster.node_count:
        _make_nodes(cluster, built, steps)
    steps.done(f"Cluster '{name}' runs.")
    _tell(cluster)


def _make_nodes(cluster: Cluster, built: parts.Parts, steps: Steps) -> None:
    steps.next("nodes: " + ", ".join(n.name for n in cluster.nodes))
    for one in cluster.nodes:
        node.ensure(one, built)
    steps.next("add-ons: DNS and volumes")
    _apply_addons(cluster)
    steps.next("waiting for the nodes and DNS")

    def ready() -> bool:
        for one in cluster.nodes:
            node.check_alive(one)
        return not _not_ready(cluster)

    if not wait_for(ready, PATIENCE, every=0.2):
        late = _not_ready(cluster) or cluster.nodes
        log = cluster.log(f"kubelet-{late[0].label}")
        names = ", ".join(one.name for one in late)
        raise Failure(f"not ready: {names}. Read {log}; it ends with:\n{tail(log, 8)}")
    if not wait_for(lambda: api.dns_answers(cluster), PATIENCE, every=0.2):
        raise Failure(
            "the cluster's DNS does not answer. See 'dev/cluster --name "
            f"{cluster.name} kubectl -n kube-system describe "
            f"pods' and {cluster.log('kube-proxy-n1')}"
        )


def _all_volumes_there(cluster: Cluster) -> bool:
    if not cluster.node_count:
        return True
    _, body = api.get(cluster, "/api/v1/persistentvolumes")
    there = {volume["metadata"]["name"] for volume in json.loads(body or "{}").get("items", [])}
    return there.issuperset(addons.volume_names())


def _apply_addons(cluster: Cluster) -> None:
    """Also again in a running cluster: volumes whose claims are gone must be made anew."""
    for name in addons.volume_names():
        folder = cluster.volumes / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)  # Pods run as many users.
    api.apply(cluster, addons.objects(cluster))


def _tell(cluster: Cluster) -> None:
    say(f"  API         {cluster.api_url}")
    say(f"  kubeconfig  {cluster.kubeconfig}")
    say(f"  logs        {cluster.folder / 'log'}")
