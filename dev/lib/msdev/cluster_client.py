"""kubectl, helm and images on a local cluster, for programs: answers are returned, not printed."""

import json
import subprocess
from pathlib import Path
from urllib.parse import quote

from .cluster import api, containers, parts, registry
from .console import Failure
from .paths import REPO


class ClusterClient:
    def __init__(self, cluster: str):
        self.cluster = cluster

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
        """What kubectl printed. Failure, with kubectl's own words, if it did not work."""
        return self._run(parts.kubectl(), *arguments, stdin=stdin, timeout=timeout)

    def helm(self, *arguments: str, stdin: str | None = None, timeout: float = 300) -> str:
        return self._run(parts.helm(), *arguments, stdin=stdin, timeout=timeout)

    def read_pods(self, namespace: str, name: str = "", selector: str = "") -> dict:
        """One, or a list. Of nothing else is asked so often, and kubectl takes ten times as long."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        path += f"/{name}" if name else f"?labelSelector={quote(selector)}"
        status, body = api.get(registry.existing(self.cluster), path, timeout=30)
        if status != 200:
            raise Failure(f"{path}: {status} {body.decode(errors='replace')}")
        return json.loads(body)

    def inside(self, namespace: str, pod: str, container: str, *command: str) -> str:
        """What a command in a container printed; Failure as of kubectl."""
        statuses = self.read_pods(namespace, pod)["status"].get("containerStatuses", [])
        ids = [one.get("containerID", "") for one in statuses if one["name"] == container]
        done = containers.run(ids[0].rpartition("/")[2], command, 120) if ids and ids[0] else None
        if done is None:
            raise Failure(f"container {container} of pod {namespace}/{pod} does not run")
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def load(self, *images: str) -> None:
        """Archives of images/build by name, into every node."""
        archives = [REPO / "build" / "images" / f"{image}.tar" for image in images]
        command = [REPO / "dev" / "cluster", "--name", self.cluster, "load", *archives]
        if subprocess.run(command).returncode != 0:
            raise Failure("loading images failed; 'images/build' makes them")

    def _run(self, tool: Path, *arguments: str, stdin: str | None, timeout: float) -> str:
        done = subprocess.run(
            [tool, *arguments],
            env=api.environment(registry.existing(self.cluster)),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise Failure(f"{tool.name} {' '.join(arguments)}: {said}")
        return done.stdout


def archive_key(image: str) -> str:
    """Differs whenever what is in the image differs: archives are kept in folders by content."""
    archive: Path = REPO / "build" / "images" / f"{image}.tar"
    return archive.resolve().parent.name
