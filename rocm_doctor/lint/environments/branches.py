"""Which arms of a script's conditionals run on a machine with hardware of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.environments.listed import Listed, listed
from rocm_doctor.lint.environments.words import Kind, cards, tested

_EQUAL = regex(r"""\[{1,2}\s+["']?([^"'$\s]*)["']?\s+(={1,2}|!=)\s+["']?([^"'$\s*]*)["']?\s+\]{1,2}\s*;?""")


class Arm(NamedTuple):
    """One arm of an `if` or `case`: `condition` as it is written, `denied` those of the arms before it. An else has none.

    `filled` is the condition with the variables that are known; `sure`: whoever builds gives all of them. `refused` are the denied ones,
    with their variables.
    """

    conditional: int
    line: int
    condition: str
    denied: tuple[str, ...] = ()
    filled: str = ""
    sure: bool = False
    refused: tuple[str, ...] = ()

    @property
    def lists(self) -> Listed | None:
        """What its condition finds in the list of PCI devices; None for another test."""
        return listed(self.filled or self.condition)


def kind_of(arm: Arm) -> tuple[Kind, bool]:
    """The hardware that an arm is for, and whether it wants it there. An else is for what the arms before it denied."""
    if arm.condition:
        kind, there = tested(arm.condition)
        if kind == "amd" and cards(arm.condition):
            return kind, True  # one that denies a GPU is for the others
        return ("amd", not arm.lists.absent) if kind == "neutral" and arm.lists else (kind, there)
    for condition in arm.denied:
        kind, there = tested(condition)
        if kind != "neutral" and not there:
            return kind, True
    return "neutral", True


def chosen(arms: Sequence[Arm], kind: Kind) -> list[Arm]:
    """The arms of one conditional that may run on hardware of that kind: those that name it, else those that name none. What is given
    comes before both.
    """
    run = _by_hardware(arms, kind)
    # One that holds where a list of devices lacks the GPU runs for those that the list never has.
    return run + [arm for arm in arms if kind == "amd" and arm not in run and arm.lists and arm.lists.absent and _misses(arm)]


def _misses(arm: Arm) -> bool:
    return bool(arm.lists and (arm.lists.missed or arm.lists.unsure))


def _by_hardware(arms: Sequence[Arm], kind: Kind) -> list[Arm]:
    arms = [arm for arm in arms if not (arm.sure and decided(arm.filled) is False) and not is_never(arm.condition)]
    if given := next((arm for arm in arms if arm.sure and decided(arm.filled)), None):
        return [given]
    kinds = [kind_of(arm) for arm in arms]
    own = [arm for arm, (one, there) in zip(arms, kinds) if one == kind and there]
    if own and all(cards(arm.condition) or (kind == "amd" and _misses(arm)) for arm in own):
        return own + [arm for arm in arms if not arm.condition]  # for the GPUs of that kind that none of them names
    if own:
        return own
    open_ = [arm for arm, (one, there) in zip(arms, kinds) if (one == "neutral" and there) or (not there and one != kind)]
    for arm in open_:
        if decided(arm.filled):
            return [arm]
    return [arm for arm in open_ if decided(arm.filled) is not False]


def runs(arms: Sequence[Arm], kind: Kind) -> bool:
    """True if a command in these arms is known to run on hardware of that kind: each asks for it, or holds by what is known."""
    return all(_asks(arm, kind) or decided(arm.filled) for arm in arms)


def _asks(arm: Arm, kind: Kind) -> bool:
    """True if an arm asks for that hardware, or is what is left when all other hardware was asked for."""
    asked, there = kind_of(arm)
    if asked != "neutral":
        return (asked == kind) is there
    denied = [tested(condition) for condition in arm.denied]
    return not arm.condition and bool(denied) and all(other not in ("neutral", kind) and there for other, there in denied)


def decided(condition: str) -> bool | None:
    """True if a comparison of two known texts holds; None for any other test."""
    found = _EQUAL.fullmatch(condition.strip())
    return None if found is None else (found[1] == found[3]) is (found[2] != "!=")


_NO_FOLDER = regex(r"(?:^|&&)\s*\[{1,2}\s+-[df]\s+[\"']?/dev/kfd[\"']?\s+\]{1,2}")


def is_never(condition: str) -> bool:
    """True for a test that no machine passes: /dev/kfd is a character device, and neither a folder nor a plain file."""
    return _NO_FOLDER.search(condition) is not None and "||" not in condition


def targets(arms: Sequence[Arm]) -> tuple[str, ...]:
    """The gfx targets that the arms around a command restrict it to: patterns, those with `!` denied."""
    found: list[str] = []
    for arm in arms:
        found += _named(arm.condition)
        found += [glob[1:] if glob.startswith("!") else f"!{glob}" for condition in arm.denied for glob in _named(condition)]
        found += _by_list(arm)
    return tuple(dict.fromkeys(found))


def _named(condition: str) -> Iterator[str]:
    """The targets that a test asks for; denied ones where it asks that they be absent (`! rocminfo | grep gfx1100`)."""
    there = tested(condition)[1]
    yield from (glob if there else f"!{glob}" for glob in cards(condition))


def _by_list(arm: Arm) -> Iterator[str]:
    """The targets of an arm by what its test, or one that it denies, finds in the list of PCI devices."""
    if own := arm.lists:
        yield from own.missed if own.absent else (f"!{glob}" for glob in own.missed)
    for other in filter(None, map(listed, arm.refused)):
        yield from (f"!{glob}" for glob in other.missed) if other.absent else other.missed
