"""The checks behind dev/lint. Each is a function from the project's files to a list of findings."""

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .console import Failure, Steps, say
from .coroutines import check_coroutines
from .includes import check_includes
from .paths import CACHE, REPO

LONGEST_FILE = 600
SOURCE_ENDINGS = {".cc", ".h", ".py", ".sh", ".go"}
SHELLS = re.compile(r"^#!.*\b(ba|da)?sh\b")
PYTHON = re.compile(r"^#!.*\bpython3?\b")


def tracked() -> list[Path]:
    """Every file of the project, also those not committed yet; never ignored ones."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    return [REPO / name for name in sorted(set(names)) if name and (REPO / name).is_file()]


def first_line(file: Path) -> str:
    with file.open("rb") as handle:
        return handle.readline(200).decode(errors="replace")


def cpp(files):
    return [f for f in files if f.suffix in {".cc", ".h"}]


def python(files):
    return [f for f in files if f.suffix == ".py" or (not f.suffix and PYTHON.match(first_line(f)))]


def shell(files):
    return [f for f in files if f.suffix == ".sh" or (not f.suffix and SHELLS.match(first_line(f)))]


def output_of(argv) -> list[str]:
    """The lines a checker prints if it is not content, else nothing."""
    done = subprocess.run([str(a) for a in argv], cwd=REPO, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines or [f"{argv[0]} failed with exit status {done.returncode}"]


def check_format(files):
    found = output_of(["clang-format-16", "--dry-run", "--Werror", *cpp(files)])
    found += output_of(["black", "--check", "--quiet", "-l", "100", "--diff", *python(files)])
    go = [f for f in files if f.suffix == ".go"]
    if go:
        found += [f"{name}: not gofmt'ed" for name in output_lines(["gofmt", "-l", *go])]
    return found


def output_lines(argv) -> list[str]:
    """What a tool prints whatever its verdict; nothing where the tool is not installed."""
    try:
        return subprocess.run([str(a) for a in argv], capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        return []


def check_scripts(files):
    found = output_of(["shellcheck", "-x", *shell(files)]) if shell(files) else []
    # /usr/bin/python3, not the first on the PATH: pyflakes3 is Debian's.
    return found + output_of(["/usr/bin/python3", "-m", "pyflakes", *python(files)])


def check_sizes(files):
    found = []
    for file in files:
        if file.suffix in SOURCE_ENDINGS:
            lines = file.read_bytes().count(b"\n")
            if lines > LONGEST_FILE:
                found.append(
                    f"{file.relative_to(REPO)}: {lines} lines; more than {LONGEST_FILE} means that it "
                    "has more than one subject: split it"
                )
    return found


def check_tidy(files):
    """clang-tidy over every compiled file. A file whose preprocessed text was clean before is not
    looked at again: a full run takes minutes, a repeated one seconds."""
    build = REPO / "build" / "debug"
    subprocess.run(
        ["cmake", "--preset", "debug", "-Wno-dev"], cwd=REPO, check=True, capture_output=True
    )
    # Without the precompiled headers: each file must compile by what it includes itself.
    text = re.sub(r" -include-pch \S+", "", (build / "compile_commands.json").read_text())
    folder = REPO / "build" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(text)
    known = set(files)
    commands = [c for c in json.loads(text) if Path(c["file"]) in known]
    settings = (REPO / ".clang-tidy").read_bytes()
    done = [0]

    def one(command) -> list[str]:
        file = Path(command["file"])
        stamp = tidy_stamp(command, settings)
        found = []
        if stamp is None or not stamp.exists():
            found = tidy_file(folder, file)
            if not found and stamp is not None:
                stamp.parent.mkdir(parents=True, exist_ok=True)
                stamp.touch()
        done[0] += 1
        if done[0] % 20 == 0:
            say(f"    clang-tidy: {done[0]} of {len(commands)} files")
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(one, commands) for line in lines]


# The test libraries' templates make every check slow, and a test has less to hide.
TEST_CHECKS = (
    "-*,bugprone-use-after-move,bugprone-dangling-handle,bugprone-unused-return-value,"
    "cppcoreguidelines-avoid-capturing-lambda-coroutines"
)


def chosen_checks(file: Path) -> list[str]:
    is_test = re.search(r"_(test|fuzz|testing|bench)\.cc$", file.name) or "src" not in file.parts
    return [f"--checks={TEST_CHECKS}"] if is_test else []


def tidy_stamp(command, settings: bytes) -> Path | None:
    """Where to note that this very text was clean; None if it does not even preprocess."""
    argv = re.sub(r" -o \S+ -c ", " -E -P -C ", command["command"])
    text = subprocess.run(argv, shell=True, cwd=command["directory"], capture_output=True)
    if text.returncode != 0:
        return None
    return (
        CACHE
        / "tidy"
        / hashlib.sha256(settings + TEST_CHECKS.encode() + text.stdout).hexdigest()[:24]
    )


def tidy_file(folder: Path, file: Path) -> list[str]:
    checks = chosen_checks(file)
    found = output_of(["clang-tidy-16", "--quiet", *checks, "-p", folder, file])
    return [line for line in found if not line.endswith("warnings generated.")]


CHECKS = {
    "coroutines": check_coroutines,
    "format": check_format,
    "includes": check_includes,
    "scripts": check_scripts,
    "sizes": check_sizes,
    "tidy": check_tidy,
}


def fix(files) -> None:
    subprocess.run(["clang-format-16", "-i", *cpp(files)], check=True)
    subprocess.run(["black", "--quiet", "-l", "100", *python(files)], check=True)
    go = [f for f in files if f.suffix == ".go"]
    if go:
        subprocess.run(["gofmt", "-w", *go], check=True)


def main(arguments: list[str]) -> None:
    files = tracked()
    if arguments == ["--fix"]:
        fix(files)
        return
    unknown = [name for name in arguments if name not in CHECKS]
    if unknown:
        raise Failure(f"no check is named '{unknown[0]}'; there are: {', '.join(CHECKS)}")
    chosen = arguments or list(CHECKS)
    steps = Steps(len(chosen))
    findings = 0
    for name in chosen:
        steps.next(f"{name}")
        found = CHECKS[name](files)
        findings += len(found)
        for line in found:
            say(line)
    if findings:
        raise Failure(f"{findings} lines of findings above; 'make format' mends formatting")
    steps.done("lint is clean")
