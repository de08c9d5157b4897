"""Debian packages of another release, unpacked beside the system instead of installed into it.

mmdebstrap knows the archive by itself, so no host name appears here. Only the named packages are
taken, without what they depend on: these are programs that need nothing but the C library.
"""

import shlex
import subprocess
from pathlib import Path

from .cache import cached, digest, is_cached
from .console import Failure, run
from .paths import LOGS

# The first release that has all the packages is taken.
SUITES = ("testing", "unstable")


def unpacked(name: str, packages: list[str]) -> Path:
    """A folder like / with the files of these packages; `versions` in it says what they are. Only root
    can make it."""
    return cached(f"debian-{name}", _key(packages), lambda f: _unpack(f, packages))


def is_unpacked(name: str, packages: list[str]) -> bool:
    return is_cached(f"debian-{name}", _key(packages))


def _key(packages: list[str]) -> str:
    return digest(*packages, *SUITES)


def _unpack(folder: Path, packages: list[str]) -> None:
    archives = folder / "debs"
    archives.mkdir()
    _download(packages, archives)
    versions = []
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
        versions.append(archive.stem.replace("_", " "))
        archive.unlink()
    archives.rmdir()
    (folder / "versions").write_text("\n".join(versions) + "\n")


def _download(packages: list[str], folder: Path) -> None:
    log = LOGS / "debian.log"
    for suite in SUITES:
        hook = (
            f"cd {shlex.quote(str(folder))} && "
            f'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download {shlex.join(packages)}'
        )
        # A mirror may lag behind the date in its signed index; the signature still holds.
        late = '--aptopt=Acquire::Check-Valid-Until "false"'
        argv = ["mmdebstrap", "--mode=root", "--variant=custom", "--format=null", late]
        try:
            what = f"Debian {suite}: {' '.join(packages)}"
            run(argv + [f"--customize-hook={hook}", suite, "/dev/null"], log, what)
            return
        except Failure as failure:
            last = failure
    raise last
