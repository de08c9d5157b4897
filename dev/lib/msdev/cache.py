"""Things that take long to build and depend only on their inputs: built once, found by content.

    path = cached("kube", key=digest(files, "v1.36.4"), build=lambda folder: ...)

`build` fills a temporary folder, which becomes the entry by one rename: an interrupted build leaves
nothing that could be mistaken for a finished one. Two processes that want the same entry wait for
each other.
"""

import fcntl
import hashlib
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterable

from .paths import CACHE

ENTRIES_KEPT = 3


def digest(*parts) -> str:
    """Of strings, files (their bytes) and folders (their files' names and bytes), in this order."""
    total = hashlib.sha256()
    for part in parts:
        for name, data in _pieces(part):
            total.update(f"{len(name)}:{name}{len(data)}:".encode())
            total.update(data)
    return total.hexdigest()[:20]


def _pieces(part) -> Iterable[tuple[str, bytes]]:
    if not isinstance(part, Path):
        yield "", str(part).encode()
    elif part.is_dir():
        for file in sorted(
            p for p in part.rglob("*") if p.is_file() and "__pycache__" not in p.parts
        ):
            # The mode matters too: an entrypoint that is not executable is another image.
            mode = oct(file.stat().st_mode & 0o777)
            yield f"{file.relative_to(part)} {mode}", file.read_bytes()
    else:
        yield part.name, part.read_bytes()


@contextmanager
def locked(file: Path):
    """Holds an exclusive lock on `file`, waiting for whoever has it. Freed also by a crash."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def cached(name: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder of this entry, built now if it is not there."""
    entry = CACHE / name / key
    if entry.is_dir():
        os.utime(entry)
        return entry
    with locked(CACHE / f"{name}.lock"):
        if entry.is_dir():
            return entry
        unfinished = CACHE / name / f"{key}.unfinished"
        remove_tree(unfinished)
        unfinished.mkdir(parents=True)
        build(unfinished)
        unfinished.rename(entry)
        _forget_old(CACHE / name)
    return entry


def is_cached(name: str, key: str) -> bool:
    return (CACHE / name / key).is_dir()


def is_known(kind: str, key: str) -> bool:
    """Whether `remember` was told this, by whichever checkout."""
    return (CACHE / kind / key).exists()


def remember(kind: str, key: str) -> None:
    """That what has this digest was found good, so that nobody looks at it again."""
    (CACHE / kind).mkdir(parents=True, exist_ok=True)
    (CACHE / kind / key).touch()


def _forget_old(folder: Path) -> None:
    """Keeps the few that were used last, so that a cluster running from an earlier checkout keeps its binaries."""
    entries = sorted(folder.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in entries[ENTRIES_KEPT:]:
        remove_tree(entry)


def remove_tree(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
