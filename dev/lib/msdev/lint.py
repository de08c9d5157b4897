"""The checks behind dev/lint. Each is a function from the project's files to a list of findings."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cache import digest, is_known, remember
from .console import Failure, Steps, run, say
from .coroutines import check_coroutines
from .golang import formatter
from .includes import check_includes
from .paths import REPO
from .tidy import check_tidy
from .uses import check_uses

LONGEST_FILE = 600
SOURCE_ENDINGS = {".cc", ".h", ".py", ".sh", ".go"}
SHELLS = re.compile(r"^#!.*\b(ba|da)?sh\b")
# Where images and packages come from is the business of whoever installs, and of their tools' defaults.
HOSTS = re.compile(
    r"\b(?:(?:docker|gcr|ghcr|nvcr|quay)\.io|registry\.k8s\.io|public\.ecr\.aws|mcr\.microsoft\.com"
    r"|deb\.debian\.org|proxy\.golang\.org|pypi\.org)\b"
)
PYTHON = re.compile(r"^#!.*\bpython3?\b")
CLANG_FORMAT, BLACK = "clang-format-16", ["black", "-l", "100"]
BATCH = 20  # Files for one clang-format, which takes longer to start than to read one.
NO_GO = "    gofmt is left out: no Go here is new enough, and only root can unpack Debian's"


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


def go(files):
    return [f for f in files if f.suffix == ".go"]


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
    found = clang_format_findings(files) + black_findings(python(files))
    return found + [f"{line}: not gofmt'ed" for line in gofmt_findings(go(files))]


def not_known(kind: str, version: str, styles, files) -> dict[Path, str]:
    """Those that this formatter did not find good before, as they are; each with what to remember."""
    common = digest(version, *(x for f in styles for x in (str(f.relative_to(REPO)), f)))
    # The name counts too: it says which include is a file's own and comes first.
    keys = {f: digest(common, str(f.relative_to(REPO)), f) for f in files}
    return {f: key for f, key in keys.items() if not is_known(kind, key)}


def version_of(command: str) -> str:
    return subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout


def clang_format_findings(files) -> list[str]:
    styles = [f for f in files if f.name == ".clang-format"]
    unknown = not_known("clang-format", version_of(CLANG_FORMAT), styles, cpp(files))

    def look_at(batch: list[Path]) -> list[str]:
        found = output_of([CLANG_FORMAT, "--dry-run", "--Werror", *batch])
        for file in [] if found else batch:
            remember("clang-format", unknown[file])
        return found

    names = list(unknown)
    batches = [names[i : i + BATCH] for i in range(0, len(names), BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(look_at, batches) for line in lines]


def black_findings(files) -> list[str]:
    """What it would change. It knows the files that it found good before by their paths, which are others
    in every checkout."""
    unknown = not_known("black", " ".join([version_of(BLACK[0]), *BLACK]), [], files)
    found = output_of([*BLACK, "--check", "--quiet", "--diff", *unknown]) if unknown else []
    for file, key in unknown.items() if not found else ():
        remember("black", key)
    return found


def gofmt_findings(files) -> list[str]:
    """What gofmt of the Go that builds these files would change, and what it cannot read."""
    if not files:
        return []
    gofmt = formatter(files)
    if gofmt is None:
        say(NO_GO)
        return []
    done = subprocess.run([gofmt, "-l", *files], cwd=REPO, capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()


def check_scripts(files):
    found = output_of(["shellcheck", "-x", *shell(files)]) if shell(files) else []
    # /usr/bin/python3, not the first on the PATH: pyflakes3 is Debian's.
    return found + output_of(["/usr/bin/python3", "-m", "pyflakes", *python(files)])


def check_sizes(files):
    found = []
    scripts = {*python(files), *shell(files)}  # Many have no ending.
    for file in files:
        if file.suffix in SOURCE_ENDINGS or file in scripts:
            lines = file.read_bytes().count(b"\n")
            if lines > LONGEST_FILE:
                found.append(
                    f"{file.relative_to(REPO)}: {lines} lines; more than {LONGEST_FILE} means that it "
                    "has more than one subject: split it"
                )
    return found


def check_hosts(files):
    found = []
    for file in files:
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if host := HOSTS.search(line):
                found.append(
                    f"{file.relative_to(REPO)}:{number}: names the registry {host.group()}; an example "
                    "is registry.example, a real one is left to who installs"
                )
    return found


CHECKS = {
    "coroutines": check_coroutines,
    "format": check_format,
    "hosts": check_hosts,
    "includes": check_includes,
    "scripts": check_scripts,
    "sizes": check_sizes,
    "uses": check_uses,
    "tidy": check_tidy,
}


def fix(files) -> None:
    log = REPO / "build" / "log" / "format.log"
    formatters = {
        "C++": (cpp(files), lambda: [CLANG_FORMAT, "-i"]),
        "Python": (python(files), lambda: [*BLACK, "--quiet"]),
        "Go": (go(files), lambda: (gofmt := formatter(go(files))) and [gofmt, "-w"]),
    }
    steps = Steps(len(formatters))
    for what, (chosen, command) in formatters.items():
        steps.next(f"{len(chosen)} files of {what} (log: {log.relative_to(REPO)})")
        if not chosen:
            continue
        if argv := command():
            run([*argv, *chosen], log, f"formatting {what}", cwd=REPO)
        else:
            say(NO_GO)
    steps.done("formatted")


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
