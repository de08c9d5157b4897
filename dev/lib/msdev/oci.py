"""OCI archives: written with the names that containerd looks for, joined, and unpacked to folders.

An archive is a tar of an OCI image layout. Blobs are stored once, however many images use them.
"""

import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def write_archive(layout: Path, name: str, archive: Path) -> None:
    """Packs a layout folder that holds one image, and names the image for every kind of reader."""
    index = json.loads((layout / "index.json").read_text())
    (image,) = index["manifests"]
    # Docker, podman and buildah read the first; containerd reads the second, and without it would
    # invent a name from the date.
    image["annotations"] = {
        "org.opencontainers.image.ref.name": name,
        "io.containerd.image.name": name,
    }
    with tarfile.open(archive, "w") as out:
        _add_text(out, "oci-layout", (layout / "oci-layout").read_text())
        _add_text(out, "index.json", json.dumps(index))
        for blob in sorted((layout / "blobs/sha256").iterdir()):
            out.add(blob, f"blobs/sha256/{blob.name}")


def join_archives(archives: list[Path], joined: Path) -> None:
    """One archive with the images of several: shared layers are in it, and are imported, once."""
    manifests, seen = [], set()
    with tarfile.open(joined, "w") as out:
        for archive in archives:
            with tarfile.open(archive) as source:
                manifests += _json(source, "index.json")["manifests"]
                for member in source:
                    if member.name.startswith("blobs/") and member.name not in seen:
                        seen.add(member.name)
                        out.addfile(member, source.extractfile(member))
        _add_text(out, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
        _add_text(out, "index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}))


class Image:
    """One image of an archive that holds one: its manifest, configuration and layers."""

    def __init__(self, archive: Path):
        self.archive = archive
        with tarfile.open(archive) as source:
            (entry,) = _json(source, "index.json")["manifests"]
            self.name = entry["annotations"]["io.containerd.image.name"]
            self.digest = entry["digest"]
            self.manifest = _json(source, _blob(entry["digest"]))
            self.config = _json(source, _blob(self.manifest["config"]["digest"]))

    @property
    def layers(self) -> list[str]:
        return [layer["digest"] for layer in self.manifest["layers"]]

    @property
    def size(self) -> int:
        """Bytes of all layers as they are stored and sent, which is compressed."""
        return sum(layer["size"] for layer in self.manifest["layers"])

    def unpack(self, folder: Path) -> None:
        """Lays the layers one over the other in `folder`, as a container would see them."""
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.archive) as source:
            for digest in self.layers:
                self._unpack_layer(source, digest, folder)

    @staticmethod
    def _unpack_layer(source: tarfile.TarFile, digest: str, folder: Path) -> None:
        with tarfile.open(fileobj=source.extractfile(_blob(digest))) as layer:
            for member in layer:
                _apply_whiteout(folder, member.name)
        # Python's tarfile does not know extended attributes, and file capabilities are such.
        tar = subprocess.Popen(
            ["tar", "-xz", "-C", folder, "--numeric-owner", "--xattrs", "--xattrs-include=*"]
            + ["--exclude=.wh.*", "--keep-directory-symlink"],
            stdin=subprocess.PIPE,
        )
        shutil.copyfileobj(source.extractfile(_blob(digest)), tar.stdin, 1 << 20)
        tar.stdin.close()
        if tar.wait() != 0:
            raise RuntimeError(f"tar cannot unpack layer {digest} into {folder}")


def _apply_whiteout(folder: Path, name: str) -> None:
    """A layer says that something below is gone by an entry `.wh.NAME` (`.wh..wh..opq`: all of it)."""
    parent, base = os.path.split(name)
    if not base.startswith(".wh."):
        return
    where = folder / parent
    hidden = list(where.iterdir()) if base == ".wh..wh..opq" else [where / base[len(".wh.") :]]
    for path in hidden:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _blob(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _json(archive: tarfile.TarFile, name: str) -> dict:
    return json.load(archive.extractfile(name))


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    archive.addfile(entry, io.BytesIO(text.encode()))
