"""What leaves open whether a script serves its GPU, and is no problem by itself: it keeps a verdict from being green."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.lint.declared import OVERRIDE, Place, ReadProblem, Setting
from rocm_doctor.lint.environments.branches import Arm


def of_lists(arms: Sequence[Arm], places: Iterable[Place]) -> Iterator[ReadProblem]:
    """The doubt on what is at these places where a list of PCI devices decides: not all devices with a target's GPU have the class that it looks for."""
    at = dict.fromkeys(places)
    for arm in arms:
        if arm.lists and arm.lists.unsure:
            said = f"whether the test on line {arm.line} finds the GPU in the output of lspci is not known"
            yield from (ReadProblem(place, said, gfx=arm.lists.unsure) for place in at)


def of_override(one: Setting) -> Iterator[ReadProblem]:
    """The doubt on an override that only the machine, or the caller of the script, knows."""
    if one.name == OVERRIDE and "$" in one.value and OVERRIDE not in one.value:
        yield ReadProblem(one.place, f"which {OVERRIDE} line {one.place.line} sets is not known")


def of_arms(arms: Sequence[Arm], place: Place) -> Iterator[ReadProblem]:
    """The doubt on a command in a function that nothing calls, or behind a line that the grammar does not parse."""
    for arm in arms:
        if arm.condition.endswith((" is called", " was understood")):
            yield ReadProblem(
                place, f"whether line {place.line} of {place.file} is run is not known: nothing shows that {arm.condition}"
            )
