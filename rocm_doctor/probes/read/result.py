"""The result of a probe: facts of the machine and, if it lists GPUs, one set of facts for each, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.model import Artifact, Fact, Reading, ReadingOrigin, Value
from rocm_doctor.probes.read.document import Document

if TYPE_CHECKING:
    from rocm_doctor.probes.text.gpu_names import GpuNames
    from rocm_doctor.probes.text.prose import Programs

MOST = 12
"""Readings kept for one fact."""


class Artifacts:
    """The artifacts, looked up by name or by glob. Probes get nothing else: they cannot fetch."""

    def __init__(
        self,
        items: Iterable[Artifact],
        gpu_names: Callable[[], GpuNames] | None = None,
        programs: Callable[[], Programs] | None = None,
    ) -> None:
        self.items = tuple(items)
        self._gpu_names = gpu_names
        self._programs = programs
        self._by_name: dict[str, Artifact] = {}
        for item in self.items:
            self._by_name.setdefault(item.name, item)
        self._pages: dict[int, Document] = {}

    def __iter__(self) -> Iterator[Artifact]:
        return iter(self.items)

    @property
    def gpu_names(self) -> GpuNames:
        """The names that people use for GPUs. Raises LookupError if none were given."""
        if self._gpu_names is None:
            raise LookupError("no GPU names were given")
        return self._gpu_names()

    @property
    def programs(self) -> Programs | None:
        """The programs that texts may be about; None if none were given."""
        return self._programs() if self._programs else None

    def get(self, name: str) -> Artifact | None:
        """The first artifact of exactly that name, readable or not."""
        return self._by_name.get(name)

    def text(self, name: str) -> str | None:
        """Its text; None if it is missing or could not be read."""
        item = self._by_name.get(name)
        return None if item is None or item.missing else item.text

    def document(self, item: Artifact) -> Document:
        """The text of one of these artifacts as a Document, shared by all probes."""
        if id(item) not in self._pages:
            self._pages[id(item)] = Document(item)
        return self._pages[id(item)]

    def texts(self, *globs: str) -> list[Document]:
        """The texts of artifacts whose name matches one of the globs; without one, all pasted texts and logs, uncut."""
        return list(map(self.document, self.like(*globs or ("paste/text*", "log/*"))))

    def like(self, *globs: str) -> list[Artifact]:
        """Readable artifacts whose name matches one of the globs (`*` also spans `/`), in their order."""
        return [a for a in self.items if not a.missing and any(fnmatchcase(a.name, g) for g in globs)]

    def mention(self, *globs: str) -> bool:
        """True if an artifact of such a name was probed, even if it was found absent."""
        return any(fnmatchcase(a.name, g) for a in self.items if a.missing != "no-tool" for g in globs)


class Listing:
    """The GPUs that one tool lists, in its order. `complete`: it lists all that it can see (collect_env names only one)."""

    def __init__(self, complete: bool = True, gpus: Iterable[dict[str, Fact]] = ()) -> None:
        self.complete = complete
        self.gpus = list(gpus)

    def gpu(self) -> dict[str, Fact]:
        """A new GPU at the end of the listing."""
        self.gpus.append({})
        return self.gpus[-1]


class ProbeResult:
    """The facts of one probe. `record` of a key that has another value already keeps both, as a dispute.

    Printed, it is one line for each fact: what the example in a probe's docstring shows.
    """

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.listings: list[Listing] = []
        self.errors: list[Reading] = []

    def listing(self, complete: bool = True) -> Listing:
        """A new list of GPUs, added to `listings`; not `complete`: there may be others."""
        self.listings.append(Listing(complete))
        return self.listings[-1]

    def record(self, key: str, value: Value, reading: Reading, into: dict[str, Fact] | None = None) -> None:
        """Record that `key` is `value` as read there; into a GPU of a listing when `into` is given, else of the machine."""
        facts = self.facts if into is None else into
        facts[key] = merge(facts.get(key), Fact(value, (reading,)))

    def __str__(self) -> str:
        gpus = [gpu for listing in self.listings for gpu in listing.gpus]
        sets = [("", self.facts), *((f"gpu {n} ", gpu) for n, gpu in enumerate(gpus))]
        lines = [
            f"{owner}{key} = {fact.words}{' (disputed)' * bool(fact.disputed)}"
            for owner, facts in sets
            for key, fact in facts.items()
        ]
        return "\n".join([*lines, *(f"error in {error.artifact}: {error.quote}" for error in self.errors)])

    def fail(self, artifact: str, what: str, place: str = "", origin: ReadingOrigin = "text") -> None:
        """Record that something could not be read: shown under errors, never taken for a value."""
        self.errors.append(Reading(artifact, place, what, origin))


def merge(first: Fact | None, second: Fact) -> Fact:
    """Two facts merged. The first known value wins; an absent one (None) loses to a value. Equal values join their readings, at
    most MOST; another value is kept as disputed. A version that is the leading part of another (`3.12` and `3.12.3`) agrees with
    it, and the longer one is kept."""
    if first is None or (not first.known and second.known):
        return second
    if not second.known or (second.value is None and first.value is not None):
        return first
    if first.value is None:
        return second
    if _same(first.value, second.value) or _leads(second.value, first.value):
        return msgspec.structs.replace(first, readings=_join_readings(first.readings, second.readings))
    if _leads(first.value, second.value):
        readings = _join_readings(second.readings, first.readings)
        return msgspec.structs.replace(second, readings=readings, disputed=first.disputed)
    return msgspec.structs.replace(first, disputed=_join_readings(first.disputed, second.readings))


def _join_readings(first: tuple[Reading, ...], second: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The readings of both in their order, without repetitions, at most MOST."""
    return tuple(dict.fromkeys(first + second))[:MOST]


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
    return one == other


def _leads(short: Value, long: Value) -> bool:
    """True if one version is a prefix of another."""
    if not (isinstance(short, str) and isinstance(long, str) and short[:1].isdigit()):
        return False
    return long.startswith(short) and long[len(short) : len(short) + 1] in (".", "+", "-")
