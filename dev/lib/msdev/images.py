"""The container images: what each is made from, when it is new, and how it is built here.

The Containerfiles under images/ are ordinary ones. Here they are built by buildah as root, in a
chroot, on a root file system that mmdebstrap makes; neither needs a daemon or a registry.
"""

import functools
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import oci
from .cache import cached, digest, locked, remove_tree
from .console import Failure, Steps, run
from .paths import CACHE, REPO

IMAGES = REPO / "images"
LOGS = REPO / "build" / "log" / "images"
PREFIX = "localhost/mainspring"
PROGRAM = REPO / "build" / "release" / "src" / "app" / "mainspring"

# A tag is the version of Slurm; the product's own images are `dev` until they are released.
SUITES = {"26.05": "testing", "24.11": "trixie", "dev": "bookworm"}
RECIPE = "1"  # Counts changes of this file that change what is in an image.


@dataclass(frozen=True)
class Spec:
    """One image: the folder of its Containerfile, its tag, and the image that it is built on."""

    name: str
    tag: str
    parent: str | None

    @property
    def full_name(self) -> str:
        return f"{PREFIX}/{self.name}:{self.tag}"

    @functools.cached_property
    def base(self) -> "Spec | None":
        if self.parent == "debian":
            return spec("debian", self.suite)
        return spec(self.parent, self.tag) if self.parent else None

    @property
    def suite(self) -> str:
        return SUITES.get(self.tag, self.tag)

    @property
    def lineage(self) -> list["Spec"]:
        """This image after all that it is built on."""
        return (self.base.lineage if self.base else []) + [self]

    @functools.cached_property
    def key(self) -> str:
        """Of everything that the image is made from. Package versions: as of the last refresh."""
        if self.parent is None:
            return digest(RECIPE, self.suite, *_mmdebstrap_options(), _stamp())
        parts = [RECIPE, self.tag, self.base.key, IMAGES / self.name]
        if self.name == "mainspring":
            parts.append(program())
        return digest(*parts)


PARENTS = {
    "debian": None,
    "base": "debian",
    "shell": "base",
    "slurmctld": "base",
    "slurmdbd": "base",
    "slurmrestd": "base",
    "slurmd": "shell",
    "login": "shell",
    "mariadb": "debian",
    "sandbox": "base",
    "runtime": "debian",
    "mainspring": "runtime",
}
DEFAULT_TAGS = {"debian": "testing", "runtime": "dev", "mainspring": "dev"}
SLURM = ["slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login"]


@functools.cache
def spec(name: str, tag: str = "") -> Spec:
    """The image of this name. Its key is taken once, so that an edit during a build confuses nobody."""
    if name not in PARENTS:
        raise Failure(f"no image is called {name}; there are: {', '.join(PARENTS)}")
    tag = tag or DEFAULT_TAGS.get(name, "26.05")
    known = SUITES.values() if name == "debian" else SUITES
    if tag not in known:
        raise Failure(f"image {name} has no tag {tag}; choose one of: {', '.join(known)}")
    return Spec(name, tag, PARENTS[name])


def program() -> Path:
    if not PROGRAM.is_file():
        raise Failure(f"{PROGRAM} is missing; 'make build' makes it")
    return PROGRAM


def is_built(image: Spec) -> bool:
    return _entry(image).is_dir()


def archive(image: Spec) -> Path:
    return _entry(image) / "image.tar"


def build_all(images: list[Spec], steps: Steps | None = None) -> None:
    """Builds those of `images`, and of what they are built on, that are not there already."""
    needed = needed_for(images)
    if all(is_built(image) for image in needed):
        return
    _require_tools()
    steps = steps or Steps(len(needed))
    with locked(CACHE / "images.lock"), _Store() as store:
        for image in needed:
            steps.next(f"image {image.name}:{image.tag}" + (" is there" if is_built(image) else ""))
            cached(
                f"image-{image.name}-{image.tag}",
                image.key,
                lambda folder, image=image: store.build(image, folder / "image.tar"),
            )


def needed_for(images: list[Spec]) -> list[Spec]:
    """These and all that they are built on, each once, in the order of building."""
    return list(dict.fromkeys(step for image in images for step in image.lineage))


