"""Secrets out of anything that is shared: host, users, homes, tokens, serials, UUIDs, addresses become pseudonyms.

The same secret gets the same pseudonym (`<user-1>`, `<ip-2>`) wherever one `Redactor` meets it, so that texts of one report
still join: a GPU's UUID in rocminfo and in ROCR_VISIBLE_DEVICES stays one GPU. Keys, versions, PCI addresses, gfx names and
paths other than homes are left alone. docs/privacy.md says what is replaced, what is kept and what is not promised.
"""

from __future__ import annotations

import os
import platform
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

import msgspec

from rocm_doctor.model import Artifact, Fact, Report, Snapshot
from rocm_doctor.redaction import addresses
from rocm_doctor.redaction.find import NAMES, PSEUDONYM, Search, find
from rocm_doctor.redaction.known import anonymous, distinctive
from rocm_doctor.redaction.rules import Found, lower
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
_SECRET_FACTS = {
    "uuid": "uuid",
    "unique_id": "uuid",
    "serial": "serial",
    "asic_serial": "serial",
    "product_serial": "serial",
    "machine_id": "serial",
    "hostname": "host",
}
_IDS = frozenset({"uuid", "serial"})
_CUT = 8
"""Letters of a secret that are left at the end of a quote that was cut there, at least, to be known for what they are."""
_LONGEST = 500
"""Letters of a token that is looked for elsewhere."""
_QUOTE = 80
"""Length of a text from which it may be a quote that was cut."""
_TAILS = (re.compile(r"[^\s\"'=:,(&?@/]{8,}$"), re.compile(r"[^\s\"',(&?]{8,}$"), re.compile(r"(?<==)\S{8,}$"))


class Replaced(NamedTuple):
    """One secret that was replaced: `<user-1>` for `jroe`, how often, and where first (artifact and line)."""

    pseudonym: str
    secret: str
    times: int
    first: str

    @property
    def shown(self) -> str:
        """The secret as a person may see it: of a token its beginning, and nothing that a terminal would act on."""
        text = "".join(letter if letter.isprintable() else "\ufffd" for letter in self.secret)
        return f"{text[:4]}... ({len(text)} characters)" if self.pseudonym.startswith("<token") else text


class Redactor:
    """Replaces the secrets of one report. `host`, `user`, `home` are this machine's, where known; others are learnt from text."""

    def __init__(self, host: str = "", user: str = "", home: str = "") -> None:
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._learnt: dict[str, tuple[str, str]] = {}
        self._search: Search | None = None
        self._found: dict[str, tuple[Found, ...]] = {}
        self._replaced: dict[str, Replaced] = {}
        self._place = ""
        self._tokens: set[str] = set()
        self._sorted: list[str] = []
        self._learn("user", user)
        self._home(home)
        for name in sorted({host, host.split(".")[0]}, key=len, reverse=True):
            self._learn("host", name)

    @property
    def replaced(self) -> list[Replaced]:
        """What has been replaced so far, in the order of the pseudonyms' kinds and numbers."""
        return sorted(
            self._replaced.values(), key=lambda r: (r.pseudonym.split("-")[0], int("0" + re.sub(r"\D", "", r.pseudonym)))
        )

    def learn(self, text: str) -> None:
        """Take in the names that `text` gives away (home folders, prompts, host lines, serials), to replace them everywhere."""
        for found in self._in(text):
            secret = text[found.start : found.end]
            if found.kind == "token":
                for line in secret.split("\n"):
                    self._learn("token", line.strip())
            elif found.learn:
                self._learn(found.kind, secret)
            if len(secret) > _CUT:
                self._tokens.add(secret)

    def text(self, text: str) -> str:
        """`text` with every secret replaced, those that only it gives away too. Running it again changes nothing."""
        self.learn(text)
        return self.replace(text)

    def replace(self, text: str, place: str = "") -> str:
        """`text` with every secret replaced, after all that belongs with it was learnt. `place`: where it stands."""
        self._place = place
        pieces, done = [], 0
        for start, end, kind in _apart([*((f.start, f.end, f.kind) for f in self._in(text)), *self._known_in(text)]):
            pieces += [text[done:start], self._as(kind, text[start:end], text, start)]
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def _in(self, text: str) -> tuple[Found, ...]:
        """What the structure of `text` gives away, without what identifies no one. Texts are learnt from and changed: kept."""
        if text not in self._found:
            self._found[text] = tuple(find(text))
        return self._found[text]

    def _known_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The learnt names in `text`, and at its end the beginning of a secret whose rest was cut off."""
        if len(text) >= _QUOTE:
            yield from self._cut_off(text)
        if not self._learnt:
            return
        if self._search is None:
            self._search = Search(self._learnt)
        for start, end, name in self._search.find(text):
            yield start, end, self._learnt[name][0]

    def _cut_off(self, text: str) -> Iterator[tuple[int, int, str]]:
        if len(self._sorted) != len(self._tokens):
            self._sorted = sorted(self._tokens)
        for pattern in _TAILS:
            if tail := pattern.search(text, len(text) - _QUOTE):
                at = bisect_left(self._sorted, tail[0])
                if at < len(self._sorted) and self._sorted[at].startswith(tail[0]) and self._sorted[at] != tail[0]:
                    yield tail.start(), len(text), "token"

    def _learn(self, kind: str, name: str) -> None:
        """Remember a name or an id, to find it elsewhere."""
        if kind in _IDS:
            name = name.removeprefix("GPU-")
            known = addresses.identifies(name)
        elif kind == "token":
            known = _CUT <= len(name) <= _LONGEST and (len(name) >= 2 * _CUT or any(map(str.isdigit, name))) and distinctive(name)
        else:
            known = kind in NAMES and distinctive(name) and not anonymous(kind, name)
        low = lower(name)
        if known and low not in self._learnt and not PSEUDONYM.search(name):
            if kind != "token":
                self._pseudonym(kind, name)
            self._learnt[low] = (kind, name)
            self._search = None

    def _home(self, home: str) -> None:
        bare = home.rstrip("\\/")
        name = re.split(r"[\\/]", bare)[-1]
        if not name or anonymous("user", name) or home in ("/", "\\"):
            return
        self._learn("user", name)
        root = "C:\\Users\\" if "\\" in home else "/home/"
        if bare != root + name and distinctive(name):
            self._learnt[lower(bare)] = ("home", bare)
            self._pseudonyms[("home", bare.casefold())] = root + self._pseudonym("user", name)

    def _pseudonym(self, kind: str, secret: str) -> str:
        key = (_family(kind), _canonical(kind, secret))
        if key not in self._pseudonyms:
            joint = " " if " " in secret.strip() and kind in NAMES else "-"
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._pseudonyms[key] = f"<{kind}{joint}{self._counts[kind]}>"
        return self._pseudonyms[key]

    def _as(self, kind: str, secret: str, text: str = "", at: int = 0) -> str:
        """The pseudonym, noted as used in `text` at `at`."""
        pseudonym = self._pseudonym(kind, secret)
        seen = self._replaced.get(pseudonym)
        if seen:
            self._replaced[pseudonym] = seen._replace(times=seen.times + 1)
        else:
            line = f" line {text.count(chr(10), 0, at) + 1}" if self._place else ""
            self._replaced[pseudonym] = Replaced(pseudonym, secret, 1, self._place + line)
        return pseudonym

    def secret(self, value: str) -> str:
        """The pseudonym of a value that its name makes a secret, whatever it looks like."""
        return value if not value or PSEUDONYM.search(value) else self._as("token", value)

    def whole(self, kind: str, value: str) -> str:
        """The pseudonym of a value that is a secret as a whole, remembered wherever else it stands."""
        secret = value.strip().removeprefix("GPU-")
        named = kind == "host" and secret and not anonymous("host", secret)
        if PSEUDONYM.search(secret) or not (named or addresses.identifies(secret)):
            return value
        self._learn(kind, secret)
        return value.replace(secret, self._as(kind, secret))


def of_this_machine() -> Redactor:
    """A redactor that knows this machine's host, user and home, whatever the texts give away."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or os.environ.get("USERNAME") or ""
    home = os.path.expanduser("~")  # noqa: PTH111 Path.home() raises where a container's user has no entry
    return Redactor(platform.node(), user, home if home != "~" else "")


