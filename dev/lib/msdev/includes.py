"""The walls between the rooms of src/: who may include whom, and where third-party headers may be.

A room includes only itself and the rooms below it. A third-party header appears only in .cc files
of the room that owns it, so that a file compiles in seconds and a library can be replaced.
"""

import re
from pathlib import Path

from .paths import REPO
from .texts import INCLUDE

# Every room and the rooms it may include, transitively closed by below().
ROOMS = {
    "base": [],
    "json": ["base"],
    "net": ["base"],
    "http": ["net"],
    "kube": ["http", "json"],
    "control": ["kube"],
    "slurm": ["http", "json"],
    "api": ["kube"],
    "operator": ["control", "slurm", "api"],
    "bridge": ["control", "slurm"],
    "app": ["operator", "bridge"],
}

# First part of the include -> the rooms whose .cc files may have it. None: any .cc file.
THIRD_PARTY = {
    "CLI": ["app"],
    "boost/asio": ["net"],
    "boost/beast": ["http"],
    "boost/json": ["json"],
    "boost": ["net", "http"],
    "fmt": None,
    "libfyaml.h": ["json"],
    "lua5.4": ["slurm"],
    "openssl": ["base", "net", "operator"],
    "prometheus": ["base"],
    "simdjson": ["json"],
    "spdlog": ["base"],
    "zlib": ["http"],
}
TEST_ONLY = ("gtest/", "gmock/", "rapidcheck", "benchmark/", "nlohmann/")
IN_HEADERS = {"src/base/result.h": ["tl/expected.hpp"]}


def below(room: str) -> set[str]:
    found = {room}
    for other in ROOMS[room]:
        found |= below(other)
    return found


def check_includes(files) -> list[str]:
    found = []
    for file in files:
        name = str(file.relative_to(REPO))
        parts = Path(name).parts
        if parts[0] != "src" or file.suffix not in {".cc", ".h"} or len(parts) < 3:
            continue
        room = parts[1]
        if room not in ROOMS:
            found.append(f"{name}: room '{room}' is unknown; add it to ROOMS in {__name__}")
            continue
        for match in INCLUDE.finditer(file.read_text()):
            header = match[2] or match[3]
            why = objection(name, room, header, project=match[3] is not None)
            if why:
                line = file.read_text()[: match.start()].count("\n") + 1
                found.append(f"{name}:{line}: includes {header}: {why}")
    return found


def objection(name: str, room: str, header: str, project: bool) -> str | None:
    """Why this file may not include this header, or None if it may."""
    if header.endswith(".cc"):
        return "what is compiled by itself is not included"
    if project:
        other = header.split("/")[0]
        if other not in ROOMS:
            return 'write the room first: "room/file.h"'
        if other not in below(room):
            return f"'{other}' is not below '{room}'"
        if header.endswith("_internal.h") and (other != room or not name.endswith(".cc")):
            return "an _internal.h is for .cc files of its own room"
        return None
    if "/" not in header and "." not in header:
        return None  # the standard library
    if header in IN_HEADERS.get(name, []):
        return None
    is_test = re.search(r"_(test|fuzz|testing|bench)\.cc$", name) or "testing" in Path(name).stem
    if header.startswith(TEST_ONLY):
        return None if is_test or name.endswith("_gen.h") else "only tests may"
    owner = next(
        (p for p in sorted(THIRD_PARTY, key=len, reverse=True) if is_under(header, p)), None
    )
    if owner is None:
        return None if is_system(header) else "no room owns this library; see THIRD_PARTY"
    if name.endswith(".h") and not name.endswith("_internal.h"):
        return "third-party headers stay in .cc files"
    rooms = THIRD_PARTY[owner]
    return None if rooms is None or room in rooms else f"only {', '.join(rooms)} may"


def is_under(header: str, prefix: str) -> bool:
    return header == prefix or header.startswith((prefix + "/", prefix + "."))


def is_system(header: str) -> bool:
    """POSIX and Linux headers: unistd.h, sys/socket.h, ..."""
    return header.endswith(".h") and (
        "/" not in header
        or header.split("/")[0] in {"sys", "netinet", "arpa", "linux", "net", "netdb"}
    )
