"""Secrets out of anything that is shared: host, users, homes, tokens, serials, UUIDs, addresses become pseudonyms.

The same secret gets the same pseudonym (`<user-1>`, `<ip-2>`) wherever one `Redactor` meets it, so that texts of one report
still join: a GPU's UUID in rocminfo and in ROCR_VISIBLE_DEVICES stays one GPU. Keys, versions, PCI addresses, gfx names and
paths other than homes are left alone; what a pattern of redact_patterns.py takes for a secret is listed there.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import msgspec

from rocm_doctor.model import Artifact, Fact, Report, Snapshot
from rocm_doctor.redaction import addresses, patterns
from rocm_doctor.redaction.secret_names import SECRET_NAME

_KEEP_FIELDS = frozenset(
    {
        "id",
        "row",
        "fingerprint",
        "follows_from",
        "severity",
        "confidence",
        "status",
        "grade",
        "why",
        "origin",
        "tool_version",
        "matrix_version",
        "verdict",
        "kind",
        "subject_kind",
        "sources",
    }
)
_WHOLE_FILE = re.compile(r"(?:^|/)(unique_id|serial_number|\w+_serial|machine-id|boot_id|hostname|product_uuid)$")
# Names are searched one by one; a text that gives away more of them than any real one is caught by the patterns alone.
_MOST_NAMES = 300


class Redactor:
    """Replaces the secrets of one report. `host`, `user`, `home` are this machine's, where known; others are learnt from text."""

    def __init__(self, host: str = "", user: str = "", home: str = "") -> None:
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._literal: dict[str, re.Pattern[str]] = {}
        self._as: dict[str, str] = {}
        self._name("user", user)
        self._home(home)
        for name in sorted({host, host.split(".")[0]}, key=len, reverse=True):
            self._name("host", name)

    def learn(self, text: str) -> None:
        """Take in the names that `text` gives away (home folders, prompts, host lines, serials), to replace them everywhere."""
        for kind, name in patterns.names(text):
            self._name(kind, name)
        for value in patterns.serials(text):
            self._remember("serial", value)

    def text(self, text: str) -> str:
        """`text` with every secret replaced, those that only it gives away too. Running it again changes nothing."""
        self.learn(text)
        return self.replace(text)

    def replace(self, text: str) -> str:
        """`text` with every secret replaced, after all that belongs with it was learnt."""
        for literal in sorted((s for s in self._literal if s in text), key=len, reverse=True):
            text = self._literal[literal].sub(self._as[literal].replace("\\", r"\\"), text)
        for kind, find in patterns.FINDERS:
            text = _replace(text, find(text), partial(self._pseudonym, kind))
        return text

    def _name(self, kind: str, name: str) -> None:
        if name and name.casefold() not in patterns.COMMON and not patterns.PSEUDONYM.fullmatch(name):
            self._remember(kind, name, " " if " " in name else "-")

    def _home(self, home: str) -> None:
        name = re.split(r"[\\/]", home.rstrip("\\/"))[-1]
        if not name or name.casefold() in patterns.COMMON or home in ("/", "\\"):
            return
        self._name("user", name)
        root = "C:\\Users\\" if "\\" in home else "/home/"
        if home.rstrip("\\/") != root + name:
            self._literal[home.rstrip("\\/")] = re.compile(re.escape(home.rstrip("\\/")) + patterns.ENDS)
            self._as[home.rstrip("\\/")] = root + self._pseudonym("user", name)

    def _remember(self, kind: str, secret: str, joint: str = "-") -> None:
        if secret not in self._literal and len(self._literal) < _MOST_NAMES:
            self._literal[secret] = re.compile(patterns.bounded(secret, "A-Za-z0-9_-" if kind in ("uuid", "serial") else ""))
            self._as[secret] = self._pseudonym(kind, secret, joint)

    def _pseudonym(self, kind: str, secret: str, joint: str = "-") -> str:
        key = ("id" if kind in ("uuid", "serial") else kind, patterns.canonical(kind, secret))
        if key not in self._pseudonyms:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._pseudonyms[key] = f"<{kind}{joint}{self._counts[kind]}>"
        return self._pseudonyms[key]

    def secret(self, value: str) -> str:
        """The pseudonym of a value that its name makes a secret, whatever it looks like."""
        return value if not value or patterns.PSEUDONYM.search(value) else self._pseudonym("token", value)

    def whole(self, kind: str, value: str) -> str:
        """The pseudonym of a value that is a secret as a whole, remembered wherever else it stands."""
        secret = value.strip().removeprefix("GPU-")
        named = kind == "host" and secret and secret.casefold() not in patterns.COMMON
        if patterns.PSEUDONYM.search(secret) or not (named or addresses.identifies(secret)):
            return value
        self._remember(kind, secret)
        return value.replace(secret, self._pseudonym(kind, secret))