def _apart(spans: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The spans in order; of two that overlap the later keeps what the earlier leaves."""
    done = 0
    for start, end, kind in sorted(spans, key=lambda s: (s[0], -s[1])):
        if end > done:
            yield max(start, done), end, kind
            done = end


def _family(kind: str) -> str:
    """Kinds that share their pseudonyms: one name is one pseudonym, whether it is a user's, a group's or a machine's."""
    return "id" if kind in _IDS else "name" if kind in NAMES else kind


def _canonical(kind: str, secret: str) -> str:
    """One spelling for one secret: an id is the same number in hex (rocminfo, amd-smi) and in decimal (the KFD topology)."""
    if kind not in _IDS:
        return secret.casefold()
    bare = secret.casefold().removeprefix("gpu-").removeprefix("0x")
    digits = bare.replace("-", "")
    if re.fullmatch(r"\d{17,20}", digits):
        return str(int(digits))
    return str(int(digits, 16)) if re.fullmatch(r"[0-9a-f]{8,40}", digits) else bare


def having_read(artifacts: Iterable[Artifact], redactor: Redactor | None = None) -> Redactor:
    """A redactor that knows this machine and all the names that the artifacts give away."""
    redactor = redactor or of_this_machine()
    for item in artifacts:
        _whole(item, redactor)
        for text in (item.name, item.text, item.note):
            redactor.learn(text)
    return redactor


def redact_artifacts(artifacts: list[Artifact], redactor: Redactor | None = None) -> list[Artifact]:
    """The artifacts with text, note and name redacted: names are learnt from all of them before any is changed."""
    redactor = having_read(artifacts, redactor)
    return [
        msgspec.structs.replace(
            a,
            name=redactor.replace(a.name, "names"),
            text=redactor.replace(_whole(a, redactor), a.name),
            note=redactor.replace(a.note, a.name),
        )
        for a in artifacts
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


def redact_plain(value: Any, redactor: Redactor | None = None) -> Any:
    """The same lists and tables with every string redacted, keys too (`audit` has paths for keys)."""
    redactor = redactor or of_this_machine()

    def changed(value: Any, change: Callable[[str], str]) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {change(key): changed(item, change) for key, item in value.items()}
        return [changed(item, change) for item in value] if isinstance(value, list | tuple) else value

    changed(value, redactor.text)  # learns every name before any string is changed for good
    return changed(value, redactor.replace)


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
        kind = _SECRET_FACTS.get(key)
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
