"""A file includes what it uses, by itself or through a header of ours, and uses what it names.

Files are compiled several at once and with precompiled headers (cmake/), for clang-tidy too, so no
compiler notices what one of them lacks before it is put beside others. This reads the text instead: it
knows the types that one header of ours alone declares, and the names of the standard library that have
one home. What is declared in several places, or in none of ours, it says nothing of. It also sees names
that a file takes from a namespace in vain, which clang-tidy does only in the file that it is called with.
"""

import re
from pathlib import Path

from .paths import REPO
from .texts import Texts, without_strings

STANDARD = {
    "array": ["array"],
    "chrono": ["chrono"],
    "coroutine": ["coroutine_handle", "suspend_always", "suspend_never"],
    "deque": ["deque"],
    "functional": ["function"],
    "map": ["map", "multimap"],
    "memory": ["make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"],
    "optional": ["nullopt", "optional"],
    "set": ["multiset", "set"],
    "span": ["span"],
    "unordered_map": ["unordered_map"],
    "unordered_set": ["unordered_set"],
    "variant": ["holds_alternative", "monostate", "variant", "visit"],
    "vector": ["vector"],
}
HOMES = {f"std::{name}": home for home, names in STANDARD.items() for name in names}
USED = re.compile(r"\bstd::[a-z_]+\b|(?<!\.)(?<!->)\b[A-Z]\w*[a-z]\w*\b")
# What a test is called is nobody's name, nor is its group but for a fixture.
TITLES = re.compile(r"\bTEST\(\w+, \w+|\bINSTANTIATE_TEST_SUITE_P\(\w+|(?<=, )\w+(?=\) \{$)", re.M)
# With its members: a name that is only announced is not declared yet.
DECLARED = re.compile(
    r"^( *)(?:enum )?(?:class|struct|union) (\w+)(?: final)?(?: : [^;{]*)? \{", re.M
)
# Names that mean something else somewhere: announced, other names for a type, of templates.
ELSEWHERE = re.compile(
    r"\b(?:class|struct|typename|using|concept|namespace) (\w+)\s*[;=,>]"
    r"|^ +(?:enum )?(?:class|struct|union) (\w+)",
    re.M,
)
TAKEN = re.compile(r"^(?:using [\w:]+::(\w+);|namespace (\w+) = )", re.M)


def check_uses(files) -> list[str]:
    sources = Sources([f for f in files if f.suffix in {".cc", ".h"}])
    return [line for file in sources.files for line in sources.lacks(file) + sources.idle(file)]


class Sources:
    def __init__(self, files: list[Path]):
        self.files = files
        self.texts = Texts(REPO)
        self.code = {file: without_strings(self.texts.text(file)) for file in files}
        self.homes = self._homes()

    def lacks(self, file: Path) -> list[str]:
        """What it uses and does not include."""
        ours = self.texts.below(file)
        others = {name for one in ours for name in self.texts.system(one)}
        found = []
        for name in sorted(set(USED.findall(TITLES.sub("", self.code[file])))):
            home = HOMES.get(name) or self.homes.get(name)
            if home and home not in ours and home not in others and self.may_see(file, home):
                where = home.relative_to(REPO) if isinstance(home, Path) else home
                found.append(f"{file.relative_to(REPO)}: uses {name} and does not include {where}")
        return found

    def idle(self, file: Path) -> list[str]:
        """What it takes from a namespace and does not use; what a header takes is for others."""
        if file.suffix != ".cc":
            return []
        code = self.code[file]
        names = [using or alias for using, alias in TAKEN.findall(code)]
        idle = [name for name in names if len(re.findall(rf"\b{name}\b", code)) == 1]
        return [f"{file.relative_to(REPO)}: takes {name} from a namespace in vain" for name in idle]

    @staticmethod
    def may_see(file: Path, home: Path | str) -> bool:
        """What is of tests is meant by tests alone."""
        outside = isinstance(home, str) or home.is_relative_to(REPO / "src")
        return outside or not file.is_relative_to(REPO / "src")

    def _homes(self) -> dict[str, Path]:
        """The types that one header alone declares, outside of every other type."""
        homes: dict[str, Path | None] = {}
        for file, code in self.code.items():
            for indent, name in DECLARED.findall(code):
                alone = file.suffix == ".h" and not indent and name not in homes
                homes[name] = file if alone else None
            for names in ELSEWHERE.findall(code):
                homes |= {name: None for name in names if name}
        return {name: home for name, home in homes.items() if home}
