"""The command images/build."""

import argparse
import os
from pathlib import Path

from . import images, oci
from .cache import cached, digest
from .console import Failure, Steps, failures_are_messages, say
from .paths import REPO

OUTPUT = REPO / "build" / "images"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="images/build",
        description="Builds container images as OCI archives: build/images/NAME.tar. "
        "What was built from the same inputs before is not built again.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(images.PARENTS)}, optionally with a tag (sandbox:24.11), or slurm for "
        "one archive with all Slurm images; default: all Slurm images, mariadb, and mainspring if "
        "its release binary is there",
    )
    parser.add_argument("--refresh", action="store_true", help="take today's package versions")
    parser.add_argument("--list", action="store_true", help="say what is built, build nothing")
    options = parser.parse_args()
    with failures_are_messages("images/build"):
        if options.refresh:
            images.refresh()
        if options.list:
            _list()
        else:
            _build(options.names or _default_names())


def _default_names() -> list[str]:
    names = ["slurm", "mariadb"]
    try:
        images.program()
    except Failure as missing:
        say(f"not building mainspring: {missing}")
    else:
        names.append("mainspring")
    return names


def _build(names: list[str]) -> None:
    with_bundle = "slurm" in names
    wanted = [images.spec(*name.split(":", 1)) for name in names if name != "slurm"]
    if with_bundle:
        wanted = [images.spec(name) for name in images.SLURM] + wanted
    wanted = list(dict.fromkeys(wanted))
    needed = images.needed_for(wanted)
    steps = Steps(len(needed) + with_bundle)
    images.build_all(wanted, steps)
    if with_bundle:
        _bundle(steps)
    for image in wanted:
        usual = image == images.spec(image.name)
        _link(image.name if usual else f"{image.name}-{image.tag}", images.archive(image))
        size = oci.Image(images.archive(image)).size
        say(f"  {image.full_name:42} {size / 1e6:6.1f} MB")
    steps.done(f"in {OUTPUT.relative_to(REPO)}")


def _bundle(steps: Steps) -> None:
    """All Slurm images in one archive: layers that they share are stored, and imported, once."""
    archives = [images.archive(images.spec(name)) for name in images.SLURM]
    key = digest(*[images.spec(name).key for name in images.SLURM])
    steps.next("archive of all Slurm images")
    folder = cached("image-slurm", key, lambda new: oci.join_archives(archives, new / "image.tar"))
    _link("slurm", folder / "image.tar")
    say(f"  {'all Slurm images':42} {(folder / 'image.tar').stat().st_size / 1e6:6.1f} MB")


def _link(name: str, archive: Path) -> None:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    fresh = OUTPUT / f".{name}.tar.new"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(archive)
    os.replace(fresh, OUTPUT / f"{name}.tar")


def _list() -> None:
    for name in images.PARENTS:
        try:
            image = images.spec(name)
            state = str(images.archive(image)) if images.is_built(image) else "not built"
        except Failure as missing:
            state = str(missing)
        say(f"{images.PREFIX}/{name:12} {state}")
