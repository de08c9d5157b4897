"""clang-tidy over every file that is compiled in any build, once for each text that it sees.

A file that was clean is not looked at again until something changes that could matter: its own text,
that of a header of ours below it, how it is compiled, the checks, or a Debian package with headers.
That is noted outside the checkout, so any other checkout knows it too. Nothing is preprocessed to
find out, which would take minutes: our includes are plain enough to be read.
"""

import functools
import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cache import cached, digest, is_known, remember
from .console import run, say
from .includes import INCLUDE
from .paths import LOGS, REPO

PLUGIN = REPO / "dev" / "tidy" / "own_code.cc"
PACKAGES = REPO / "dev" / "packages"
LLVM = Path("/usr/lib/llvm-16/include")

# The test libraries' templates make every check slow, and a test has less to hide.
TEST_CHECKS = (
    "-*,bugprone-use-after-move,bugprone-dangling-handle,bugprone-unused-return-value,"
    "cppcoreguidelines-avoid-capturing-lambda-coroutines"
)
TEST = re.compile(r"_(test|fuzz|testing|bench)\.cc$")

# Strings come first, so that what looks like a comment inside one is kept.
WORDS = re.compile(
    r'R"([^()\\\s]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<=\w)'(?=\w)"  # 1'000
    r"|'(?:\\.|[^'\\\n])*'"
    r"|//[^\n]*",
    re.S,
)


def check_tidy(files) -> list[str]:
    # The preset has every file, fuzz targets and benchmarks too. Only tests have precompiled headers:
    # every other file must compile by what it includes itself.
    build = REPO / "build" / "lint"
    run(["cmake", "--preset", "lint", "-Wno-dev"], LOGS / "lint.log", "configuring", cwd=REPO)
    known = set(files)
    commands = json.loads((build / "compile_commands.json").read_text())
    commands = [c for c in commands if Path(c["file"]) in known]
    texts = Texts(REPO)
    common = digest(REPO / ".clang-tidy", PLUGIN, TEST_CHECKS, _versions())
    keys = {c["file"]: texts.key(c, common) for c in commands}
    unknown = [Path(file) for file, key in keys.items() if not is_known("tidy", key)]
    if not unknown:
        return []
    own_code = plugin()
    precompile = ["cmake", "--build", build, "--target", "precompiled_tests"]
    run(precompile, LOGS / "lint.log", "precompiling the test libraries", cwd=REPO)
    done = [0]

    def one(file: Path) -> list[str]:
        found = tidy(build, own_code, file)
        if not found:
            remember("tidy", keys[str(file)])
        done[0] += 1
        if done[0] % 20 == 0:
            say(f"    clang-tidy: {done[0]} of {len(unknown)} files")
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(one, unknown) for line in lines]


class Texts:
    """The texts of one checkout, each read once."""

    def __init__(self, root: Path):
        self.root = root
        self.one = functools.cache(self._one)

    def key(self, command: dict, common: str) -> str:
        """Of all that clang-tidy would see of this file, except the system's headers."""
        how = re.sub(r" -o \S+ -c ", " ", command["command"]).replace(f"{self.root}/", "")
        total = hashlib.sha256(f"{common}\n{how}\n".encode())
        for file in sorted(self.below(Path(command["file"]))):
            total.update(f"{file.relative_to(self.root)} {self.one(file)[0]}\n".encode())
        return total.hexdigest()[:24]

    def below(self, file: Path) -> frozenset[Path]:
        """This file and all of ours that it includes, by whatever way."""
        seen, waiting = set(), [file]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self.one(one)[1]
        return frozenset(seen)

    def _one(self, file: Path) -> tuple[str, list[Path]]:
        """The digest of its code, and the files of ours that it includes."""
        text = file.read_text()
        names = (match[3] for match in INCLUDE.finditer(text) if match[3])
        places = (file.parent, self.root / "src", self.root / "tests")
        found = [next((p / n for p in places if (p / n).is_file()), None) for n in names]
        code = hashlib.sha256(without_remarks(text).encode()).hexdigest()
        return code, [path.resolve() for path in found if path]


def without_remarks(text: str) -> str:
    """The code without what is only for readers. What clang-tidy reads stays: NOLINT, and /*name=*/."""

    def keep(match: re.Match) -> str:
        return match[0] if not match[0].startswith("//") or "NOLINT" in match[0] else ""

    return WORDS.sub(keep, text)


def chosen_checks(file: Path) -> list[str]:
    is_test = TEST.search(file.name) or "src" not in file.relative_to(REPO).parts
    return [f"--checks={TEST_CHECKS}"] if is_test else []


def tidy(build: Path, own_code: Path, file: Path) -> list[str]:
    command = ["clang-tidy-16", "--quiet", f"--load={own_code}", *chosen_checks(file)]
    done = subprocess.run([*command, "-p", build, file], cwd=REPO, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).strip().splitlines()
    return [line for line in lines if not line.endswith("warnings generated.")] or [
        f"{file}: clang-tidy failed with exit status {done.returncode}"
    ]


def _versions() -> str:
    """Of the packages that headers and clang-tidy come from."""
    names = [line.split("#")[0].strip() for line in PACKAGES.read_text().splitlines()]
    names = [name for name in names if name.endswith("-dev") or name == "clang-tidy-16"]
    command = ["dpkg-query", "-W", *names, "libc6-dev", "libstdc++-12-dev"]
    return subprocess.run(command, capture_output=True, text=True).stdout


def plugin() -> Path:
    def build(folder: Path) -> None:
        command = ["clang++-16", "-std=c++17", "-O1", "-fno-rtti", "-fPIC", "-shared"]
        command += ["-isystem", LLVM, PLUGIN, "-o", folder / "own_code.so"]
        run(command, LOGS / "tidy-plugin.log", "building clang-tidy's plugin")

    return cached("tidy-plugin", digest(PLUGIN, _versions()), build) / "own_code.so"
