"""What a cluster consists of: its names, addresses and folders. Pure; touches nothing.

Everything follows from the cluster's name and its index, a small number that no other cluster on
this machine has. Index i owns 10.(100+i).0.0/16 and the interfaces called mscl<i>...:

    10.x.0.1          this machine, on the bridge that joins the cluster (the "fabric")
    10.x.0.2          the control plane
    10.x.0.10+n       node n
    10.x.64.0/20      Services; .1 is the API, .10 is DNS
    10.x.128+n.0/24   pods of node n
"""

from dataclasses import dataclass, field
from pathlib import Path

from ..paths import STATE

CLUSTERS = STATE / "clusters"
MAX_CLUSTERS = 100
MAX_NODES = 100
API_PORT = 6443


@dataclass(frozen=True)
class Place:
    """A network namespace of the cluster: the control plane's or a node's."""

    cluster: "Cluster"
    label: str  # cp, n1, n2, ...
    address: str

    @property
    def netns(self) -> Path:
        return self.cluster.folder / "netns" / self.label

    @property
    def veth(self) -> str:
        return f"{self.cluster.bridge}{self.label}"


@dataclass(frozen=True)
class Node(Place):
    number: int

    @property
    def name(self) -> str:
        return f"{self.cluster.name}-{self.number}"

    @property
    def pod_subnet(self) -> str:
        return f"{self.cluster.prefix}.{128 + self.number}.0/24"

    @property
    def folder(self) -> Path:
        return self.cluster.folder / "nodes" / self.label

    @property
    def cgroup(self) -> str:
        return f"/{self.cluster.cgroup}/{self.label}"


@dataclass(frozen=True)
class Cluster:
    name: str
    index: int
    node_count: int  # 0: only a control plane.
    feature_gates: dict[str, bool] = field(default_factory=dict)
    audit: bool = False  # Whether its API server writes down who changed what.

    @property
    def folder(self) -> Path:
        return CLUSTERS / self.name

    @property
    def prefix(self) -> str:
        return f"10.{100 + self.index}"

    @property
    def network(self) -> str:
        return f"{self.prefix}.0.0/16"

    @property
    def host_address(self) -> str:
        return f"{self.prefix}.0.1"

    @property
    def services(self) -> str:
        return f"{self.prefix}.64.0/20"

    @property
    def api_service(self) -> str:
        return f"{self.prefix}.64.1"

    @property
    def dns_service(self) -> str:
        return f"{self.prefix}.64.10"

    @property
    def pods(self) -> str:
        return f"{self.prefix}.128.0/17"

    @property
    def bridge(self) -> str:
        return f"mscl{self.index}"

    @property
    def cgroup(self) -> str:
        return f"mscl-{self.name}"

    @property
    def control_plane(self) -> Place:
        return Place(self, "cp", f"{self.prefix}.0.2")

    @property
    def nodes(self) -> list[Node]:
        return [self.node(n) for n in range(1, self.node_count + 1)]

    def node(self, number: int) -> Node:
        return Node(self, f"n{number}", f"{self.prefix}.0.{10 + number}", number)

    @property
    def api_url(self) -> str:
        return f"https://{self.control_plane.address}:{API_PORT}"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def volumes(self) -> Path:
        # Kubernetes deletes the data of hostPath volumes only below a folder called tmp.
        return self.folder / "tmp" / "volumes"

    @property
    def audit_log(self) -> Path:
        return self.folder / "log" / "audit.log"

    def log(self, component: str) -> Path:
        return self.folder / "log" / f"{component}.log"
