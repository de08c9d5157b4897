"""The Go toolchain, and the small Go modules under dev/ that it builds.

The machine's own Go is used when it is new enough. Otherwise (or when MAINSPRING_GO=debian says
so) it is Debian testing's package, unpacked beside the system.
"""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from .cache import cached, digest
from .console import run
from .debian import is_unpacked, unpacked
from .paths import LOGS, REPO

# Static programs without the paths of this checkout in them, so that any checkout can share them, and
# without what a debugger would want of them, which takes an eighth of the time to compile.
FLAGS = ["-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"]


def go_for(module: Path) -> Path:
    """The go command that can build this module."""
    if own := _own(module):
        return own
    release = _release(module)
    return unpacked("golang", _packages(release)) / "usr/lib" / f"go-{release}" / "bin" / "go"


def formatter(files: list[Path]) -> Path | None:
    """The gofmt of the toolchain that builds the module of these files. None: there is none yet, and
    who asks is not root, who alone can unpack Debian's."""
    module = next(folder for folder in files[0].parents if (folder / "go.mod").exists())
    there = _own(module) or is_unpacked("golang", _packages(_release(module)))
    if not there and os.geteuid() != 0:
        return None
    return go_for(module).resolve().with_name("gofmt")


def build(
    name: str, ldflags: str = "", links: tuple = (), jobs: int | None = None, files: tuple = ()
) -> Path:
    """The executable of module dev/NAME, built now if no cached one fits. `links` are other names
    for it in the same folder, for a program that looks at the name it is started under; `files` are
    copied there, each (its name, the Go module that has it, its path in that module)."""
    module = REPO / "dev" / name
    go = go_for(module)
    inputs = [module / file for file in ("go.mod", "go.sum", "main.go")]
    key = digest(*inputs, ".".join(map(str, _version(go))), ldflags, *links, *files, *FLAGS)

    def compile_it(folder: Path) -> None:
        limit = ["-p", str(jobs)] if jobs else []
        # The linker's -s -w leave out symbol tables that nobody debugs here.
        # -v names each package when its turn comes: what people see of these minutes.
        argv = [
            go,
            "build",
            "-v",
            *FLAGS,
            *limit,
            "-ldflags",
            f"-s -w {ldflags}",
            "-o",
            folder / name,
        ]
        # Should this command be killed, the compiler must not write into the cache behind its back.
        argv = ["setpriv", "--pdeathsig", "KILL", *argv, "."]
        log = LOGS / f"go-{name}.log"
        run(argv, log, f"go build dev/{name}", cwd=module, env=_environment(go))
        for link in links:
            (folder / link).symlink_to(name)
        for file, source, path in files:
            shutil.copy(_folder_of(source, module, go) / path, folder / file)

    return cached(f"go-{name}", key, compile_it) / name


def _folder_of(source: str, module: Path, go: Path) -> Path:
    """Where Go keeps the files of a module that dev/NAME is built from."""
    command = [go, "list", "-m", "-f", "{{.Dir}}", source]
    answer = subprocess.run(
        command, cwd=module, env=_environment(go), capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.strip())


def _own(module: Path) -> Path | None:
    """The machine's, if it is new enough."""
    own = shutil.which("go")
    if not own or os.environ.get("MAINSPRING_GO") == "debian":
        return None
    return Path(own) if _version(Path(own)) >= _wanted(module) else None


def _release(module: Path) -> str:
    return ".".join(map(str, _wanted(module)[:2]))


def _packages(release: str) -> list[str]:
    return [f"golang-{release}-go", f"golang-{release}-src"]


def _wanted(module: Path) -> tuple[int, ...]:
    text = (module / "go.mod").read_text()
    return _numbers(re.search(r"^go (\S+)", text, re.MULTILINE).group(1))


@functools.cache
def _version(go: Path) -> tuple[int, ...]:
    # Asked outside any module: inside one, GOTOOLCHAIN=local makes an old Go refuse to answer.
    command = [go, "env", "GOVERSION"]
    answer = subprocess.run(
        command, cwd="/", env=_environment(go), capture_output=True, text=True, check=True
    )
    return _numbers(answer.stdout.strip().removeprefix("go"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def _environment(go: Path) -> dict[str, str]:
    environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    if go != Path(shutil.which("go") or ""):
        environment["GOROOT"] = str(go.parent.parent)
    return environment
