"""Images that hold nothing but a few files: one layer, written here without any image tool."""

import gzip
import hashlib
import io
import json
import platform
import tarfile
import tempfile
from pathlib import Path

from .cache import cached, digest
from .oci import MANIFEST, write_archive

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def scratch_image(name: str, files: dict[str, Path], entrypoint: list[str]) -> Path:
    """The archive of an image called `name`, with these files (path in the image: source). The
    sources are entries of the cache: their paths stand for their content, which is not read."""
    title = name.split("/")[-1].split(":")[0]
    key = digest(name, *(str(part) for item in files.items() for part in item), *entrypoint)

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as layout:
            _write_layout(Path(layout), files, entrypoint)
            write_archive(Path(layout), name, folder / "image.tar")

    return cached(f"scratch-{title}", key, build) / "image.tar"


def _write_layout(layout: Path, files: dict[str, Path], entrypoint: list[str]) -> None:
    blobs = layout / "blobs/sha256"
    blobs.mkdir(parents=True)
    plain = _layer(files)
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": entrypoint, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _store(blobs, CONFIG, json.dumps(config).encode()),
        "layers": [_store(blobs, LAYER, gzip.compress(plain, compresslevel=1, mtime=0))],
    }
    index = {
        "schemaVersion": 2,
        "manifests": [_store(blobs, MANIFEST, json.dumps(manifest).encode())],
    }
    (layout / "index.json").write_text(json.dumps(index))
    (layout / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))


def _layer(files: dict[str, Path]) -> bytes:
    """A tar without times and owners: the same files make the same image."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("tmp", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for path, source in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = source.stat().st_size
            entry.mode = 0o755
            with source.open("rb") as data:
                tar.addfile(entry, data)
    return out.getvalue()


def _store(blobs: Path, media_type: str, data: bytes) -> dict:
    digest_of_it = _digest(data)
    (blobs / digest_of_it.removeprefix("sha256:")).write_bytes(data)
    return {"mediaType": media_type, "digest": digest_of_it, "size": len(data)}


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
