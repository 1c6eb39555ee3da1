"""The files of a repository: listed once, each read once, within limits of size and of processor time.

A folder link is never followed; a file link only where it stays inside the root. What cannot be read is recorded, not dropped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rocm_doctor.bounded import Unreadable, files
from rocm_doctor.lint.model import Place, Unread, UnreadReason

MAX_BYTES = 4 * 2**20
MAX_FILES = 200_000
SECONDS = 20.0
"""Processor time for one repository. 5,000 files take less than 2 s; what is left after this is said not to be read."""
SKIPPED = frozenset((
    ".git", ".hg", ".svn", ".idea", ".vscode", ".tox", ".nox", ".venv", "venv", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    "__pycache__", "node_modules", "site-packages", "wandb", "mlruns",
))  # fmt: skip


class Tree:
    """The files of one repository, but for those that a pattern of `exclude` names."""

    def __init__(self, root: Path, exclude: tuple[str, ...] = ()) -> None:
        self.root = root.resolve()
        self.exclude = exclude
        self.unread: list[Unread] = []
        self._texts: dict[str, str | None] = {}
        self._lines: dict[str, list[str]] = {}
        self._paths: list[str] | None = None
        self._started = time.process_time()

    @property
    def is_late(self) -> bool:
        """True once the processor time for the repository is used up."""
        return time.process_time() - self._started > SECONDS

    @property
    def paths(self) -> list[str]:
        """Every file, sorted by folder and name."""
        if self._paths is None:
            self._paths = [p for p in self._walk() if not any(fnmatchcase(p, glob) for glob in self.exclude)]
            self.names = frozenset(self._paths)
        return self._paths

    def has(self, path: str) -> bool:
        """True for a file of the repository."""
        return bool(self.paths) and path in self.names

    def text(self, path: str) -> str | None:
        """The text of a file with line ends as `\\n`; None where it cannot be read, which is recorded."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def place(self, path: str, line: int) -> Place:
        """A line of a file as evidence: quoted without blanks around it, 200 characters at most."""
        if path not in self._lines:
            self._lines[path] = (self.text(path) or "").split("\n")
        lines = self._lines[path]
        return Place(path, line, lines[line - 1].strip()[:200] if 0 < line <= len(lines) else "")

    def _read(self, path: str) -> str | None:
        real = self.root / path
        try:
            if real.is_symlink() and not real.resolve().is_relative_to(self.root):
                return self._record_unread(path, UnreadReason.DENIED)
            data = files.read(real, MAX_BYTES)
        except Unreadable:
            return self._record_unread(path, UnreadReason.SIZE)
        except (OSError, RuntimeError):
            return self._record_unread(path, UnreadReason.DENIED)
        if b"\0" in data[:4096]:
            return self._record_unread(path, UnreadReason.SYNTAX)
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")

    def _record_unread(self, path: str, reason: UnreadReason) -> str | None:
        self.unread.append(Unread(Place(path, 1), reason))
        return None

    def _walk(self) -> Iterator[str]:
        """Relative paths, without recursion: a folder may be thousands deep."""
        pending, count = [""], 0
        while pending:
            path = pending.pop()
            if path and not path.endswith("/"):
                yield path
                continue
            try:
                entries = sorted(os.scandir(f"{self.root}/{path}"), key=lambda e: e.name, reverse=True)
            except OSError:
                self._record_unread(path.rstrip("/") or ".", UnreadReason.DENIED)
                continue
            for entry in entries:
                count += 1
                if count > MAX_FILES or self.is_late:
                    self._record_unread(path.rstrip("/") or ".", UnreadReason.TIME)
                    return
                if not files.is_utf8(entry.name):
                    self._record_unread(path.rstrip("/") or ".", UnreadReason.DENIED)
                elif not entry.is_dir(follow_symlinks=False):
                    pending.append(path + entry.name)
                elif entry.name not in SKIPPED and not entry.name.endswith((".egg-info", ".dist-info")):
                    pending.append(f"{path}{entry.name}/")