def refresh() -> None:
    """From now on, images are new ones with the package versions of today."""
    stamp = CACHE / "images.stamp"
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(str(time.time()))


def _entry(image: Spec) -> Path:
    return CACHE / f"image-{image.name}-{image.tag}" / image.key


def _stamp() -> str:
    try:
        return (CACHE / "images.stamp").read_text()
    except OSError:
        return ""


def _require_tools() -> None:
    if os.geteuid() != 0:
        raise Failure("building images here needs root (or use docker or podman: images/README.md)")
    missing = [tool for tool in ("buildah", "mmdebstrap") if not shutil.which(tool)]
    if missing:
        raise Failure(f"{' and '.join(missing)} missing; run dev/setup")


def _mmdebstrap_options() -> list[str]:
    """A base much like the usual slim image. What is said to apt and dpkg stays in force inside."""
    options = ["--variant=apt", "--aptopt=Acquire::Languages none"]
    options.append("--aptopt=APT::Install-Recommends false")
    # Half the time, and an image that a power cut spoiled is built again anyway.
    options.append("--dpkgopt=force-unsafe-io")
    for path in ("man", "locale", "doc", "info"):
        options.append(f"--dpkgopt=path-exclude=/usr/share/{path}/*")
    if _machine_trusts_old_archives():
        options.append("--aptopt=Acquire::Check-Valid-Until false")
    return options


def _machine_trusts_old_archives() -> bool:
    """Some mirrors lag behind the date in their signed index; the machine's own apt then says so."""
    command = ["apt-config", "shell", "answer", "Acquire::Check-Valid-Until/b"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return "false" in answer.stdout


class _Store:
    """buildah's storage for one run: gone afterwards, and so is what an interrupted run left."""

    def __init__(self):
        self.root = CACHE / "images.store"
        self.present: set[Spec] = set()

    def __enter__(self):
        remove_tree(self.root)
        self.root.mkdir(parents=True)
        return self

    def __exit__(self, *_):
        remove_tree(self.root)

    def build(self, image: Spec, result: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            context = self._context(image, Path(folder))
            self._bud(image, context)
            layout = Path(folder) / "layout"
            self._buildah(image, "push", "-q", image.full_name, f"oci:{layout}:image")
            oci.write_archive(layout, image.full_name, result)
        self.present.add(image)

    def _context(self, image: Spec, folder: Path) -> Path:
        """The folder that the Containerfile may copy from."""
        if image.parent is None:
            suite = image.suite
            command = ["mmdebstrap", "--mode=root", *_mmdebstrap_options(), suite]
            run(
                [*command, folder / "root.tar"],
                _log(image, "mmdebstrap"),
                f"root file system of Debian {suite}",
            )
            (folder / "Containerfile").write_text('FROM scratch\nADD root.tar /\nCMD ["bash"]\n')
            return folder
        if image.name != "mainspring":
            return IMAGES / image.name
        shutil.copy(program(), folder / "mainspring")
        return folder

    def _bud(self, image: Spec, context: Path) -> None:
        options = ["--isolation=chroot", "--format=oci", "--pull-never", "-t", image.full_name]
        if image.parent is None:
            self._buildah(image, "bud", *options, context)
            return
        base = image.base
        if base not in self.present:
            self._buildah(image, "pull", "-q", f"oci-archive:{archive(base)}")
            self.present.add(base)
        options += ["--build-arg", f"BASE={base.full_name}"]
        self._buildah(image, "bud", *options, "-f", IMAGES / image.name / "Containerfile", context)

    def _buildah(self, image: Spec, *arguments) -> None:
        # Cache mounts live under TMPDIR, and lists of different suites must not meet in one.
        scratch = CACHE / "images.apt" / image.suite
        scratch.mkdir(parents=True, exist_ok=True)
        # In a mount namespace of its own, so that nothing stays mounted if it is interrupted.
        command = ["unshare", "--mount", "buildah", "--storage-driver", "overlay"]
        command += ["--root", self.root / "root", "--runroot", self.root / "run"]
        run(
            [*command, *arguments],
            _log(image, arguments[0]),
            f"image {image.name}:{image.tag}",
            env=os.environ | {"TMPDIR": str(scratch)},
        )


def _log(image: Spec, action: str) -> Path:
    return LOGS / f"{image.name}-{image.tag}-{action}.log"
