"""A node, seen from this machine: its configuration, its start, and commands inside it.

A node is a process tree in namespaces of its own, whose PID 1 is node_init.py: containerd, kubelet,
kube-proxy and all pods are below it, and end with it. It uses the standard paths (/var/lib/kubelet,
/etc/cni/net.d, ...), but sees its own folders there.
"""

import json
from pathlib import Path

from ..console import Failure, tail
from ..paths import CACHE, STATE
from . import cgroups
from .control_plane import feature_gates
from .layout import Node
from .network import inside
from .parts import POD_IMAGE, Parts
from .processes import PATH, daemon, environment

INIT = Path(__file__).with_name("node_init.py")
SOCKET = "/run/containerd/containerd.sock"


def ensure(node: Node, parts: Parts) -> None:
    """Starts it if it does not run, without waiting for it."""
    if daemon(node.cluster, node.label).pid() is not None:
        return
    cgroups.clear(node)
    cgroups.ensure(node)
    for folder in ("config", "var-lib", "var-log"):
        (node.folder / folder).mkdir(parents=True, exist_ok=True)
    for name, content in _configuration(node, parts).items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        (node.folder / "config" / name).write_text(text)
    # If this outer process is killed, the kernel kills PID 1 of the node, and that ends the node.
    unshare = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    unshare += ["--propagation", "private"]
    argv = [*inside(node), *unshare, "/usr/bin/python3", "-I", INIT]
    argv += [node.folder / "config" / "init.json"]
    daemon(node.cluster, node.label).start(argv, env=environment(node.cluster))


def check_alive(node: Node) -> None:
    if daemon(node.cluster, node.label).pid() is None:
        log = node.cluster.log(node.label)
        raise Failure(f"node {node.name} ended. Read {log}; it ends with:\n{tail(log, 8)}")


def entering(node: Node) -> list[str]:
    """What to put before a command to run it inside the node."""
    outer = daemon(node.cluster, node.label).pid()
    inner = _child(outer) if outer else None
    if inner is None:
        raise Failure(f"node {node.name} does not run; 'dev/cluster up' repairs it")
    return ["nsenter", f"--target={inner}", "--mount", "--uts", "--net", "--pid", "--"]


def _child(pid: int) -> int | None:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if stat[stat.rindex(")") + 2 :].split()[1] == str(pid):
                return int(entry.name)
    return None


def _configuration(node: Node, parts: Parts) -> dict[str, dict | str]:
    return {
        "containerd.toml": _containerd(parts),
        "cni.conflist": _cni(node),
        "kubelet.json": _kubelet(node),
        "kube-proxy.json": _kube_proxy(node),
        # Pods that do not use the cluster's DNS have none: there is no other inside.
        "resolv.conf": "",
        "init.json": _init(node, parts),
    }


def _init(node: Node, parts: Parts) -> dict:
    config, log = node.folder / "config", node.cluster.folder / "log"
    kubelet = [parts.kube / "kubelet", f"--config={config}/kubelet.json"]
    kubelet += [f"--kubeconfig={node.cluster.pki}/{node.label}.kubeconfig"]
    kubelet += [f"--hostname-override={node.name}", f"--node-ip={node.address}", "--v=2"]
    commands = {
        "containerd": [parts.debian / "usr/bin/containerd", "-c", config / "containerd.toml"],
        "kubelet": kubelet,
        "kube-proxy": [parts.kube / "kube-proxy", f"--config={config}/kube-proxy.json"],
    }
    return {
        "hostname": node.name,
        "folder": str(node.folder),
        "keep": [str(STATE), str(CACHE)],
        "hide": str(STATE / "clusters"),
        "socket": SOCKET,
        "ctr": str(parts.debian / "usr/bin/ctr"),
        "images": [str(image) for image in parts.images],
        "daemons": {
            name: {"argv": [str(a) for a in argv], "log": str(log / f"{name}-{node.label}.log")}
            for name, argv in commands.items()
        },
        # containerd finds its shim by the path.
        "path": f"{parts.debian}/usr/bin:{PATH}",
    }


def _containerd(parts: Parts) -> str:
    return f"""version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "{SOCKET}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{POD_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
  # A machine may lack CAP_SYS_RESOURCE, without which no sandbox could lower its score.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{parts.debian}/usr/lib/cni", "/opt/cni/bin"]
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "{parts.runc}"
        SystemdCgroup = false
"""


def _cni(node: Node) -> dict:
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isDefaultGateway": True,
                "ipMasq": False,  # Pods of other nodes shall see a pod's own address.
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": "/run/cni-ipam",
                    "ranges": [[{"subnet": node.pod_subnet}]],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def _kubelet(node: Node) -> dict:
    pki = node.cluster.pki
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": node.cgroup,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/{node.label}-server.crt",
        "tlsPrivateKeyFile": f"{pki}/{node.label}-server.key",
        "address": node.address,
        "clusterDNS": [node.cluster.dns_service],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{node.folder}/config/resolv.conf",
        "volumePluginDir": "/var/lib/kubelet/volumeplugins",
        "evictionHard": {
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "memory.available": "100Mi",
        },
        # There is no registry to bring a collected image back from.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
        "maxPods": 200,
        "featureGates": feature_gates(node.cluster),
    }


def _kube_proxy(node: Node) -> dict:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": node.cluster.pods,
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": f"{node.cluster.pki}/proxy.kubeconfig"},
        "bindAddress": "0.0.0.0",
        "metricsBindAddress": "127.0.0.1:10249",
        # These are values of the whole machine, which is not the node's to change.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "oomScoreAdj": 0,
    }
