"""The charts of the project, rendered by the real helm."""

import subprocess
import sys
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import parts  # noqa: E402


def helm(*arguments: str, values: dict | None = None) -> subprocess.CompletedProcess:
    more = ("-f", "-") if values is not None else ()
    return subprocess.run(
        [parts.helm(), *arguments, *more],
        input=yaml.safe_dump(values) if values is not None else None,
        capture_output=True,
        text=True,
        timeout=60,
    )


def render(chart: str, values: dict, *options: str, namespace: str = "ns") -> list[dict]:
    answer = helm(
        *("template", chart, str(REPO / "charts" / chart), "--namespace", namespace, *options),
        values=values,
    )
    if answer.returncode != 0:
        raise AssertionError(answer.stderr)
    return [one for one in yaml.safe_load_all(answer.stdout) if one]


def one(objects: list[dict], kind: str, name: str | None = None) -> dict:
    found = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]
