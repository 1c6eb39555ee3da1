"""Secrets out of any text: host, users, homes, tokens, serials, UUIDs, addresses become pseudonyms.

The same secret gets the same pseudonym (`<user-1>`, `<ip-2>`) wherever one `Redactor` meets it, so that texts of one report
still join: a GPU's UUID in rocminfo and in ROCR_VISIBLE_DEVICES stays one GPU. Keys, versions, PCI addresses, gfx names and
paths other than homes are left alone. docs/privacy.md says what is replaced, what is kept and what is not promised.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import lower, printable
from rocm_doctor.redaction import addresses
from rocm_doctor.redaction.find import NameFinder, searches
from rocm_doctor.redaction.known import is_anonymous, is_distinctive
from rocm_doctor.redaction.pseudonyms import IDS, Pseudonyms
from rocm_doctor.redaction.rules import NAMES, PSEUDONYM, RedactedPlace
from rocm_doctor.redaction.unknown import MOST_UNKNOWN, weigh_words

PLACES = 160_000
"""Places that one bundle or report may have to redact: 3 s. The log of a job on 16 nodes names a host in each of 110,000 lines."""
_NEW = 4
"""Places that a secret costs where it is met for the first time."""
_UNKNOWN = 20
"""Places that a word costs which no list knows: what is around it is looked at."""
WITHHELD = f"[withheld from here on: more than {PLACES:,} names, addresses and secrets]"
_DISORDER = 1_000
"""Characters by which a search may find a place before the one that it found last: a line's beginning, the line above."""
_SHORTEST = 8
"""Letters of a token that is looked for elsewhere, at least."""
_ID = 12
"""Digits of the short form of a container's id."""
_LONGEST = 500
"""Letters of a token that is looked for elsewhere, at most."""
_DOMAIN = regex(r"(?:\.[a-z][a-z0-9-]{1,40}){2,4}(?![\w(/])")
"""What makes the short name of a host a full one."""
_PERSON = regex(r"([A-Za-z]{3,30})\.([A-Za-z]{3,30})@")
"""The parts of a mail address that are a person's first and last name."""
_NAME = regex(r"[^\W\d_]{4,}")
"""A part of a person's name that is alone elsewhere: in a signature, in a login."""


class Replacement(NamedTuple):
    """One secret that was replaced: `<user-1>` for `jroe`, how often, and where first (artifact and line)."""

    pseudonym: str
    secret: str
    times: int
    first: str

    @property
    def display(self) -> str:
        """The secret as a person may see it: of a token its beginning, and nothing that a terminal would act on."""
        text = printable(self.secret)
        return f"{text[:4]}... ({len(text)} characters)" if self.pseudonym.startswith("<token") else text


class _Searched(NamedTuple):
    """What the structure of a text gives away, up to `end`: from there on the text is withheld."""

    found: tuple[RedactedPlace, ...]
    end: int


