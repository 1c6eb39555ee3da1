"""A bundle: artifacts kept as files in a folder, a zip or a tar. Their names are the paths inside; free files are pasted text.

archives.py opens and bounds them; here they get their names.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.archives import safe_name
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.limits import NOT_READ
from rocm_doctor.sources.bundle.archives import COUNT, WANTED, BundleError, Named, is_text, members, read_to_end, to_text
from rocm_doctor.sources.paste import cut, decode

__all__ = ["BundleError", "read", "read_stream", "write"]

META = "artifacts.json"
_ROOTS = (
    "sys/", "proc/", "dev/", "etc/", "opt/", "usr/", "cmd/", "py/", "log/", "kernel/", "smoke/", "bench/", "code/", "limits/", "user/",
    "paste/", "var/", "run/", ".dockerenv",
)  # fmt: skip
_SINGLE = ("env", "host", "uname")
_BESIDE = (META, "report.json", "report.md", "README.md", "expected.yaml")
"""Files of a bundle beside its artifacts that say nothing more."""
MOST_PASTED = 500
"""Files of free text of one bundle: 2 s of searching them for tools' output."""
_BEGINNING = 1 << 18
"""Bytes that tell whether a file is text."""


def read(path: Path) -> list[Artifact]:
    """Artifacts of a folder, zip, tar(.gz) or text file, in the order of their names. Raises BundleError if the path is missing,
    unreadable, damaged, empty, not text, or over a limit."""
    try:
        found = sorted(members(path))
    except OSError as exc:
        raise BundleError(f"{exc.filename or path}: {exc.strerror or exc}; {WANTED}") from exc
    except Unreadable as exc:
        raise BundleError(f"{path}: {exc}; {WANTED}") from exc
    if not any(data.strip() for _, data in found):
        raise BundleError(f"{path}: empty; {WANTED}")
    if len(found) == 1 and not is_text(decode(found[0][1][:_BEGINNING])):
        raise BundleError(f"{path}: not text; {WANTED}")
    return _artifacts(found)


def read_each(path: Path) -> list[tuple[str, list[Artifact]]]:
    """(name, artifacts) of each capture under a path: the bundles in a folder and its loose files apart, else the path as one. A
    file with several reports is a capture for each. Raises BundleError as `read` does."""
    inside = sorted(p for p in path.iterdir() if not p.name.startswith(".")) if path.is_dir() else []
    bundles = [p for p in inside if (p.is_dir() and _is_bundle(p)) or (p.is_file() and p.name.endswith(_ARCHIVES))]
    own = not bundles or _is_bundle(path)
    captures = (
        [(path.name or str(path), read(path))] if own else [(p.name, read(p)) for p in inside if p in bundles or p.is_file()]
    )
    return [report for name, artifacts in captures for report in _split_reports(name, artifacts)]


_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")


def _is_bundle(path: Path) -> bool:
    return any((path / root.rstrip("/")).is_dir() for root in _ROOTS if root.endswith("/"))


def _split_reports(name: str, artifacts: list[Artifact]) -> list[tuple[str, list[Artifact]]]:
    """(name, artifacts) of each report if there are several, and of the rest as one more; else of all."""
    reports = [a for a in artifacts if a.name.startswith("report/")]
    if len(reports) < 2:
        return [(name, artifacts)]
    rest = [a for a in artifacts if a not in reports]
    each = [(f"{name} {n}", [a]) for n, a in enumerate(reports, 1)]
    return [*each, (name, rest)] if rest else each


def read_stream(stream: IO[bytes], name: str = "standard input") -> list[Artifact]:
    """Pasted text from a stream, cut into artifacts; of over 12 MiB only the first and the last 6 MiB. Raises BundleError when it
    is empty, no text, or over 256 MiB."""
    text = to_text(read_to_end(stream, name))
    if not text.strip():
        raise BundleError(f"{name}: empty; pipe a tool's output or a log into it")
    if not is_text(text):
        raise BundleError(f"{name}: not text; {WANTED}")
    return cut(text, name)


def _artifacts(files: list[Named]) -> list[Artifact]:
    """Known names stay what they are (with what the bundle's own list says of them), anything else is cut as pasted text."""
    files = _drop_wrapper(files)
    kept = _meta(next((data for name, data in files if name == META), b""))
    found: list[Artifact] = [a for a in kept.values() if a.missing]
    pasted = 0
    beside = any(name.startswith(_ROOTS) for name, _ in files)
    for name, data in files:
        if name in kept:
            found.append(msgspec.structs.replace(kept[name], text=to_text(data), origin="bundle"))
        elif name.startswith(_ROOTS) or name in _SINGLE:
            found.append(Artifact(name, "bundle", to_text(data)))
        elif not (beside and name in _BESIDE):
            pasted += 1
            found += _cut_paste(name, to_text(data), pasted)
    return found


def _cut_paste(name: str, text: str, place: int) -> list[Artifact]:
    """The artifacts of the file of free text at that place in the bundle."""
    if place > MOST_PASTED:
        note = f"{NOT_READ}more than {MOST_PASTED} files of free text; give the ones that fail"
        return [Artifact(name, "bundle", missing="unparsed", note=note)]
    return cut(text, name) if is_text(text) else [Artifact(name, "bundle", missing="unparsed", note="not text")]


def _drop_wrapper(files: list[Named]) -> list[Named]:
    """Drop the one folder that many archives wrap everything in."""
    tops = {name.split("/", 1)[0] + "/" for name, _ in files}
    if len(tops) == 1 and all("/" in name for name, _ in files) and not next(iter(tops)).startswith(_ROOTS):
        return [(name.split("/", 1)[1], data) for name, data in files]
    return files


def _meta(data: bytes) -> dict[str, Artifact]:
    """What the bundle says of its own artifacts (return codes, what was missing and why); nothing when it has no such list."""
    try:
        listed = jsons.decode(data, list[Artifact]) if data else []
    except Unreadable:
        return {}
    by_name = ((safe_name(a.name), a) for a in listed[:COUNT])
    return {name: msgspec.structs.replace(a, name=name) for name, a in by_name}


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
