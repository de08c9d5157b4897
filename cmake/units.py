#!/usr/bin/python3
"""Which files of a target can be compiled as one: units.py ROOT FILE...

Prints a line for each unit, its files with ';' between them. To compile ten files as one takes little
longer than to compile one: what they include is read, and its templates are made, once. But what is local
to a file is then seen by the next. So no two files of a unit have a local name in common, and none has
one that a header has which only the other includes: each means the same as if it were compiled alone,
which is how clang-tidy sees it.

The project's format is what makes this simple: whatever begins a line stands in a namespace.
"""

import functools
import re
import sys
from pathlib import Path

# Larger ones would not be compiled side by side, and a change of one file should not cost much.
LINES, FILES = 2000, 10

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
REMARK = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*', re.S)
# The last word before what ends the beginning of a declaration.
NAME = re.compile(r"^(?![#}/\s]|namespace\b|using\b)([^;{=(]*?)(\w+)(?:\[\w*\])*\s*[;{=(]", re.M)
TYPE = re.compile(r"^(?:enum )?(?:class|struct|union) (\w+)", re.M)
# Also inside a function, where an alias of its own would hide another file's.
USING = re.compile(r"^ *using (?:(\w+) = ([^;]+)|([\w:]+));", re.M)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.M | re.S)
MACRO = re.compile(r"^#define ", re.M)


def without_remarks(text: str) -> str:
    return REMARK.sub(lambda one: "" if one[0].startswith("//") else '""', text)


class Source:
    """A file as far as others can see it."""

    def __init__(self, file: Path, root: Path):
        text = file.read_text()
        where = [text] if file.suffix == ".h" else UNNAMED.findall(text)
        # Names with what they mean; the same alias in two files is one.
        self.names: dict[str, str] = {}
        for part in where:
            for before, name in NAME.findall(without_remarks(part)):
                if not before.endswith("::") and not name.isupper():
                    self.names[name] = str(file)
            self.names |= {name: str(file) for name in TYPE.findall(part)}
        for alias, meant, used in USING.findall(text):
            self.names[alias or used.rpartition(":")[2]] = meant or used
        places = (file.parent, root / "src", root / "tests")
        found = (
            next((p / n for p in places if (p / n).is_file()), None) for n in INCLUDE.findall(text)
        )
        self.includes = [path.resolve() for path in found if path]
        self.lines = text.count("\n")
        self.has_macros = bool(MACRO.search(text))


class Files:
    def __init__(self, root: Path):
        self.read = functools.cache(lambda file: Source(file, root))
        self.headers = functools.cache(self._headers)

    def _headers(self, file: Path) -> frozenset[Path]:
        """All that it includes of ours, by whatever way."""
        seen, waiting = set(), list(self.read(file).includes)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self.read(one).includes
        return frozenset(seen)

    def differ(self, headers, names: dict[str, str]) -> bool:
        """Whether one of them means something else by one of these names."""
        return any(clash(self.read(one).names, names) for one in headers)


def clash(a: dict[str, str], b: dict[str, str]) -> bool:
    return any(a[name] != b[name] for name in a.keys() & b.keys())


class Unit:
    def __init__(self, files: Files):
        self.files = files
        self.members: list[Path] = []
        self.lines = 0
        self.names: dict[str, str] = {}
        self.headers: set[Path] = set()

    def takes(self, file: Path) -> bool:
        source, headers = self.files.read(file), self.files.headers(file)
        if source.has_macros or len(self.members) >= FILES or self.lines + source.lines > LINES:
            return False
        return not (
            clash(self.names, source.names)
            or self.files.differ(headers - self.headers, self.names)
            or self.files.differ(self.headers - headers, source.names)
        )

    def add(self, file: Path) -> None:
        source = self.files.read(file)
        self.members.append(file)
        self.lines += LINES if source.has_macros else source.lines
        self.names |= source.names
        self.headers |= self.files.headers(file)


def units(root: Path, names: list[Path]) -> list[list[Path]]:
    files, made = Files(root), []
    for file in sorted(names):
        unit = next((one for one in made if one.takes(file)), None)
        if unit is None:
            unit = Unit(files)
            made.append(unit)
        unit.add(file)
    return [unit.members for unit in made]


if __name__ == "__main__":
    top = Path(sys.argv[1]).resolve()
    for members in units(top, [Path(name).resolve() for name in sys.argv[2:]]):
        print(";".join(map(str, members)))