class Redactor:
    """Replaces the secrets of one report. `host`, `user`, `home` are this machine's, where known; others are learnt from text.

    `only`: the kinds that are looked for in texts; empty for all.
    """

    def __init__(self, host: str = "", user: str = "", home: str = "", only: frozenset[str] = frozenset()) -> None:
        self._only = only
        self._pseudonyms = Pseudonyms()
        self._learnt: dict[str, tuple[str, str]] = {}
        self._search: NameFinder | None = None
        self._searched: dict[str, _Searched] = {}
        self._met: set[tuple[str, str, bool]] = set()
        self._paid: set[tuple[str, str]] = set()
        self.refill()
        self.withheld: dict[str, int] = {}
        """The artifacts that are withheld from some line on, and that line."""
        self._first: dict[str, tuple[str, str]] = {}
        self._times: dict[str, int] = {}
        self._learn("user", user)
        self._learn_home(home)
        for name in sorted({host, host.split(".")[0]}, key=len, reverse=True):
            self._learn("host", name)

    @property
    def replacements(self) -> list[Replacement]:
        """What has been replaced so far, in the order of the pseudonyms' kinds and numbers."""
        made = (Replacement(name, secret, self._times[name], first) for name, (secret, first) in self._first.items())
        return sorted(made, key=lambda r: (r.pseudonym.split("-")[0], int("0" + re.sub(r"\D", "", r.pseudonym))))

    def learn(self, text: str) -> None:
        """Take in the names that `text` gives away (home folders, prompts, host lines, serials), to replace them everywhere."""
        for found in self._search_text(text).found:
            secret = text[found.start : found.end]
            met = (found.kind, secret, found.remember)
            if met in self._met:
                continue
            self._met.add(met)
            if found.kind == "token":
                for line in secret.split("\n"):
                    self._learn("token", line.strip())
            elif found.remember:
                for name in (secret, *(_NAME.findall(secret) if found.kind == "user" and " " in secret else ())):
                    self._learn(found.kind, name)
            if found.kind == "email" and (person := _PERSON.match(secret)):
                self._learn("user", f"{person[1]} {person[2]}")

    def first_withheld_line(self, text: str) -> int:
        """The line of `text` from which it is withheld, from 1; 0 where nothing is."""
        end = self._search_text(text).end
        return 0 if end == len(text) else text.count("\n", 0, end) + 1

    def text(self, text: str) -> str:
        """`text` with every secret replaced, those that only it gives away too. Running it again changes nothing."""
        self.learn(text)
        return self.replace(text)

    def replace(self, text: str, place: str = "") -> str:
        """`text` with every secret replaced, after all that belongs with it was learnt. `place`: the artifact that it is of."""
        found, end = self._search_text(text)
        known = [span for span in self._find_learnt(text, end) if span[0] < end]
        lines = _Lines(text)
        pieces, done = [], 0
        for start, stop, kind in _split_overlaps([*((f.start, f.end, f.kind) for f in found), *known]):
            secret = text[start:stop]
            # The line breaks of a private key stay: what is below it is quoted by its line.
            pieces += [text[done:start], self._replace_secret(kind, secret, place, lines, start), "\n" * secret.count("\n")]
            done = stop
        if end < len(text):
            return "".join([*pieces, text[done:end], WITHHELD])
        return "".join([*pieces, text[done:]]) if pieces else text

    def refill(self) -> None:
        """Allow as many places again, for another piece of work."""
        self._left = PLACES
        self._unknown_weight: float = MOST_UNKNOWN

    def _search_text(self, text: str) -> _Searched:
        """What the structure of `text` gives away, without what identifies no one. Texts are learnt from and changed: kept."""
        if text not in self._searched:
            self._searched[text] = self._search_anew(text)
        return self._searched[text]

    def _search_anew(self, text: str) -> _Searched:
        """Beyond the places that are allowed, the text is cut where half of them are found: other searches have theirs to find.
        Of the unknown words that are allowed, a text may use half of what others left."""
        found: list[RedactedPlace] = []
        words = weigh_words(text, self._unknown_weight / 2)
        self._unknown_weight -= words.unknown_weight
        end = words.end
        text = text[:end]
        for search in searches(text, found, words):
            for one in search:
                if one.start > end + _DISORDER:
                    break
                if self._only and one.kind not in self._only:
                    continue
                found.append(one)
                secret = (one.kind, text[one.start : one.end])
                self._left -= 1 if secret in self._paid else _UNKNOWN if one.kind == "name" else _NEW
                self._paid.add(secret)
                if self._left < 0:
                    starts = sorted(f.start for f in found)
                    end = min(end, text.rfind("\n", 0, starts[len(starts) // 2]) + 1)
                    self._left = len(starts) // 2
                    found = [f for f in found if f.start < end]
        return _Searched(tuple(f._replace(end=min(f.end, end)) for f in found if f.start < end), end)

    def _find_learnt(self, text: str, end: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, kind) for each learnt name in `text` up to `end`; a host's domain belongs to it."""
        if not self._learnt:
            return
        if self._search is None:
            self._search = NameFinder(self._learnt)
        for start, stop, name in self._search.find(text, end):
            kind = self._learnt[name][0]
            domain = _DOMAIN.match(text, stop) if kind == "host" else None
            yield start, domain.end() if domain else stop, kind

    def _learn(self, kind: str, name: str) -> None:
        """Remember a name or an id, to find it elsewhere."""
        if kind in IDS:
            name = name.removeprefix("GPU-")
            known = addresses.identifies(name)
        elif kind == "token":
            known = (
                _SHORTEST <= len(name) <= _LONGEST
                and (len(name) >= 2 * _SHORTEST or any(map(str.isdigit, name)))
                and is_distinctive(name)
            )
        elif kind == "container":
            known = len(name) >= _ID and all(c in "0123456789abcdef" for c in name)
        else:
            known = kind in NAMES and is_distinctive(name) and not is_anonymous(kind, name)
        low = lower(name)
        better = low not in self._learnt or (self._learnt[low][0] == "name" != kind)
        if known and better and not PSEUDONYM.search(name):
            if kind not in ("token", "name"):  # a name may still turn out to be a user's or a host's
                self._pseudonyms.get(kind, name)
            self._learnt[low] = (kind, name)
            self._search = None

    def _learn_home(self, home: str) -> None:
        bare = home.rstrip("\\/")
        name = re.split(r"[\\/]", bare)[-1]
        if not name or is_anonymous("user", name) or home in ("/", "\\"):
            return
        self._learn("user", name)
        root = "C:\\Users\\" if "\\" in home else "/home/"
        if bare != root + name and is_distinctive(name):
            self._learnt[lower(bare)] = ("home", bare)
            self._pseudonyms.fix("home", bare, root + self._pseudonyms.get("user", name))

    def _replace_secret(self, kind: str, secret: str, place: str = "", lines: _Lines | None = None, at: int = 0) -> str:
        """The pseudonym, noted as used in `place` at `at`."""
        pseudonym = self._pseudonyms.get(kind, secret)
        times = self._times.get(pseudonym, 0)
        if not times:
            self._first[pseudonym] = (secret, f"{place} line {lines.at(at)}" if place and lines else place)
        self._times[pseudonym] = times + 1
        return pseudonym

    def secret(self, value: str) -> str:
        """The pseudonym of a value that its name makes a secret, whatever it looks like."""
        return value if not value or PSEUDONYM.search(value) else self._replace_secret("token", value)

    def redact_value(self, kind: str, value: str) -> str:
        """The pseudonym of a value that is a secret as a whole, remembered wherever else it is."""
        secret = value.strip().removeprefix("GPU-")
        named = kind == "host" and secret and not is_anonymous("host", secret)
        if PSEUDONYM.search(secret) or not (named or addresses.identifies(secret)):
            return value
        self._learn(kind, secret)
        return value.replace(secret, self._replace_secret(kind, secret))


def local_redactor(only: frozenset[str] = frozenset()) -> Redactor:
    """A redactor that knows this machine's host, user and home, whatever the texts give away. `only`: the kinds that it looks for in them."""
    return Redactor(*this_machine(), only)


OF_A_REPOSITORY = frozenset(("token", "email"))
"""What is a secret in the text of a repository: its names of services, images and packages are what its readers know them by."""


def this_machine() -> tuple[str, str, str]:
    """(host, user, home) of this machine; empty where unknown."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or os.environ.get("USERNAME") or _account()
    home = os.path.expanduser("~")  # noqa: PTH111 Path.home() raises where a container's user has no entry
    return platform.node(), user, home if home != "~" else ""


def _account() -> str:
    """The login by the system's list of users: cron and some batch systems set no USER."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):  # Windows; a container's user without an entry
        return ""


class _Lines:
    """Line numbers of a text, asked for from its beginning to its end: counted once."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def at(self, place: int) -> int:
        """The line of this place, from 1."""
        self._line += self._text.count("\n", self._at, place)
        self._at = place
        return self._line


def _split_overlaps(spans: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of the spans in order; of two that overlap the later keeps what the earlier leaves."""
    done = 0
    for start, end, kind in sorted(spans, key=lambda s: (s[0], -s[1])):
        if end > done:
            yield max(start, done), end, kind
            done = end
