"""What the tests of dev/cluster share: running it, and looking for anything that it left behind."""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import api, parts, registry  # noqa: E402
from msdev.cluster.leftovers import Footprint  # noqa: E402
from msdev.process import wait_for  # noqa: E402

CLUSTER = REPO / "dev" / "cluster"


def run(name: str, *arguments: str, **options):
    """dev/cluster with these arguments; raises with its output if it fails."""
    return _run([CLUSTER, "--name", name, *arguments], **options)


def ask(name: str, *arguments: str, **options):
    """The same for kubectl, as `dev/cluster kubectl` would call it: that is a Python more to start, each
    time, so few tests do."""
    environment = api.environment(registry.existing(name))
    return _run([parts.kubectl(), *arguments], env=environment, **options)


def kubectl(name: str, *arguments: str, **options) -> str:
    return ask(name, *arguments, **options).stdout


def kubeconfig(name: str, token: str = "") -> dict:
    """The administrator's, or that of whoever has this token."""
    config = json.loads(registry.existing(name).kubeconfig.read_text())
    if token:
        config["users"][0]["user"] = {"token": token}
    return config


def _run(argv: list, text=None, timeout=300.0, check=True, env=None):
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, timeout=timeout, env=env
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{argv} failed:\n{done.stdout}\n{done.stderr}")
    return done


def apply(name: str, *objects: dict) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    kubectl(name, "apply", "-f", "-", text=text)


def reserve(test_class, name: str) -> None:
    """There is no cluster of this name now, and when the tests of this class are over none is left, nor
    anything of one."""
    run(name, "down", timeout=60)
    footprint = Footprint(name)

    def remove():
        footprint.note()
        run(name, "down", timeout=60)
        if left := footprint.left():
            raise AssertionError(f"left behind after 'down': {sorted(left)}")

    test_class.addClassCleanup(remove)


def killed_up(name: str, *up: str, step: str, then=0.0) -> None:
    """Starts `up` and kills it when it has announced the step, and then so many seconds have passed, or
    then() is true."""
    argv = [CLUSTER, "--name", name, *up]
    said = ""
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        for line in child.stdout:
            said += line
            if step in line:
                break
        else:
            raise AssertionError(f"'up' did not announce '{step}':\n{said}")
        come = not callable(then) or wait_for(lambda: then() or child.poll() is not None, 120)
        time.sleep(0 if callable(then) else then)
        ended = child.poll()
        child.kill()
    if ended is not None or not come:
        raise AssertionError(
            f"'up' was not killed after '{step}' when it should have been:\n{said}"
        )


def killed_down(name: str, effect, what: str) -> None:
    """Starts `down` and kills it as soon as effect() is true, which it was not before."""
    if effect():
        raise AssertionError(f"before 'down' already: {what}")
    with subprocess.Popen([CLUSTER, "--name", name, "down"], stdout=subprocess.DEVNULL) as child:
        over = lambda: child.poll() is not None  # noqa: E731
        wait_for(lambda: effect() or over(), 60, every=0.001)
        ended = over()
        child.kill()
    if ended or not effect():
        raise AssertionError(f"'down' was not killed when this was so: {what}")


@unittest.skipUnless(os.geteuid() == 0, "a cluster needs root")
class ClusterTest(unittest.TestCase):
    """Fails if a test leaves something behind that was not there before it."""

    names: tuple[str, ...] = ()

    def setUp(self):
        self.remove_all()
        self.footprint = Footprint(*self.names)

    def tearDown(self):
        self.footprint.note()
        self.remove_all()
        self.assert_nothing_left()

    def down(self, name: str):
        self.footprint.note()
        run(name, "down")

    def assert_nothing_left(self):
        self.assertEqual(self.footprint.left(), set(), "left behind after 'down'")

    def remove_all(self):
        for name in self.names:
            run(name, "down", timeout=60)

    def assert_works(self, name: str):
        self.assertIn("kube-system", kubectl(name, "get", "namespaces", timeout=30))


def index_of(name: str) -> int:
    return registry.existing(name).index
