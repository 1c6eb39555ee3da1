"""Keep a folder as it is, and bring it back: a second tree of hard links, which costs no room and no network.

Installers replace files and never write into them, so that a link keeps the old contents while pip works. Where the file
system has no hard links, files are copied. Both functions can be interrupted at any moment and called again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

_ASIDE = ".rocm-doctor-restoring"
"""The name under which a file comes before it takes the place of another."""


def keep(tree: Path, kept: Path) -> None:
    """Make `kept` a second tree of the files of `tree`. A `kept` that is there already is made anew."""
    if kept.exists():
        shutil.rmtree(kept)
    kept.mkdir(parents=True)
    with os.scandir(tree) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                keep(Path(entry.path), kept / entry.name)
            else:
                _link(Path(entry.path), kept / entry.name)


def restore(kept: Path, tree: Path) -> None:
    """Make `tree` the same as `kept`: first remove what came since, which frees the disk, then bring back what is gone or differs."""
    tree.mkdir(parents=True, exist_ok=True)
    wanted = _entries(kept)
    for name, entry in _entries(tree).items():
        other = wanted.get(name)
        if other is None or _is_dir(entry) != _is_dir(other):
            _remove(entry)
    for name, entry in wanted.items():
        if _is_dir(entry):
            restore(kept / name, tree / name)
        elif not _same(kept / name, tree / name):
            (tree / _ASIDE).unlink(missing_ok=True)
            _link(kept / name, tree / _ASIDE)
            (tree / _ASIDE).replace(tree / name)
            (tree / _ASIDE).unlink(missing_ok=True)  # replacing a file by a link to itself does nothing


def remove(tree: Path) -> None:
    """Remove a folder if it is there; what cannot be removed stays."""
    shutil.rmtree(tree, ignore_errors=True)


def _entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return {entry.name: entry for entry in entries}


def _is_dir(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _remove(entry: os.DirEntry[str]) -> None:
    if _is_dir(entry):
        shutil.rmtree(entry.path)
    else:
        Path(entry.path).unlink()


def _same(one: Path, other: Path) -> bool:
    """Whether both are one file, or a copy that kept its size and time."""
    try:
        mine, theirs = one.lstat(), other.lstat()
    except FileNotFoundError:
        return False
    if (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino):
        return True
    return mine.st_nlink == 1 and (mine.st_mode, mine.st_size, mine.st_mtime_ns) == (
        theirs.st_mode,
        theirs.st_size,
        theirs.st_mtime_ns,
    )


def _link(source: Path, target: Path) -> None:
    with contextlib.suppress(OSError, NotImplementedError):
        os.link(source, target, follow_symlinks=False)
        return
    shutil.copy2(source, target, follow_symlinks=False)
