"""The files of a repository that declare something, read safely: nothing outside the root, nothing huge, nothing binary.

A folder link is never followed; a file link only when it stays inside the root. What is left out is said as a `ReadProblem`
where a reader would have wanted it, and silently where no reader cares for the file.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from rocm_doctor.bounded.files import encodable
from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.bounded.texts import printable
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.kinds import kind_of

MAX_BYTES = 4 * 2**20
MAX_FILES = 200_000
MAX_SEARCHED = 2**20
MAX_KEPT = 2**25
"""Bytes of texts that are kept to be searched again."""
MAX_CONFIG = 2**18
_CONFIGS = ("config", "deepspeed", "tomlconfig")
_SKIP = frozenset((
    ".git", ".vscode", ".idea", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", "site-packages",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".eggs", "wandb", "mlruns",
))  # fmt: skip
# What may say how a project is installed, in words or in code; what is generated says nothing of it.
_TEXTS = regex(
    r"\.(?:md|rst|txt|adoc|html|py|ipynb|js|mjs|cjs|ts|json5?|ya?ml|toml|cfg|ini|sh|bash|zsh|bat|cmd|ps1|in|cmake|nix|tmpl|j2|hcl|env|conf|service)$"
    r"|(?:^|/)(?:makefile|dockerfile\S*|containerfile\S*|justfile|\.env[\w.-]*)$"
)
_SHEBANG = re.compile(rb"#!\s*\S*(?:/|env )(?:ba|z|da)?sh\b")
_FROM = re.compile(rb"(?:[ \t]*(?:#[^\n]*|ARG [^\n]*)?\r?\n)*FROM [^\s]+(?: +AS +[\w.-]+)?[ \t]*(?:\r?\n|$)", re.I)
_HEAD = 4096
"""Bytes of a file without an extension that say what it is."""


class Tree:
    """The files of one repository: listed once, each read once."""

    def __init__(self, root: Path, exclude: tuple[str, ...] = ()) -> None:
        self.root = root.resolve()
        self._at = str(self.root)
        self._searched: list[tuple[str, bytes | None]] = []
        self.exclude = exclude
        self.problems: list[ReadProblem] = []
        self._texts: dict[str, str | None] = {}
        self._lines: dict[str, list[str]] = {}
        self.parsed: dict[str, Any] = {}
        self.commands = 0

    def listed(self) -> Iterator[tuple[str, str]]:
        """Kind and relative path of each file that a reader wants, in a stable order."""
        for count, path in enumerate(self._walk(self._at)):
            if count >= MAX_FILES:
                self.problems.append(ReadProblem(Place(path, 0), f"more than {MAX_FILES} files; the rest was not looked at"))
                return
            kind = kind_of(path) or self._by_content(path)
            if kind and not any(fits(path, glob) for glob in self.exclude) and not (kind in _CONFIGS and self._is_data(path)):
                yield kind, path

    def _by_content(self, path: str) -> str | None:
        """The kind of a file without an extension, by how it begins: a shell script, a Dockerfile; None for any other."""
        if "." in path.rsplit("/", 1)[-1]:
            return None
        try:
            real = self.root / path
            if not stat.S_ISREG(real.lstat().st_mode):
                return None
            with real.open("rb") as file:
                head = file.read(_HEAD)
        except OSError:
            return None
        return "shell" if _SHEBANG.match(head) else "dockerfile" if _FROM.match(head) and b"\0" not in head else None

    def _is_data(self, path: str) -> bool:
        """True if a YAML, JSON or TOML file is larger than any training configuration."""
        try:
            return (self.root / path).stat().st_size > MAX_CONFIG
        except OSError:
            return False

    def _walk(self, root: str) -> Iterator[str]:
        """Relative paths of files in the order of their names, without recursion: a folder may be 2,000 deep."""
        pending = [""]
        while pending:
            path = pending.pop()
            if path and not path.endswith("/"):
                yield path
                continue
            try:
                entries = sorted(os.scandir(f"{root}/{path}"), key=lambda e: e.name, reverse=True)
            except OSError as exc:
                self.problems.append(ReadProblem(Place(path.rstrip("/") or ".", 0), f"not read: {exc.strerror}"))
                continue
            for entry in entries:
                if not encodable(entry.name):
                    self.problems.append(ReadProblem(Place(path + printable(entry.name), 0), "not read: its name is not UTF-8"))
                elif not entry.is_dir(follow_symlinks=False):
                    pending.append(path + entry.name)
                elif entry.name not in _SKIP and not entry.name.endswith((".egg-info", ".dist-info")):
                    pending.append(f"{path}{entry.name}/")

    def text(self, path: str, *, wanted: bool = True) -> str | None:
        """The text of a file inside the root. None, with a problem noted where it was wanted, when it cannot be had."""
        if path not in self._texts:
            self._texts[path], why = self._read(path)
            if why and wanted:
                self.problems.append(ReadProblem(Place(path, 1), why, "contents" if self._texts[path] is None else "hint"))
        return self._texts[path]

    def text_if_there(self, path: str | None) -> str | None:
        """The text of a file that the repository may lack; None without it."""
        return self.text(path, wanted=False) if path and self.is_file(path) else None

    def exists(self, path: str) -> bool:
        """True if a path below the root is there, file or folder."""
        return self._is(path, Path.exists)

    def is_file(self, path: str) -> bool:
        """True if the repository has a file of that name."""
        return self._is(path, Path.is_file)

    def _is(self, path: str, what: Callable[[Path], bool]) -> bool:
        try:
            return what(self.root / path)
        except (OSError, ValueError):  # a name longer than any file has, or one with a null byte
            return False

    def matching(self, pattern: str) -> list[str]:
        """The files of one folder whose names fit a pattern."""
        folder, _, name = pattern.rpartition("/")
        try:
            there = sorted(entry.name for entry in os.scandir(self.root / folder) if entry.is_file(follow_symlinks=False))
        except (OSError, ValueError):
            return []
        return [f"{folder}/{one}".lstrip("/") for one in there[:MAX_FILES] if encodable(one) and fits(one, name[:200])]

    def mention(
        self, words: re.Pattern[bytes], hints: tuple[bytes, ...], but: Collection[str] = (), only: re.Pattern[str] | None = None
    ) -> Place | None:
        """The first place where a text of the repository, of any kind, has one of these words; locks and data files are left out.

        `hints`: one of them, in lower case, is in each text that has such a word. `but`: files that are left out. `only`: what the names of the files have to hold.
        """
        return next((place for place, _ in self.mentions(words, hints, but, only)), None)

    def paths(self) -> Iterator[str]:
        """The files of the repository, of any kind."""
        return itertools.islice(self._walk(self._at), MAX_FILES)

    def has(self, name: str) -> bool:
        """True if a file is called so, in any folder."""
        return any(path.rpartition("/")[2] == name for path in self.paths())

    def mentions(
        self, words: re.Pattern[bytes], hints: tuple[bytes, ...], but: Collection[str] = (), only: re.Pattern[str] | None = None
    ) -> Iterator[tuple[Place, re.Match[bytes]]]:
        """All such places, with what was found there. `only`: what the names of the files have to hold."""
        for path, kept in self._texts_to_search():
            if path in but or (only and not only.search(path)):
                continue
            data = self._bytes(path) if kept is None else kept
            low = data.lower()
            # A word in JSON may be an entry of a vocabulary; an address, a device or a build is not.
            for found in words.finditer(data) if any(hint in low for hint in hints) else ():
                if not (path.endswith(".json") and found[0].isalnum()):
                    at = found.start()
                    end = data.find(b"\n", at)
                    line = data[data.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(data)]
                    yield Place(path, data.count(b"\n", 0, at) + 1, quoted(line.decode("utf-8", "replace"))), found

    def words(self, pattern: re.Pattern[bytes], only: re.Pattern[str]) -> frozenset[str]:
        """All that the first group of a pattern takes in the texts whose names fit `only`."""
        texts = (self._bytes(path) if kept is None else kept for path, kept in self._texts_to_search() if only.search(path))
        return frozenset(m[1].decode("utf-8", "replace") for text in texts for m in pattern.finditer(text))

    def _texts_to_search(self) -> list[tuple[str, bytes | None]]:
        """The texts of the repository, of any kind, with what is in them as far as MAX_KEPT goes: they are searched for many things."""
        if not self._searched:
            left = MAX_KEPT
            for path in self.paths():
                if _TEXTS.search(path.lower()):
                    data = self._bytes(path) if left > 0 else None
                    left -= len(data or b"")
                    self._searched.append((path, data))
        return self._searched

    def _bytes(self, path: str) -> bytes:
        """What is in a file; nothing where it is no ordinary one, too large to be searched, or cannot be read."""
        try:
            real = self.root / path
            info = real.lstat()
            return real.read_bytes() if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_SEARCHED else b""
        except OSError:
            return b""

    def lines(self, path: str) -> list[str]:
        """The lines of a file that was read."""
        if path not in self._lines:
            self._lines[path] = (self._texts.get(path) or "").splitlines()
        return self._lines[path]

    def _read(self, path: str) -> tuple[str | None, str]:
        try:
            real = (self.root / path).resolve(strict=True)
            info = real.stat()
        except (OSError, RuntimeError, ValueError):
            return None, "not read: no such file, or a link that leads nowhere"
        if not real.is_relative_to(self.root):
            return None, "not read: it leads outside of the repository"
        if not stat.S_ISREG(info.st_mode):
            return None, "not read: not an ordinary file"
        if info.st_size > MAX_BYTES:
            return (
                None,
                f"not read: {info.st_size / 2**20:.0f} MiB, more than the {MAX_BYTES // 2**20} MiB that such a file may have",
            )
        try:
            return decoded(real.read_bytes())
        except OSError as exc:
            return None, f"not read: {exc.strerror}"


def decoded(data: bytes) -> tuple[str | None, str]:
    """Text of a file as editors write it (UTF-8, UTF-16 with a mark); a byte that is not UTF-8 is named with its line."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), ""
    if b"\0" in data[:8192]:
        return None, "not read: binary data"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return data.decode("utf-8", "replace"), f"not UTF-8 from line {line} on; such bytes are read as \ufffd"


def joined(folder: str, name: str) -> str | None:
    """A path named in a file of `folder`, relative to the root; None when it climbs out of it."""
    if name.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", name):
        return None
    path = os.path.normpath(f"{folder}/{name}" if folder else name).replace(os.sep, "/")
    return None if path.startswith("..") else path


def folder_of(path: str) -> str:
    """The folder of a file's name; empty at the root."""
    return path.rpartition("/")[0]


def quoted(line: str) -> str:
    """A line as evidence shows it: at most 200 characters, and a mark where it was cut."""
    text = line.strip()
    return text if len(text) <= 200 else text[:199] + "…"
