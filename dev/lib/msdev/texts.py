"""The C++ texts of one checkout, each read once: their code, and what they include of each other.

Nothing is preprocessed, which would take minutes: our includes are plain enough to be read.
"""

import functools
import hashlib
import re
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+(<([^>]+)>|"([^"]+)")', re.M)
# Strings come first, so that what looks like a comment inside one is kept.
WORDS = re.compile(
    r'R"([^()\\\s]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<=\w)'(?=\w)"  # 1'000
    r"|'(?:\\.|[^'\\\n])*'"
    r"|//[^\n]*",
    re.S,
)


class Texts:
    def __init__(self, root: Path):
        self.root = root
        self.text = functools.cache(Path.read_text)
        self.digest = functools.cache(self._digest)
        self.ours = functools.cache(self._ours)
        self.below = functools.cache(self._below)

    def system(self, file: Path) -> list[str]:
        """The headers that it includes of others, as it names them."""
        return [match[2] for match in INCLUDE.finditer(self.text(file)) if match[2]]

    def _digest(self, file: Path) -> str:
        """Of its code."""
        return hashlib.sha256(without_remarks(self.text(file)).encode()).hexdigest()

    def _ours(self, file: Path) -> list[Path]:
        """The files of ours that it includes."""
        names = (match[3] for match in INCLUDE.finditer(self.text(file)) if match[3])
        places = (file.parent, self.root / "src", self.root / "tests")
        found = (next((p / n for p in places if (p / n).is_file()), None) for n in names)
        return [path.resolve() for path in found if path]

    def _below(self, file: Path) -> frozenset[Path]:
        """This file and all of ours that it includes, by whatever way."""
        seen, waiting = set(), [file]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self.ours(one)
        return frozenset(seen)


def without_remarks(text: str) -> str:
    """The code without what is only for readers. What clang-tidy reads stays: NOLINT, and /*name=*/."""

    def keep(match: re.Match) -> str:
        return match[0] if not match[0].startswith("//") or "NOLINT" in match[0] else ""

    return WORDS.sub(keep, text)


def without_strings(text: str) -> str:
    """The code with nothing in it that only looks like code."""
    return WORDS.sub(lambda match: "" if match[0].startswith("//") else '""', text)
