"""The cluster's network: one bridge on this machine, and a network namespace per place behind it.

A namespace is kept by a file in the cluster's folder, not under /run/netns, so that it belongs to
the cluster visibly and `ip netns` leaves no mount of its own behind. Every function here may be
called again at any time: it makes what is missing. All routes on this machine go through the
bridge and vanish with it.
"""

import os
import subprocess
from pathlib import Path

from ..console import Failure
from .layout import Cluster, Place

NETNS_MAGIC = os.stat("/proc/self/ns/net").st_dev
MODPROBE = "/sbin/modprobe"
OF_BRIDGES = Path("/proc/sys/net/bridge")  # There while br_netfilter is.


def ensure(cluster: Cluster) -> None:
    if cluster.nodes:
        _ensure_bridge_netfilter()
    _ensure_bridge(cluster)
    for place in [cluster.control_plane, *cluster.nodes]:
        _ensure_place(place)
    for node in cluster.nodes:
        _show_bridged_packets(node)
    for place in [cluster.control_plane, *cluster.nodes]:
        _ip(_routes_from(place), place)
    _ip(_routes_from(None, cluster))


def remove(cluster: Cluster) -> None:
    folder = cluster.folder / "netns"
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    for file in places:
        while _is_namespace(file):
            subprocess.run(["umount", file], check=True)
        file.unlink()
    for link in sorted(Path("/sys/class/net").iterdir()):
        # Ours by name: mscl7 itself, mscl7cp, mscl7n1, ..., but not mscl70.
        rest = link.name.removeprefix(cluster.bridge)
        if rest != link.name and not rest[:1].isdigit():
            # A namespace that ends takes its end of the pair along, and may do so just now.
            subprocess.run(["ip", "link", "del", link.name], capture_output=True)
            if link.exists():
                raise Failure(f"'ip link del {link.name}' does not work; run 'down' again")


def inside(place: Place) -> list[str]:
    """What to put before a command to run it in this place's network."""
    return ["nsenter", f"--net={place.netns}", "--"]


def _ensure_bridge_netfilter() -> None:
    """Debian's kernel has it as a module that nobody loads by himself. It serves the whole machine,
    so `down` leaves it."""
    if OF_BRIDGES.is_dir():
        return
    done = subprocess.run([MODPROBE, "br_netfilter"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(
            "this kernel does not load the module br_netfilter, without which a Service does not answer "
            f"pods on the node of its own pods: {done.stderr.strip()}\n"
            "Run 'modprobe br_netfilter' where modules can be loaded: in a container that is its host; "
            "after an upgrade of the kernel, restart the machine first"
        )


def _show_bridged_packets(node: Place) -> None:
    """To netfilter. What a Service's pod answers to a pod on its own node crosses only the bridge of
    both, and its address is translated back only if kube-proxy's rules see it there."""
    files = " ".join(f"{OF_BRIDGES}/bridge-nf-call-{kind}" for kind in ("iptables", "ip6tables"))
    # Kernels before 5.3 have no such switch for each namespace, and any may lack IPv6.
    show = f'for file in {files}; do [ ! -e "$file" ] || echo 1 > "$file"; done'
    subprocess.run([*inside(node), "sh", "-c", show], check=True)


def _ensure_bridge(cluster: Cluster) -> None:
    if not Path("/sys/class/net", cluster.bridge).exists():
        _ip([f"link add {cluster.bridge} type bridge"])
    _ip(
        [
            f"addr replace {cluster.host_address}/24 dev {cluster.bridge}",
            f"link set {cluster.bridge} up",
        ]
    )


def _ensure_place(place: Place) -> None:
    place.netns.parent.mkdir(parents=True, exist_ok=True)
    if not _is_namespace(place.netns):
        place.netns.touch()
        subprocess.run(["unshare", f"--net={place.netns}", "true"], check=True)
    if not Path("/sys/class/net", place.veth).exists():
        _ip([f"link add {place.veth} type veth peer name eth0 netns {place.netns}"])
    _ip([f"link set {place.veth} master {place.cluster.bridge} up"])
    setup = [
        "link set lo up",
        f"addr replace {place.address}/24 dev eth0",
        "link set eth0 up",
        f"route replace default via {place.cluster.host_address}",
    ]
    _ip(setup, place)
    forwarding = "echo 1 > /proc/sys/net/ipv4/ip_forward"
    subprocess.run([*inside(place), "sh", "-c", forwarding], check=True)


def _routes_from(place: Place | None, cluster: Cluster | None = None) -> list[str]:
    """To every node's pods by way of that node, and to Services by way of the first node, whose
    kube-proxy translates for those who have none: this machine and the control plane."""
    cluster = place.cluster if place else cluster
    nodes = cluster.nodes
    routes = [
        f"route replace {node.pod_subnet} via {node.address}" for node in nodes if node != place
    ]
    if nodes and place not in nodes:
        routes.append(f"route replace {cluster.services} via {nodes[0].address}")
    return routes


def _ip(commands: list[str], place: Place | None = None) -> None:
    argv = [*(inside(place) if place else []), "ip", "-batch", "-"]
    text = "\n".join(commands) + "\n"
    answer = subprocess.run(argv, input=text, capture_output=True, text=True)
    if answer.returncode != 0:
        raise Failure(f"ip cannot do this:\n{text}{answer.stderr.strip()}")


def _is_namespace(file: Path) -> bool:
    """After a restart of the machine, or an interruption, it may be just an empty file."""
    return file.exists() and file.stat().st_dev == NETNS_MAGIC
