"""Files of the examined machine as artifacts: bounded, never blocking or raising, with the reason where one is missing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rocm_doctor.model import Artifact, Why

LIMIT = 1 << 18
"""Bytes kept of one file: the longest that we ask for (a firmware list, a wheel's head) is a tenth of it."""

Filter = Callable[[str], str]


def read(
    root: Path, name: str, *, note_absent: bool = False, keep: Filter | None = None, limit: int = LIMIT
) -> Iterator[Artifact]:
    """The file as an artifact, what `keep` leaves of it. `missing` is `denied` if it cannot be read. A missing file yields
    nothing, or with `note_absent` an artifact whose `missing` is `absent-source`."""
    try:
        text = _text(root / name, limit)
    except OSError as error:
        why = _reason(error)
        if why == "denied" or note_absent:
            yield Artifact(name, "live", missing=why, note=error.strerror or str(error))
        return
    yield Artifact(name, "live", keep(text) if keep else text)


def read_all(root: Path, *patterns: str, keep: Filter | None = None) -> Iterator[Artifact]:
    """The files that exist under names in which `*` is any part of one name, in natural order. A `keep` that leaves nothing of a
    file drops it."""
    for pattern in patterns:
        for name in expand(root, pattern):
            yield from (one for one in read(root, name, keep=keep) if one.missing or not keep or one.text.strip())


def expand(root: Path, pattern: str) -> list[str]:
    """The paths below the root that a pattern with `*` names; one without is given as it is."""
    places = [""]
    for part in pattern.split("/"):
        names = ((place, list_names(root, place) if "*" in part else [part]) for place in places)
        places = [f"{place}/{name}".lstrip("/") for place, several in names for name in several if fnmatchcase(name, part)]
    return places


def read_text(root: Path, name: str, limit: int = LIMIT) -> str:
    """The file's text; empty if it cannot be read."""
    return next((a.text for a in read(root, name, limit=limit)), "")


def _text(path: Path, limit: int) -> str:
    # O_NONBLOCK: a pipe under that name would hold us for ever.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise IsADirectoryError(str(path))
        parts = bytearray()
        while len(parts) < limit and (part := os.read(handle, min(1 << 16, limit - len(parts)))):
            parts += part
    finally:
        os.close(handle)
    return bytes(parts).decode("utf-8", "replace")


def _reason(error: OSError) -> Why:
    absent = isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError))
    return "absent-source" if absent else "denied"


def list_names(root: Path, folder: str) -> list[str]:
    """Names in a folder, in natural order of their numbers; none if it is missing or cannot be listed."""
    try:
        with os.scandir(root / folder) as entries:
            return sorted((entry.name for entry in entries), key=lambda name: (len(name), name))
    except OSError:
        return []


def exists(root: Path, name: str) -> bool:
    """True if the path exists below the root."""
    return os.path.lexists(root / name)


def marker(root: Path, name: str, *, note_absent: bool = False) -> Iterator[Artifact]:
    """Yields an artifact `name` with the text `exists: yes` if `name` exists below `root`. Otherwise yields nothing, or with
    `note_absent` an artifact whose `missing` is `absent-source`."""
    if exists(root, name):
        yield Artifact(name, "live", "exists: yes\n")
    elif note_absent:
        yield Artifact(name, "live", missing="absent-source", note="No such file or directory")


_MOST_LINKS = 40
"""Links that Linux follows in one path."""


def host_path(root: Path, path: str | Path) -> Path:
    """Where a path that a process names lies, if its file system starts at `root`."""
    return Path(path) if root == Path("/") else root / str(path).lstrip("/")


def resolve(root: Path, path: Path) -> Path:
    """The file that a path below `root` leads to for a process whose file system starts there: absolute links start at `root`.
    With more links than Linux follows, a path that does not exist."""
    if root == Path("/"):
        return path.resolve()
    pending = list(reversed(path.relative_to(root).parts))
    here, links = root, 0
    while pending:
        part = pending.pop()
        step = here / part
        if part == "..":
            here = here.parent if here != root else root
        elif step.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                return step / "too many links"  # the link itself may lead to a file of this machine
            leads = step.readlink()
            here = root if leads.is_absolute() else here
            pending += reversed(leads.parts[1:] if leads.is_absolute() else leads.parts)
        else:
            here = step
    return here


def keep_lines(pattern: str) -> Filter:
    """A filter that keeps the lines that begin as the pattern says."""
    lines = re.compile(rf"^(?:{pattern}).*\n?", re.MULTILINE)
    return lambda text: "".join(line[0] for line in lines.finditer(text))


def group_names(root: Path) -> dict[int, str]:
    """Group names by number, from the file alone: a directory server that does not answer must not hold us."""
    rows = (line.split(":") for line in read_text(root, "etc/group").splitlines())
    return {int(row[2]): row[0] for row in rows if len(row) >= 3 and row[2].isdigit()}
