"""Commands in containers, without kubectl: that goes by way of the API server, the kubelet, containerd
and runc, which is dear where tests look every half second. The nodes' processes are this machine's."""

import subprocess
from pathlib import Path


def run(
    container: str, command: tuple[str, ...], timeout: float
) -> subprocess.CompletedProcess | None:
    """As the container's own user, with its environment; None where it does not run. `container`: the
    id by which the runtime knows it."""
    if (pid := _first_process(container)) is None:
        return None
    try:
        environment = (Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0")
        ids = _status(pid)
    except OSError:
        return None  # It has just ended.
    enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", "--net", "--pid"]
    enter += [f"--setuid={ids['Uid'][0]}", f"--setgid={ids['Gid'][0]}", "--", *command]
    return subprocess.run(
        enter,
        env=dict(one.split(b"=", 1) for one in environment if b"=" in one),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def _first_process(container: str) -> int | None:
    """The one with the lowest id inside."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if container in (entry / "cgroup").read_text():
                found.append((int(_status(int(entry.name))["NSpid"][-1]), int(entry.name)))
        except OSError:
            continue  # It has just ended.
    return min(found)[1] if found else None


def _status(pid: int) -> dict[str, list[str]]:
    lines = (Path("/proc") / str(pid) / "status").read_text().splitlines()
    return {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
