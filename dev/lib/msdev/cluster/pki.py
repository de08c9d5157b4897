"""The cluster's certificates and kubeconfigs, made by openssl, each only if it is missing.

Two authorities, as Kubernetes wants it: `ca` for everybody, `front-proxy-ca` for the API server's
calls to aggregated API servers. All of it is deleted together with the cluster.
"""

import base64
import json
import os
import subprocess
from pathlib import Path

from .layout import Cluster
from .processes import environment

DAYS = "3650"


def ensure(cluster: Cluster) -> None:
    cluster.pki.mkdir(parents=True, exist_ok=True)
    cluster.pki.chmod(0o700)
    _authority(cluster, "ca")
    _authority(cluster, "front-proxy-ca")
    _signing_key(cluster)
    _certificate(cluster, "apiserver", "/CN=kube-apiserver", names=_api_names(cluster))
    _certificate(cluster, "apiserver-kubelet", "/O=system:masters/CN=kube-apiserver-kubelet")
    _certificate(cluster, "front-proxy", "/CN=front-proxy-client", authority="front-proxy-ca")
    users = {
        "controller-manager": "/CN=system:kube-controller-manager",
        "scheduler": "/CN=system:kube-scheduler",
        "proxy": "/CN=system:kube-proxy",
        "admin": "/O=system:masters/CN=admin",
    }
    for node in cluster.nodes:
        users[node.label] = f"/O=system:nodes/CN=system:node:{node.name}"
        names = [f"DNS:{node.name}", f"IP:{node.address}"]
        _certificate(cluster, f"{node.label}-server", f"/CN={node.name}", names=names)
    for user, subject in users.items():
        _certificate(cluster, user, subject)
        _kubeconfig(cluster, user, cluster.pki / f"{user}.kubeconfig")
    _kubeconfig(cluster, "admin", cluster.kubeconfig)


def serve(cluster: Cluster, name: str) -> None:
    """NAME.crt and NAME.key, with which a process of this machine answers the API server."""
    names = [f"IP:{cluster.host_address}"]
    _certificate(cluster, name, f"/CN={name}", names=names)


def _api_names(cluster: Cluster) -> list[str]:
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    names += ["kubernetes.default.svc.cluster.local", "localhost"]
    addresses = [cluster.control_plane.address, cluster.api_service, "127.0.0.1"]
    return [f"DNS:{name}" for name in names] + [f"IP:{address}" for address in addresses]


def _authority(cluster: Cluster, name: str) -> None:
    options = ["-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE"]
    options += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    _request(cluster, name, options)


def _certificate(cluster: Cluster, name: str, subject: str, authority="ca", names=()) -> None:
    options = ["-subj", subject, "-CA", cluster.pki / f"{authority}.crt"]
    options += ["-CAkey", cluster.pki / f"{authority}.key"]
    options += ["-addext", "basicConstraints=critical,CA:FALSE"]
    options += ["-addext", "extendedKeyUsage=clientAuth,serverAuth"]
    if names:
        options += ["-addext", "subjectAltName=" + ",".join(names)]
    _request(cluster, name, options)


def _request(cluster: Cluster, name: str, options: list) -> None:
    folder = cluster.pki
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    if certificate.exists():
        return
    # The certificate appears last and at once: where it is, its key is too.
    unfinished = folder / f"{name}.unfinished"
    # The machine's own configuration would add extensions that contradict ours.
    config = folder / "openssl.cnf"
    config.write_text("[req]\ndistinguished_name = none\n[none]\n")
    argv = ["req", "-x509", "-new", "-nodes", "-days", DAYS, "-keyout", key]
    argv += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", unfinished]
    argv += ["-config", config, "-addext", "subjectKeyIdentifier=hash", *options]
    _openssl(cluster, argv)
    unfinished.rename(certificate)


def _signing_key(cluster: Cluster) -> None:
    """Of service account tokens."""
    folder = cluster.pki
    public, private = folder / "sa.pub", folder / "sa.key"
    if public.exists():
        return
    _openssl(cluster, ["genrsa", "-out", private, "2048"])
    unfinished = folder / "sa.unfinished"
    _openssl(cluster, ["rsa", "-in", private, "-pubout", "-out", unfinished])
    unfinished.rename(public)


def _openssl(cluster: Cluster, argv: list) -> None:
    """With the cluster's mark: where `up` is killed this goes on, and would write its key over that of
    the next `up`, whose certificate then fits no key. By the mark that `up`, or `down`, ends it first.
    """
    argv = ["openssl", *map(str, argv)]
    subprocess.run(argv, env=environment(cluster), check=True, capture_output=True)


def _kubeconfig(cluster: Cluster, user: str, file: Path) -> None:
    """Self-contained, so that it can be handed to any tool. JSON is YAML too."""
    if file.exists():
        return
    folder = cluster.pki
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster.name,
        "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": user}}],
        "clusters": [
            {
                "name": cluster.name,
                "cluster": {
                    "server": cluster.api_url,
                    "certificate-authority-data": _data(folder / "ca.crt"),
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _data(folder / f"{user}.crt"),
                    "client-key-data": _data(folder / f"{user}.key"),
                },
            }
        ],
    }
    unfinished = file.with_suffix(".unfinished")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as out:
        json.dump(config, out, indent=2)
    unfinished.rename(file)


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
