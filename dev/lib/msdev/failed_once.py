"""What a test with real clusters said when it failed and then, run once more, passed.

On a small machine that happens. It must be seen all the same, and beyond a few it is a fault of the
project: a test that fails every other time proves nothing.
"""

from pathlib import Path

from .cache import remove_tree
from .console import Failure
from .paths import LOGS

FOLDER = LOGS / "failed-once"
ALLOWED = 5


def log_of(test: str) -> Path:
    """Where the first attempt of `test` goes; it stays there if it failed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / f"{test}.log"


def forget() -> None:
    remove_tree(FOLDER)


def logs() -> list[Path]:
    """Of those that passed when run again. Whoever failed twice is in ctest's own list."""
    again = {file.name.removesuffix(".again.log") for file in FOLDER.glob("*.again.log")}
    return [FOLDER / f"{name}.log" for name in sorted(again)]


def note() -> str:
    """For people; empty if there is nothing to say."""
    found = logs()
    if not found:
        return ""
    lines = "".join(f"\n  {file.stem}: {file}" for file in found)
    return f"{len(found)} tests failed once and passed when run again. Read and mend:{lines}"


def check() -> None:
    if len(logs()) > ALLOWED:
        raise Failure(f"{note()}\nMore than {ALLOWED} is not bad luck any more.")
