"""A bundle: artifacts kept as files in a folder, a zip or a tar. Their names are the paths inside; free files are pasted text.

Bounded on purpose: members are read in memory up to a limit, links are not followed, and nothing is ever unpacked to disk.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rocm_doctor.model import Artifact
from rocm_doctor.sources.paste import cut, decode

META = "artifacts.json"
_ROOTS = (
    "sys/",
    "proc/",
    "dev/",
    "etc/",
    "opt/",
    "usr/",
    "cmd/",
    "py/",
    "log/",
    "kernel/",
    "smoke/",
    "code/",
    "limits/",
    "user/",
    "paste/",
    "var/",
    "run/",
    ".dockerenv",
)
_SINGLE = ("env", "uname")
_MEMBER_LIMIT = 32 * 2**20
_COUNT_LIMIT = 20_000


class BundleError(Exception):
    """The path is no readable bundle; the message names the path and what to do."""


def read(path: Path) -> list[Artifact]:
    """Artifacts of a folder, zip, tar(.gz) or text file, in the order of their names.

    Raises BundleError when the path is missing, unreadable, damaged or absurdly large.
    """
    try:
        return _artifacts(path, sorted(_members(path)))
    except OSError as exc:
        raise BundleError(
            f"{path}: {exc.strerror or exc}; give a text file, a folder, or a .zip or .tar.gz of captured text"
        ) from exc


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        yield from _of_folder(path)
        return
    with path.open("rb") as file:
        head = file.read(4)
    if head[:4] == b"PK\x03\x04":
        yield from _of_zip(path)
    elif head[:2] == b"\x1f\x8b" or _is_tar(path):
        yield from _of_tar(path)
    else:
        yield path.name, _capped(path.read_bytes(), path.name)


def _capped(data: bytes, name: str) -> bytes:
    if len(data) > _MEMBER_LIMIT:
        raise BundleError(f"{name}: larger than {_MEMBER_LIMIT >> 20} MiB; cut it to the part around the first error")
    return data


def _of_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    count = 0
    for folder, _, files in os.walk(path, followlinks=False):
        for name in files:
            file = Path(folder) / name
            count += 1
            if count > _COUNT_LIMIT:
                raise BundleError(f"{path}: more than {_COUNT_LIMIT} files; give the folder of the capture itself")
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(path).as_posix(), _capped(file.read_bytes(), str(file))


def _of_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist()[:_COUNT_LIMIT]:
                if not info.is_dir():
                    with archive.open(info) as member:
                        yield info.filename, _capped(member.read(_MEMBER_LIMIT + 1), info.filename)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as exc:
        raise BundleError(f"{path}: damaged zip ({exc}); make the bundle again") from exc


def _is_tar(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(512)[257:262] == b"ustar"


def _of_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    import lzma
    import tarfile
    import zlib

    try:
        with tarfile.open(path) as archive:
            for count, info in enumerate(archive):
                if count > _COUNT_LIMIT:
                    raise BundleError(f"{path}: more than {_COUNT_LIMIT} members")
                member = archive.extractfile(info) if info.isfile() else None
                if member is not None:
                    yield info.name.lstrip("./"), _capped(member.read(_MEMBER_LIMIT + 1), info.name)
    except tarfile.ReadError:
        yield from _of_gzip(path)
    except (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError) as exc:
        raise BundleError(f"{path}: damaged archive ({exc}); make the bundle again") from exc


def _of_gzip(path: Path) -> Iterator[tuple[str, bytes]]:
    """A single compressed text (`dmesg.txt.gz`)."""
    import gzip
    import zlib

    try:
        with gzip.open(path) as member:
            yield path.name.removesuffix(".gz"), _capped(member.read(_MEMBER_LIMIT + 1), path.name)
    except (OSError, EOFError, zlib.error) as exc:
        raise BundleError(f"{path}: damaged archive ({exc}); make the bundle again") from exc


def _artifacts(path: Path, members: list[tuple[str, bytes]]) -> list[Artifact]:
    """Known names stay what they are (with what the bundle's own list says of them), anything else is cut as pasted text."""
    members = _without_wrapper(members)
    kept = _meta(next((data for name, data in members if name == META), b""))
    found: list[Artifact] = [a for a in kept.values() if a.missing]
    for name, data in members:
        if name in kept:
            found.append(msgspec.structs.replace(kept[name], text=decode(data), origin="bundle"))
        elif name.startswith(_ROOTS) or name in _SINGLE:
            found.append(Artifact(name, "bundle", decode(data)))
        elif _is_paste(name):
            found += cut(decode(data), name)
    return found


def _is_paste(name: str) -> bool:
    return name not in (META, "report.json", "report.md", "README.md", "expected.yaml")


def _without_wrapper(members: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Drop the one folder that many archives wrap everything in."""
    tops = {name.split("/", 1)[0] + "/" for name, _ in members}
    if len(tops) == 1 and all("/" in name for name, _ in members) and not next(iter(tops)).startswith(_ROOTS):
        return [(name.split("/", 1)[1], data) for name, data in members]
    return members


def _meta(data: bytes) -> dict[str, Artifact]:
    """What the bundle says of its own artifacts (return codes, what was missing and why); nothing when it has no such list."""
    try:
        listed = msgspec.json.decode(data, type=list[Artifact]) if data else []
    except msgspec.DecodeError:
        return {}
    return {a.name: a for a in listed}


def write(artifacts: list[Artifact], extra: dict[str, str]) -> bytes:
    """A zip of the artifacts, one file each, with a list of what text cannot carry; `extra` are further files (the report)."""
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        bare = [msgspec.structs.replace(a, text="") for a in artifacts]
        archive.writestr(META, msgspec.json.format(msgspec.json.encode(bare), indent=1))
        for name, text in {a.name: a.text for a in artifacts if not a.missing}.items():
            archive.writestr(name, text)
        for name, text in extra.items():
            archive.writestr(name, text)
    return out.getvalue()
