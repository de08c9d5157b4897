"""clang-tidy over every file that is compiled in any build, once for each text that it sees.

A file that was clean is not looked at again until something changes that could matter: its own text,
that of a header of ours below it or of a file that is compiled with it, how it is compiled, the checks,
or a Debian package with headers. That is noted outside the checkout, so any other checkout knows it too.
"""

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cache import cached, digest, is_known, remember
from .console import run, say
from .paths import LOGS, REPO
from .texts import Texts

PLUGIN = REPO / "dev" / "tidy" / "own_code.cc"
PACKAGES = REPO / "dev" / "packages"
LLVM = Path("/usr/lib/llvm-16/include")

# The test libraries' templates make every check slow, and a test has less to hide.
TEST_CHECKS = (
    "-*,bugprone-use-after-move,bugprone-dangling-handle,bugprone-unused-return-value,"
    "cppcoreguidelines-avoid-capturing-lambda-coroutines"
)
TEST = re.compile(r"_(test|fuzz|testing|bench)\.cc$")


def check_tidy(files) -> list[str]:
    # The preset has every file, fuzz targets and benchmarks too. They are read as they are compiled,
    # several at once where they can be: reading headers is most of the work.
    build = REPO / "build" / "lint"
    run(["cmake", "--preset", "lint", "-Wno-dev"], LOGS / "lint.log", "configuring", cwd=REPO)
    known, texts = set(files), Texts(REPO)
    commands = json.loads((build / "compile_commands.json").read_text())
    commands = [c for c in commands if known.issuperset(members(texts, Path(c["file"])))]
    common = digest(REPO / ".clang-tidy", PLUGIN, TEST_CHECKS, _versions())
    keys = {c["file"]: key_of(texts, c, common) for c in commands}
    unknown = [Path(file) for file, key in keys.items() if not is_known("tidy", key)]
    if not unknown:
        return []
    own_code = plugin()
    precompile = ["cmake", "--build", build, "--target", "precompiled_house", "precompiled_tests"]
    run(precompile, LOGS / "lint.log", "precompiling headers", cwd=REPO)
    done = [0]

    def one(file: Path) -> list[str]:
        found = tidy(build, own_code, file, is_test(members(texts, file)[0]))
        if not found:
            remember("tidy", keys[str(file)])
        done[0] += 1
        if done[0] % 20 == 0:
            say(f"    clang-tidy: {done[0]} of {len(unknown)} files")
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(one, unknown) for line in lines]


def key_of(texts: Texts, command: dict, common: str) -> str:
    """Of all that clang-tidy would see of this file, except the system's headers."""
    how = re.sub(r" -o \S+ -c ", " ", command["command"]).replace(f"{texts.root}/", "")
    total = hashlib.sha256(f"{common}\n{how}\n".encode())
    for file in sorted(texts.below(Path(command["file"]))):
        total.update(f"{file.relative_to(texts.root)} {texts.digest(file)}\n".encode())
    return total.hexdigest()[:24]


def members(texts: Texts, file: Path) -> list[Path]:
    """What is compiled as this file: several, where it is a unit (cmake/Units.cmake)."""
    return texts.ours(file) if file.parent.name == "units" else [file]


def is_test(file: Path) -> bool:
    return bool(TEST.search(file.name)) or "src" not in file.relative_to(REPO).parts


def tidy(build: Path, own_code: Path, file: Path, fewer: bool) -> list[str]:
    command = ["clang-tidy-16", "--quiet", f"--load={own_code}"]
    command += [f"--checks={TEST_CHECKS}"] if fewer else []
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
