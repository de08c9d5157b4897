"""A real bridge without Kubernetes, for what it does with Slurm alone: its cache is filled whoever leads."""

import subprocess
import unittest
import urllib.request
from pathlib import Path

from operator_harness import PROGRAM, free_port

# Nobody listens there.
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: none, user: {token: none}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
"""


class BridgeAlone:
    """Runs until the test ends. What it says is in `folder`, where its files are."""

    def __init__(
        self, test: unittest.TestCase, folder: Path, url: str, token: str, flags=(), env=None
    ):
        files = {
            "kubeconfig": KUBECONFIG,
            "config.yaml": f"slurmRestApi: {url}\n",
            "token": token,
        }
        for name, text in files.items():
            (folder / name).write_text(text)
        self._numbers = f"127.0.0.1:{free_port('127.0.0.1')}"
        argv = [PROGRAM, "bridge", "--kubeconfig", folder / "kubeconfig"]
        argv += ["--config", folder / "config.yaml", "--health-addr", "0"]
        argv += ["--slurm-jwt-file", folder / "token", "--metrics-addr", self._numbers, *flags]
        self._log = folder / "log"
        log = self._log.open("wb")
        test.addCleanup(log.close)
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdout=log, stderr=log, env=env
        )
        test.addCleanup(process.wait)
        test.addCleanup(process.kill)

    def said(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def metrics(self) -> str:
        """ "" while there is no answer."""
        try:
            with urllib.request.urlopen(f"http://{self._numbers}/metrics") as answer:
                return answer.read().decode()
        except OSError:
            return ""
