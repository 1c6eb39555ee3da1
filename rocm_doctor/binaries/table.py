"""An audit as text of at most `width` columns: the targets of each library, or what given GPUs lack."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.binaries.targets import covers
from rocm_doctor.binaries.types import Audit, Holding

# Kinds that must have a GPU's code for it to run; a kpack archive repeats a split library.
DECISIVE = ("fatbin", "split", "tensile", "code-object")


def decides(holding: Holding, audit: Audit) -> bool:
    """True if a missing target here matters: of bitsandbytes' libraries only the one that torch will load counts."""
    other_bnb = holding.library == "bitsandbytes" and audit.bitsandbytes is not None and audit.bitsandbytes.path != holding.path
    return holding.kind in DECISIVE and not other_bnb


def can_run(holding: Holding, gpu: str, override: str | None) -> bool | None:
    """True if the GPU can load this code; None if unknown, or if the file could not be read completely."""
    answer = covers(holding.targets, gpu, override)
    return answer if answer or not holding.problem else None


def lines(audit: Audit, gpus: Sequence[str], override: str | None, width: int) -> Iterator[str]:
    """The whole text."""
    if not audit.holdings:
        yield f"no GPU code in {audit.files} files of {audit.place}"
        return
    yield from _verdicts(audit, gpus, override, width) if gpus else _targets(audit, width)
    summary = ["", *(_summary(audit, gpu, override) for gpu in gpus)] if gpus else []
    for text in (*_footnotes(audit), *summary):
        yield from textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _targets(audit: Audit, width: int) -> Iterator[str]:
    """The targets of each place; in brackets those that only some of its bundles have, and `?` where not all could be read."""
    labels = [_label(h, audit, width // 2) for h in audit.holdings]
    left = " " * (max(map(len, labels)) + 1)
    for holding, label in zip(audit.holdings, labels):
        words = [f"({target})" if target in holding.partial else target for target in holding.targets]
        text = " ".join(words + ["?"] * bool(holding.problem)) or "no target"
        yield from textwrap.wrap(
            text, width, initial_indent=label.ljust(len(left)), subsequent_indent=left, break_on_hyphens=False
        )
    if any(holding.partial for holding in audit.holdings):
        yield "(gfx...): only some of the bundles have it"


def _verdicts(audit: Audit, gpus: Sequence[str], override: str | None, width: int) -> Iterator[str]:
    labels = [_label(h, audit, width - 8 * len(gpus) - 1) for h in audit.holdings]
    left = max(map(len, labels))
    yield " " * left + "".join(f"  {gpu:<7}" for gpu in gpus)
    for holding, label in zip(audit.holdings, labels):
        words = (_word(can_run(holding, gpu, override), decides(holding, audit)) for gpu in gpus)
        yield (label.ljust(left) + "".join(f"  {w:<7}" for w in words)).rstrip()


def _word(answer: bool | None, decisive: bool) -> str:
    return "yes" if answer else "?" if answer is None else "MISSING" if decisive else "no"


def _label(holding: Holding, audit: Audit, room: int) -> str:
    """The library and its file's name or its folder, cut at the front if too long."""
    loaded = " (loaded)" if audit.bitsandbytes and audit.bitsandbytes.path == holding.path else ""
    head = f"{holding.library:<13} "
    place = (holding.path if holding.kind == "tensile" else holding.path.rsplit("/", 1)[-1]) + loaded
    left = max(12, room - len(head))
    return head + (place if len(place) <= left else "..." + place[-(left - 3) :])


def _footnotes(audit: Audit) -> Iterable[str]:
    for holding in audit.holdings:
        if holding.problem:
            yield f"not read completely: {holding.path}: {holding.problem}"
        elif holding.kind == "split" and not holding.targets:
            yield f"{holding.path}: {holding.note}"
    if audit.bitsandbytes:
        loaded = audit.bitsandbytes.path or "no library at all"
        yield f"bitsandbytes loads {loaded}: {audit.bitsandbytes.because}"


def holes(audit: Audit, gpu: str, override: str | None) -> list[Holding]:
    """Places that must have code for the GPU and have none."""
    return [h for h in audit.holdings if decides(h, audit) and can_run(h, gpu, override) is False]


def unknown_places(audit: Audit, gpu: str, override: str | None) -> list[Holding]:
    """Places that must have code for the GPU where that is unknown."""
    return [h for h in audit.holdings if decides(h, audit) and can_run(h, gpu, override) is None]


def _summary(audit: Audit, gpu: str, override: str | None) -> str:
    missing, unsure = (
        _library_names(holes(audit, gpu, override), audit),
        _library_names(unknown_places(audit, gpu, override), audit),
    )
    card = f"{gpu} under HSA_OVERRIDE_GFX_VERSION={override}" if override else gpu
    parts = [f"no code in {', '.join(missing)}" if missing else "", f"unknown for {', '.join(unsure)}" if unsure else ""]
    return f"{card}: " + ("; ".join(p for p in parts if p) or "code in every library that has GPU code")


def _library_names(places: Sequence[Holding], audit: Audit) -> list[str]:
    """Names for these places, each once: the library for a folder, or if all of its places that decide are among them; else the
    file."""
    names = []
    for holding in places:
        whole = all(h in places for h in audit.holdings if h.library == holding.library and decides(h, audit))
        names.append(holding.library if whole or holding.kind == "tensile" else holding.path.rsplit("/", 1)[-1])
    return list(dict.fromkeys(names))
