"""Puts Mainspring's operator and a Slurm cluster on a running local Kubernetes, by their charts.

Used by `make up` and by the end-to-end test, so that what a newcomer sees is what is tested.
"""

import json
import shlex

from .cluster_client import ClusterClient, archive_key
from .console import Failure
from .paths import REPO
from .process import wait_for

CHARTS = REPO / "charts"
VALUES = REPO / "examples" / "slurm" / "values.yaml"
NAMESPACE = "slurm"
SYSTEM = "mainspring"  # The operator's own namespace.
OPERATOR = "deployment/mainspring"
LOGIN = "deployment/slurm-login-main"
USER = "alice"  # Of examples/slurm/values.yaml.


class ManagedSlurm(ClusterClient):
    def __init__(self, cluster: str, namespace: str = NAMESPACE):
        super().__init__(cluster)
        self.namespace = namespace

    def load_images(self, *more: str) -> None:
        self.load("slurm", "mainspring", *more)

    def install_operator(self) -> None:
        self._make_namespace(SYSTEM, "restricted")
        self._install("mainspring-crds", "mainspring-crds", SYSTEM)
        self._install("mainspring", "mainspring", SYSTEM)
        self._restart_if_rebuilt()
        self.wait_for_operator()

    def install_slurm(self, *options: str) -> None:
        """Installs, or upgrades to, examples/slurm with these options of helm's."""
        self._make_namespace(self.namespace, "privileged")
        self._install("slurm", "slurm", self.namespace, "-f", str(VALUES), *options)

    def wait_for_operator(self, patience: int = 120) -> None:
        self.kubectl(
            *("-n", SYSTEM, "rollout", "status", OPERATOR, f"--timeout={patience}s"),
            timeout=patience + 30,
        )

    def wait_ready(self, nodes: int = 2, patience: int = 240) -> None:
        """Until the operator says so, and Slurm too."""
        self.kubectl(
            *(
                "-n",
                self.namespace,
                "wait",
                "--for=condition=Ready",
                f"--timeout={patience}s",
                "--all",
            ),
            "controllers,restapis,nodesets,loginsets",
            timeout=patience + 30,
        )
        if not wait_for(lambda: len(self.usable_nodes()) == nodes, patience, 0.5, seldom=2.0):
            raise Failure(f"Slurm does not see {nodes} usable nodes:\n{self.slurm('sinfo', '-N')}")

    def usable_nodes(self) -> list[str]:
        try:
            nodes = self.slurm("sinfo", "-h", "-N", "-o", "%N %t").splitlines()
        except Failure:
            return []  # slurmctld may be starting
        states = dict(line.split() for line in nodes)
        return sorted(name for name, state in states.items() if state in ("idle", "mix", "alloc"))

    def slurm(self, *command: str) -> str:
        """Runs a Slurm command as Slurm's own user, beside slurmctld."""
        return self.inside(self.namespace, "slurm-controller-0", "slurmctld", *command)

    def user(self, *command: str, timeout: float = 120) -> str:
        """Runs a command as an ordinary user in the login pod, in the user's home."""
        pod = ("-n", self.namespace, "exec", LOGIN, "-c", "login", "--")
        return self.kubectl(*pod, "runuser", "-l", USER, "-c", shlex.join(command), timeout=timeout)

    def run_job(self) -> list[str]:
        """`srun -N2 hostname`: the sorted names of the workers that answered."""
        return sorted(self.user("srun", "-N2", "hostname").split())

    def get(self, *what: str, namespace: str | None = None) -> dict:
        """Objects as kubectl names them."""
        namespace = namespace or self.namespace
        match what:
            case ("pods",):
                return self.read_pods(namespace)
            case ("pods", "-l", selector):
                return self.read_pods(namespace, selector=selector)
            case (pod,) if pod.startswith("pod/"):
                return self.read_pods(namespace, pod.removeprefix("pod/"))
        return json.loads(self.kubectl("-n", namespace, "get", *what, "-o", "json"))

    def _install(self, release: str, chart: str, namespace: str, *options: str) -> None:
        self.helm(
            *("upgrade", "--install", release, str(CHARTS / chart), "--namespace", namespace),
            *options,
        )

    def _make_namespace(self, name: str, security: str) -> None:
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "labels": {"pod-security.kubernetes.io/enforce": security},
            },
        }
        self.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))

    def _restart_if_rebuilt(self) -> None:
        """The tag stays the same while the program behind it changes."""
        mark = "mainspring.dev/image"
        key = archive_key("mainspring")
        deployment = self.get(OPERATOR, namespace=SYSTEM)
        running = deployment["metadata"].get("annotations", {}).get(mark, key)
        self.kubectl("-n", SYSTEM, "annotate", "--overwrite", OPERATOR, f"{mark}={key}")
        if running != key:
            self.kubectl("-n", SYSTEM, "rollout", "restart", OPERATOR)
