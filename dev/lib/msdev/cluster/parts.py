"""The programs and images a cluster is made of: built or unpacked once, then found in the cache.

Kubernetes, CoreDNS and helm are built from the pinned Go modules dev/kube, dev/coredns and
dev/helm; etcd, containerd, the CNI plugins and kubectl are Debian packages of a newer release,
unpacked beside the system; runc is this Debian's own, because newer ones need a newer C library.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from .. import debian, golang
from ..console import Failure, Steps
from ..paths import REPO
from ..scratch_image import scratch_image

COMPONENTS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)
PACKAGES = ["etcd-server", "containerd", "containernetworking-plugins", "kubectl"]
POD_IMAGE = "localhost/mainspring-dev/pod:1"
COREDNS_IMAGE = "localhost/mainspring-dev/coredns:1"
TOOLS = ["conntrack", "ip", "iptables", "mmdebstrap", "nft", "nsenter", "openssl", "runc"]
TOOLS += ["setpriv", "unshare"]
STEPS = 5  # That build() announces.


@dataclass(frozen=True)
class Parts:
    kube: Path  # The folder with one link a component.
    debian: Path  # The folder like / with what came in Debian packages.
    runc: Path
    images: list[Path]  # What every node must have before its first pod.


def packages() -> Path:
    return debian.unpacked("cluster", PACKAGES)


def kubectl() -> Path:
    return packages() / "usr/bin/kubectl"


def ctr() -> Path:
    return packages() / "usr/bin/ctr"


def helm(jobs: int | None = None) -> Path:
    return golang.build("helm", jobs=jobs)


def build(jobs: int | None = None, steps: Steps | None = None) -> Parts:
    """All parts, quick when nothing is missing. Without `steps` it says nothing."""
    _require_machine()
    announce = steps.next if steps else lambda what: None
    announce("Debian packages: " + ", ".join(PACKAGES))
    unpacked = packages()
    announce(f"Kubernetes {kubernetes_version()} (the first time: minutes)")
    kube = golang.build("kube", _version_flags(), COMPONENTS, jobs)
    announce("CoreDNS")
    coredns = golang.build("coredns", jobs=jobs)
    announce("helm")
    helm(jobs)
    announce("images of the cluster's own pods")
    pod = golang.build("pod", jobs=jobs)
    images = [
        scratch_image(POD_IMAGE, {"/pod": pod}, ["/pod", "pause"]),
        scratch_image(COREDNS_IMAGE, {"/coredns": coredns}, ["/coredns"]),
    ]
    return Parts(kube.parent, unpacked, Path(shutil.which("runc")), images)


def kubernetes_version() -> str:
    """Pinned in dev/kube/go.mod."""
    text = (REPO / "dev/kube/go.mod").read_text()
    return re.search(r"^\s*k8s\.io/kubernetes (v\S+)", text, re.MULTILINE).group(1)


def _version_flags() -> str:
    """Without these the components call themselves v0.0.0, and clients guess wrong from it."""
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    values |= {"gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {p}.{k}={v}" for p in packages for k, v in values.items())


def _require_machine() -> None:
    if os.geteuid() != 0:
        raise Failure("a cluster needs root (namespaces, mounts, cgroups); use sudo")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise Failure(f"this machine lacks {', '.join(missing)}; run dev/setup")