def of_this_machine() -> Redactor:
    """A redactor that knows this machine's host, user and home, whatever the texts give away."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or os.environ.get("USERNAME") or ""
    home = os.path.expanduser("~")  # noqa: PTH111 Path.home() raises where a container's user has no entry
    return Redactor(platform.node(), user, home if home != "~" else "")


def _replace(text: str, spans: Iterable[tuple[int, int]], pseudonym: Callable[[str], str]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], pseudonym(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def redact_artifacts(artifacts: list[Artifact], redactor: Redactor | None = None) -> list[Artifact]:
    """The artifacts with text, note and name redacted: names are learnt from all of them before any is changed."""
    redactor = redactor or of_this_machine()
    for item in artifacts:
        redactor.learn(item.name)
        redactor.learn(item.text)
    whole = [_whole(a, redactor) for a in artifacts]
    return [
        msgspec.structs.replace(a, name=redactor.replace(a.name), text=redactor.replace(text), note=redactor.text(a.note))
        for a, text in zip(artifacts, whole)
    ]


def _whole(artifact: Artifact, redactor: Redactor) -> str:
    """The text of an artifact; of a file that holds nothing but an id or the host's name, its pseudonym."""
    name = _WHOLE_FILE.search(artifact.name)
    return redactor.whole("host" if name[1] == "hostname" else "serial", artifact.text) if name else artifact.text


def redact_report(report: Report, redactor: Redactor | None = None) -> Report:
    """The report with every string that may carry a secret redacted; fact names, ids, versions of ours and sources stay."""
    redactor = redactor or of_this_machine()
    # What stands at a file and line of a repository must still open there; the names of its own files are no secret to its
    # readers.
    keep = _KEEP_FIELDS | {"artifact"} if report.kind == "repository" else _KEEP_FIELDS

    made = cast("Report", _redacted(report, redactor, keep))
    number = report.snapshot.get("host.id").value
    return msgspec.structs.replace(made, host=f"host-{number}") if isinstance(number, str) and report.host else made


def redact_snapshot(snapshot: Snapshot, redactor: Redactor | None = None) -> Snapshot:
    """The facts and readings redacted as they would be in a report; fact names stay."""
    redactor = redactor or of_this_machine()

    return cast("Snapshot", _redacted(snapshot, redactor, _KEEP_FIELDS))


def _redacted(value: object, redactor: Redactor, keep: frozenset[str]) -> object:
    """Names are learnt from all of it before any of it is changed."""

    def learn(text: str) -> str:
        redactor.learn(text)
        return text

    _walk(value, learn, redactor, keep)
    return _walk(value, redactor.replace, redactor, keep)


def _walk(value: object, change: Callable[[str], str], redactor: Redactor, keep: frozenset[str], key: str = "") -> object:
    """`value` with `change` run over every string in it. `key` is the fact's name: a fact called uuid is a secret as a whole."""
    if isinstance(value, str):
        if key.startswith("env."):
            return _assigned(key.removeprefix("env."), value, change, redactor)
        kind = patterns.SECRET_KEYS.get(key)
        return change(redactor.whole(kind, value) if kind else value)
    if isinstance(value, tuple):
        return tuple(_walk(item, change, redactor, keep, key) for item in value)
    if isinstance(value, dict):
        return {name: _walk(item, change, redactor, keep, _key(name)) for name, item in value.items()}
    if isinstance(value, msgspec.Struct):
        # A fact hands its key down to its value; a reading's words stand beside it and are free text.
        fields = {
            f: _walk(getattr(value, f), change, redactor, keep, key if isinstance(value, Fact) and f == "value" else "")
            for f in value.__struct_fields__
            if f not in keep
        }
        return msgspec.structs.replace(value, **fields)
    return value


def _key(name: str) -> str:
    """What a fact's name says of its value: the name of a variable, else the last word."""
    return name if name.startswith("env.") else name.rsplit(".", 1)[-1]


def _assigned(name: str, value: str, change: Callable[[str], str], redactor: Redactor) -> str:
    """The value of a variable, changed as it would be behind its name: that alone may tell that it is a secret."""
    if SECRET_NAME.search(name):
        return redactor.secret(value)
    return change(f"{name}={value}").partition("=")[2]
