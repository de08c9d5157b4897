"""The command line of dev/cluster."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ..console import Failure, Steps, failures_are_messages, say
from . import api, control_plane, cpus, down, node, parts, processes, registry, up, workloads
from .layout import Cluster

DESCRIPTION = """\
A real Kubernetes on this machine, without Docker: etcd and the control plane in one network
namespace, and real kubelets with containerd in namespaces of their own, joined by a bridge.
"""
EPILOG = """\
examples:
  dev/cluster up                              two nodes, named 'dev'
  dev/cluster --name t1 up --control-plane-only
  dev/cluster kubectl get pods -A
  dev/cluster load build/images/slurmd.tar    an OCI or docker archive, into every node
  dev/cluster logs kubelet-n1                 without a name: lists what there is
  dev/cluster node-exec 1 ip route
  export KUBECONFIG=$(dev/cluster kubeconfig)

The cluster is chosen by --name, else by the environment variable MAINSPRING_CLUSTER, else 'dev'.
More in dev/README.md.
"""


def main() -> None:
    with failures_are_messages("dev/cluster"):
        options = _parser().parse_args()
        options.chosen = options.name or os.environ.get("MAINSPRING_CLUSTER")
        options.name = options.chosen or "dev"
        sys.exit(options.act(options) or 0)


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "dev/cluster", description=DESCRIPTION, epilog=EPILOG, formatter_class=formatter
    )
    parser.add_argument("--name", default=None, help="which cluster (default: dev)")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)

    def verb(name: str, act, text: str, named: bool = True) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text)
        one.set_defaults(act=act)
        if named:
            one.add_argument("--name", default=argparse.SUPPRESS, help="which cluster")
        return one

    one = verb("up", _up, "make a cluster, or repair it")
    one.add_argument("--nodes", type=int, default=2, metavar="N", help="how many (default: 2)")
    one.add_argument("--control-plane-only", action="store_true", help="no nodes; up in seconds")
    one.add_argument("--jobs", type=int, metavar="J", help="limit for compilers, if one must run")
    one.add_argument(
        "--feature-gates", default="", metavar="A=true,...", help="besides those always on"
    )
    one.add_argument("--audit", action="store_true", help="log every write: dev/cluster logs audit")
    verb("down", _down, "remove a cluster and everything of it")
    verb("status", _status, "what runs, of all clusters or of the one named")
    verb("kubeconfig", _kubeconfig, "print the path of the kubeconfig")
    one = verb("build", _build, "build all parts beforehand; quick when nothing is missing")
    one.add_argument("--jobs", type=int, metavar="J", help="limit for compilers")
    one = verb("load", _load, "load image archives into every node")
    one.add_argument("image", nargs="+", type=Path, metavar="IMAGE")
    one = verb("logs", _logs, "show a component's log")
    one.add_argument("component", nargs="?", metavar="COMPONENT")
    one.add_argument("-f", "--follow", action="store_true", help="and what comes after")
    for name, act, text in (
        ("kubectl", _kubectl, "kubectl on the cluster; all arguments are kubectl's"),
        ("helm", _helm, "helm on the cluster; all arguments are helm's"),
        ("node-exec", _node_exec, "run a command inside node N: node-exec N CMD..."),
    ):
        verbs.add_parser(name, help=text, add_help=False, prefix_chars="\0").set_defaults(act=act)
        verbs.choices[name].add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _up(options) -> None:
    count = 0 if options.control_plane_only else options.nodes
    if not options.control_plane_only and count < 1:
        raise Failure("--nodes takes at least 1; for none there is --control-plane-only")
    up.up(options.name, count, _gates(options.feature_gates), options.audit, options.jobs)


def _gates(text: str) -> dict[str, bool]:
    gates = {}
    for item in filter(None, text.split(",")):
        gate, _, value = item.partition("=")
        if value not in ("true", "false"):
            raise Failure(f"--feature-gates takes NAME=true or NAME=false, not '{item}'")
        gates[gate] = value == "true"
    return gates


def _down(options) -> None:
    down.down(options.name)


def _status(options) -> int:
    if options.chosen:
        found = [registry.existing(options.chosen)]
    else:
        # One that ends meanwhile is none.
        found = [cluster for cluster in map(registry.find, registry.names()) if cluster]
    if not found:
        say("There is no cluster.")
    bad = 0
    for cluster in found:
        name = cluster.name
        good = registry.from_this_boot(cluster) and up.runs(cluster)
        bad += not good
        say(f"{name}: {'runs' if good else 'needs repair: dev/cluster --name ' + name + ' up'}")
        say(f"  API {cluster.api_url}, {cluster.node_count} nodes, network {cluster.network}")
        wanted = control_plane.components(cluster) + [n.label for n in cluster.nodes]
        for component in wanted:
            pid = processes.daemon(cluster, component).pid()
            say(f"  {component:24} {'pid ' + str(pid) if pid else 'DEAD'}")
    return 1 if bad else 0


def _kubeconfig(options) -> None:
    say(str(registry.existing(options.name).kubeconfig))


def _build(options) -> None:
    steps = Steps(parts.STEPS + 2)
    parts.build(options.jobs, steps)
    steps.next("controllers of JobSet and LeaderWorkerSet, for tests")
    workloads.program(options.jobs)
    steps.next("driver of CPUs as devices, for tests")
    cpus.program(options.jobs)
    steps.done("all parts of a cluster are there")


def _load(options) -> None:
    cluster = _with_nodes(options.name)
    steps = Steps(len(options.image) * cluster.node_count)
    for image in options.image:
        if not image.is_file():
            raise Failure(f"{image} is not a file; 'load' takes an OCI or docker archive")
        for one in cluster.nodes:
            steps.next(f"{image} into {one.name}")
            ctr = [parts.ctr(), "--address", node.SOCKET, "--namespace", "k8s.io"]
            with image.open("rb") as data:
                answer = subprocess.run(
                    [*node.entering(one), *ctr, "images", "import", "-"],
                    stdin=data,
                    capture_output=True,
                    text=True,
                )
            if answer.returncode != 0:
                raise Failure(f"containerd on {one.name} refuses {image}:\n{answer.stderr}")


def _logs(options) -> None:
    folder = registry.existing(options.name).folder / "log"
    there = sorted(file.stem for file in folder.glob("*.log"))
    if options.component is None:
        say("\n".join(there))
    elif options.component not in there:
        raise Failure(f"no log of '{options.component}'; there are: {', '.join(there)}")
    else:
        show = ["tail", "-n", "+1"] + (["-F"] if options.follow else [])
        os.execvp("tail", [*show, str(folder / f"{options.component}.log")])


def _kubectl(options) -> None:
    _become(parts.kubectl(), registry.existing(options.name), options.arguments)


def _helm(options) -> None:
    _become(parts.helm(), registry.existing(options.name), options.arguments)


def _become(program: Path, cluster: Cluster, arguments: list[str]) -> None:
    os.execve(program, [program.name, *arguments], api.environment(cluster))


def _node_exec(options) -> None:
    cluster = _with_nodes(options.name)
    number, *command = options.arguments or [""]
    if not number.isdigit() or not 1 <= int(number) <= cluster.node_count or not command:
        raise Failure(f"node-exec takes a node (1 to {cluster.node_count}) and a command")
    argv = [*node.entering(cluster.node(int(number))), *command]
    os.execvp(argv[0], argv)


def _with_nodes(name: str) -> Cluster:
    cluster = registry.existing(name)
    if not cluster.node_count:
        raise Failure(f"cluster '{name}' has no nodes; 'dev/cluster up --nodes N' adds some")
    return cluster
