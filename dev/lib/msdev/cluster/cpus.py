"""CPUs as devices of a node, by the DRA driver of kubernetes-sigs/dra-driver-cpu: a container that claims
some has these, and all others of the node have the rest. A process inside the node, which goes with it.
Built from the pinned Go module dev/cpus."""

import json
from pathlib import Path

from .. import golang
from ..cluster_client import ClusterClient
from ..console import Failure, tail
from ..process import wait_for
from . import node, processes, registry

DRIVER = "dra.cpu"
MODULE = "github.com/kubernetes-sigs/dra-driver-cpu"
PATIENCE = 60.0


def program(jobs: int | None = None) -> Path:
    """The executable; beside it the file with the driver's DeviceClass."""
    device_class = "manifests/base/deviceclass-dracpu.part.yaml"
    return golang.build("cpus", jobs=jobs, files=(("class.yaml", MODULE, device_class),))


def install(name: str, number: int) -> None:
    """On one node of the running cluster of this name. Returns when its CPUs are published."""
    cluster, client, driver = registry.existing(name), ClusterClient(name), program()
    one = cluster.node(number)
    client.kubectl("apply", "-f", str(driver.parent / "class.yaml"))
    argv = [*node.entering(one), driver, "--v=2", "--node", one.name]
    argv += ["--kubeconfig", cluster.pki / f"{one.label}.kubeconfig"]
    daemon = processes.daemon(cluster, f"cpus-{one.label}")
    daemon.start(argv, env=processes.environment(cluster))

    def is_published() -> bool:
        if daemon.pid() is None:
            raise Failure(
                f"the driver ended. Read {daemon.log}; it ends with:\n{tail(daemon.log, 8)}"
            )
        slices = json.loads(client.kubectl("get", "resourceslices", "-o", "json"))["items"]
        return (DRIVER, one.name) in [(s["spec"]["driver"], s["spec"]["nodeName"]) for s in slices]

    if not wait_for(is_published, PATIENCE, every=0.2):
        raise Failure(f"no CPUs of {one.name} are published. Read {daemon.log}")
