"""CPUs as Linux lists them: where a process may run, and which belong to a core."""

import re
from pathlib import Path


def allowed_cpus(status: str) -> set[int]:
    """Of a process, by its file in /proc."""
    return listed(re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE).group(1))


def cpus_in(cores: set[int]) -> set[int]:
    """Of the cores with these numbers on this machine, which is every node."""
    files = Path("/sys/devices/system/cpu").glob("cpu*/topology/thread_siblings_list")
    known = sorted({tuple(sorted(listed(file.read_text()))) for file in files})
    return {cpu for core in cores for cpu in known[core]}


def listed(text: str) -> set[int]:
    """0-2,5: 0, 1, 2 and 5."""
    ends = [part.split("-") for part in text.strip().split(",")]
    return {number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)}
