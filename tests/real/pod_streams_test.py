"""exec, attach, port-forward, logs, binding and eviction, through a real API server and kubelet."""

import base64
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import clusters
from clusters import REPO, apply, kubectl, run
from msdev.cluster.parts import POD_IMAGE

NAME = "test-pod-streams"
PROGRAM = REPO / "build" / "debug" / "tests" / "pod_streams"


def pod(name: str, **spec) -> dict:
    container = {
        "name": "main",
        "image": POD_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/pod", "serve", ":8080"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def budget(name: str) -> dict:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
    }


class PodStreamsTest(clusters.ClusterTest):
    names = (NAME,)

    def test_every_case_passes(self):
        run(NAME, "up", "--nodes", "1")
        # Nobody schedules `unbound`: the program binds it.
        apply(NAME, pod("main"), pod("expendable"), pod("unbound", schedulerName="none"))
        apply(NAME, budget("main"))
        kubectl(NAME, "wait", "--timeout=90s", "--for=condition=Ready", "pod/main")
        kubectl(NAME, "wait", "--timeout=90s", "--for=condition=Ready", "pod/expendable")
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **self.server(Path(folder))}
            environment["UNBOUND_UID"] = self.field("pod/unbound", ".metadata.uid")
            environment["NODE"] = self.field("pod/main", ".spec.nodeName")
            done = subprocess.run([PROGRAM], env=environment, timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            self.field("pod/unbound", ".metadata.annotations.mainspring/test"), "bound"
        )
        kubectl(NAME, "wait", "--timeout=90s", "--for=condition=Ready", "pod/unbound")
        kubectl(NAME, "wait", "--timeout=90s", "--for=delete", "pod/expendable")

    def field(self, thing: str, path: str) -> str:
        return kubectl(NAME, "get", thing, "-o", f"jsonpath={{{path}}}")

    def server(self, folder: Path) -> dict[str, str]:
        config = json.loads(kubectl(NAME, "config", "view", "--raw", "-o", "json"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        files = {
            "KUBE_CA": cluster["certificate-authority-data"],
            "KUBE_CERT": user["client-certificate-data"],
            "KUBE_KEY": user["client-key-data"],
        }
        for name, data in files.items():
            (folder / name).write_bytes(base64.b64decode(data))
        return {"KUBE_URL": cluster["server"], **{name: str(folder / name) for name in files}}


if __name__ == "__main__":
    unittest.main()
