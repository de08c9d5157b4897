"""Puts the Slurm cluster of examples/plain-slurm on a running local Kubernetes and runs a job on it.

Used by the end-to-end test, which keeps the images honest without an operator in between.
"""

import base64
import json
import os

from .cluster_client import ClusterClient
from .console import Failure
from .paths import REPO
from .process import wait_for

MANIFESTS = REPO / "examples" / "plain-slurm"
NAMESPACE = "slurm"


class PlainSlurm(ClusterClient):
    def load_images(self) -> None:
        self.load("slurm")

    def deploy(self) -> None:
        self.kubectl("apply", "-f", str(MANIFESTS / "config.yaml"))
        self._make_keys()
        for name in ("controller", "workers", "restapi"):
            self.kubectl("apply", "-f", str(MANIFESTS / f"{name}.yaml"))

    def _make_keys(self) -> None:
        """Once: a running cluster must keep its keys."""
        keys = {"slurm.key": os.urandom(1024), "jwt.key": os.urandom(32)}
        known = self.kubectl(
            *("-n", NAMESPACE, "get", "secret", "slurm-keys", "--ignore-not-found", "-o", "name")
        )
        if known.strip():
            return
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "slurm-keys", "namespace": NAMESPACE},
            "data": {name: base64.b64encode(key).decode() for name, key in keys.items()},
        }
        self.kubectl("create", "-f", "-", stdin=json.dumps(secret))

    def wait_ready(self, patience: int = 240) -> None:
        for kind in (
            "statefulset/slurm-controller",
            "statefulset/slurm-worker",
            "deploy/slurm-restapi",
        ):
            self.kubectl(
                *("-n", NAMESPACE, "rollout", "status", kind, f"--timeout={patience}s"),
                timeout=patience + 30,
            )
        if not wait_for(lambda: self._usable_nodes() == 2, patience, 0.5, seldom=2.0):
            raise Failure(f"Slurm does not see two usable nodes:\n{self.slurm('sinfo')}")

    def _usable_nodes(self) -> int:
        try:
            return len(self.slurm("sinfo", "-h", "-t", "idle,mix,alloc", "-N", "-o", "%N").split())
        except Failure:
            return 0  # slurmctld may still be starting

    def slurm(self, *command: str) -> str:
        """Runs a Slurm command in a worker pod."""
        pod = ("-n", NAMESPACE, "exec", "slurm-worker-0", "-c", "slurmd", "--")
        return self.kubectl(*pod, *command)

    def run_job(self) -> list[str]:
        """`srun -N2 hostname`: the sorted names of the workers that answered."""
        return sorted(self.slurm("srun", "-N2", "hostname").split())

    def token(self) -> str:
        """A token for Slurm's REST API, good for ten minutes."""
        pod = ("-n", NAMESPACE, "exec", "slurm-controller-0", "--")
        answer = self.kubectl(*pod, "scontrol", "token", "lifespan=600")
        return answer.strip().removeprefix("SLURM_JWT=")

    def service_address(self, name: str) -> str:
        return self.kubectl(
            *("-n", NAMESPACE, "get", "service", name, "-o", "jsonpath={.spec.clusterIP}")
        )
