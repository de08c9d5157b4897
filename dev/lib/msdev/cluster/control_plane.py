"""etcd and the control plane's daemons, in a network namespace of their own.

They share this machine's pid and mount namespaces; only the network is theirs, so that their fixed
ports never meet those of another cluster.
"""

import json

from ..console import Failure, tail
from ..process import wait_for
from . import api
from .layout import API_PORT, Cluster
from .network import inside
from .parts import Parts
from .processes import daemon, environment

PATIENCE = 90.0
ETCD = "http://127.0.0.1:2379"
ETCD_PEER = "http://127.0.0.1:2380"

# What the bridge between Slurm and Kubernetes builds on. DynamicResourceAllocation is locked to on
# in this version; it is named so that an older one would say so.
FEATURE_GATES = {
    "DynamicResourceAllocation": True,
    "DRAExtendedResource": True,
    "GenericWorkload": True,
    "GangScheduling": True,
}
API_VERSIONS = ["scheduling.k8s.io/v1alpha2=true"]


def feature_gates(cluster: Cluster) -> dict[str, bool]:
    return {**FEATURE_GATES, **cluster.feature_gates}


def components(cluster: Cluster) -> list[str]:
    """In the order of starting. Without nodes there is nothing to schedule."""
    names = ["etcd", "kube-apiserver", "kube-controller-manager"]
    return names + (["kube-scheduler"] if cluster.node_count else [])


def ensure_etcd(cluster: Cluster, parts: Parts) -> None:
    """Needs no certificates: the sooner it starts, the less the API server waits for it."""
    _start(cluster, "etcd", _etcd(cluster, parts))


def ensure(cluster: Cluster, parts: Parts) -> None:
    """Starts what does not run, and returns when the API is ready and its controllers work."""
    _start(cluster, "kube-apiserver", _apiserver(cluster, parts))
    _wait(cluster, "kube-apiserver", lambda: api.is_ready(cluster))
    manager = "kube-controller-manager"
    _start(cluster, manager, _controller_manager(cluster, parts))
    if cluster.node_count:
        start_scheduler(cluster, parts)
    # Pods cannot be made before their namespace has this; it is also a sign that controllers run.
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    for attempt in range(3):
        try:
            return _wait(cluster, manager, lambda: api.exists(cluster, account))
        except Failure:
            # It gives up where the API server does not know the tokens of its accounts yet. In a
            # pod it would be started again.
            if attempt == 2 or daemon(cluster, manager).pid() is not None:
                raise
            _start(cluster, manager, _controller_manager(cluster, parts))


def start_scheduler(cluster: Cluster, parts: Parts, flags: list[str] | None = None) -> None:
    """Also for who has made nodes that are not ours."""
    _start(cluster, "kube-scheduler", [*_scheduler(cluster, parts), *(flags or [])])


def _start(cluster: Cluster, name: str, argv: list) -> None:
    one = daemon(cluster, name)
    one.start([*inside(cluster.control_plane), *argv], env=environment(cluster))


def _wait(cluster: Cluster, last: str, condition) -> None:
    """For `condition`, while everything up to the component `last` must stay alive."""
    needed = components(cluster)[: components(cluster).index(last) + 1]

    def met() -> bool:
        for name in needed:
            if daemon(cluster, name).pid() is None:
                raise _broken(cluster, name, "ended")
        return condition()

    if not wait_for(met, PATIENCE, every=0.1):
        raise _broken(cluster, last, f"is not ready after {PATIENCE:.0f}s")


def _broken(cluster: Cluster, name: str, what: str) -> Failure:
    log = cluster.log(name)
    return Failure(f"{name} {what}. Read {log}; it ends with:\n{tail(log, 8)}")


def _etcd(cluster: Cluster, parts: Parts) -> list:
    data = cluster.folder / "etcd"
    data.mkdir(mode=0o700, exist_ok=True)
    return [
        parts.debian / "usr/bin/etcd",
        "--name=etcd",
        f"--data-dir={data}",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        f"--listen-peer-urls={ETCD_PEER}",
        f"--initial-advertise-peer-urls={ETCD_PEER}",
        f"--initial-cluster=etcd={ETCD_PEER}",
        "--unsafe-no-fsync",  # Nothing here is worth waiting for a disk.
        "--log-level=warn",
    ]


def _apiserver(cluster: Cluster, parts: Parts) -> list:
    pki = cluster.pki
    return [
        parts.kube / "kube-apiserver",
        f"--etcd-servers={ETCD}",
        f"--advertise-address={cluster.control_plane.address}",
        "--bind-address=0.0.0.0",
        f"--secure-port={API_PORT}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
        "--allow-privileged=true",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP,Hostname",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key",
        f"--service-cluster-ip-range={cluster.services}",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={pki}/front-proxy.crt",
        f"--proxy-client-key-file={pki}/front-proxy.key",
        f"--runtime-config={','.join(API_VERSIONS)}",
        _gates(cluster),
        *_audit(cluster),
    ]


def _audit(cluster: Cluster) -> list[str]:
    """Every write, with who made it and the answer; what was read is not worth a line."""
    if not cluster.audit:
        return []
    policy = cluster.folder / "audit-policy.json"
    rules = [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}]
    kind = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    policy.write_text(json.dumps({**kind, "omitStages": ["RequestReceived"], "rules": rules}))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={cluster.audit_log}"]


def _controller_manager(cluster: Cluster, parts: Parts) -> list:
    pki = cluster.pki
    return [
        parts.kube / "kube-controller-manager",
        *_as_user(cluster, "controller-manager"),
        f"--cluster-cidr={cluster.pods}",
        "--allocate-node-cidrs=false",
        f"--service-cluster-ip-range={cluster.services}",
        f"--root-ca-file={pki}/ca.crt",
        f"--service-account-private-key-file={pki}/sa.key",
        "--use-service-account-credentials=true",
        # Each controller asks for its own token first; the usual limit makes that take seconds.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        _gates(cluster),
    ]


def _scheduler(cluster: Cluster, parts: Parts) -> list:
    return [parts.kube / "kube-scheduler", *_as_user(cluster, "scheduler"), _gates(cluster)]


def _as_user(cluster: Cluster, user: str) -> list[str]:
    config = cluster.pki / f"{user}.kubeconfig"
    flags = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return [f"--{flag}={config}" for flag in flags] + [
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
    ]


def _gates(cluster: Cluster) -> str:
    gates = feature_gates(cluster).items()
    return "--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in gates)
