"""Every plan must pass `check` on the machine it was made for: the whole space, in two processes, in under a minute.

    python scripts/plan_space.py [--gfx gfx906,gfx1100] [--jobs 2]

Space: every target of the catalog, Python 3.9 to 3.14, three systems, five driver ages, four wishes. For each the first stack
and those that the text shows beside it are built up as facts and judged by the whole engine; anything above a note is a failure.
Where there is no stack, each build of the catalog must have a reason.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Finding
from rocm_doctor.plan.catalog import Catalog, System, load_catalog, order_packages
from rocm_doctor.plan.machine import INBOX, Machine, declare_machine, install_stack
from rocm_doctor.plan.search import Resolver, Stack
from rocm_doctor.plan.stack_judge import stack_facts
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS: tuple[System, ...] = ("linux", "windows", "wsl")
DRIVERS = {
    "linux": (INBOX, "6.3.6", "6.8.5", "6.12.12-2133686", "6.16.6"),
    "windows": ("", "24.12.1", "25.8.1", "26.1.1", "26.8.1"),
    "wsl": ("",) * 5,
}
"""Driver ages: the kernel's own and modules of the amdgpu package; Adrenalin releases; in WSL it is not seen."""
WISHES = tuple(
    order_packages(names, way, load_catalog(load()))
    for names, way in (((), ""), ((), "lora"), ((), "qlora"), (("flash-attn", "torchao"), "full"))
)


class Result(NamedTuple):
    """What came of one target: plans, those with nothing known, stacks judged, failures, first stacks, seconds."""

    gfx: str
    plans: int
    nothing: int
    judged: int
    failures: list[str]
    first: Counter[str]
    cpu: float


def complaints(stack: Stack, machine: Machine, known_of: Catalog) -> list[Finding]:
    """What `check` says above a note of a machine with this stack and its variables, over all rows of the matrix."""
    facts = stack_facts(stack.candidate, machine, stack.packages, stack.env, known_of)
    found, _ = judge(install_stack(machine, facts, stack.packages), Logs(()), known_of.matrix, RULES)
    return [f for f in found if f.severity != "note"]


def machines(gfx: str, matrix: Matrix) -> Iterator[Machine]:
    for python, system in product(PYTHONS, SYSTEMS):
        for driver in DRIVERS[system]:
            yield declare_machine(gfx, python, matrix, system, driver)


def of_target(gfx: str, known_of: Catalog, shown: int = 4) -> Result:
    """All machines and wishes of one target. A stack is judged once for each machine that differs in what judgements look at."""
    began = time.process_time()
    found: dict[tuple[object, ...], Answer] = {}
    judged: set[tuple[object, ...]] = set()
    answers: list[Answer] = []
    for machine in machines(gfx, known_of.matrix):
        same = (machine.python, machine.system, machine.driver)
        if (same, WISHES[0]) not in found:
            resolver = Resolver(machine, known_of)
            found |= {(same, wish): _asked(resolver.for_wish(wish), machine, known_of, shown, judged) for wish in WISHES}
        answers += [found[same, wish] for wish in WISHES]
    first = Counter(answer.first for answer in answers)
    failures = [f for answer in found.values() for f in answer.failures]
    return Result(gfx, len(answers), first["nothing"], len(judged), failures, first, time.process_time() - began)


class Answer(NamedTuple):
    """The first stack of one plan, and what is wrong with those that it shows."""

    first: str
    failures: list[str]


def _asked(request: Resolver, machine: Machine, known_of: Catalog, shown: int, judged: set[tuple[object, ...]]) -> Answer:
    stacks = list(islice(request.stacks(), shown))
    failures: list[str] = []
    if not stacks and not _reasons(request, known_of):
        failures.append(f"{machine.words()}: a build without a reason among {len(request.rejected)}")
    for stack in stacks:
        key = (machine.words(), stack.name, tuple((n, r.version) for n, r in stack.packages.items()))
        if key not in judged:
            judged.add(key)
            failures += [f"{machine.words()}: {stack.name}: {f.title}" for f in complaints(stack, machine, known_of)]
    return Answer(stacks[0].name if stacks else "nothing", failures)


def _reasons(request: Resolver, known_of: Catalog) -> bool:
    """True if every build of the catalog has its reason."""
    return len(request.rejected) == len(known_of.matrix.torch) and all(r.why for r in request.rejected)


_KNOWN: list[Catalog] = []


def _start() -> None:
    _KNOWN.append(load_catalog(load()))


def _job(gfx: str) -> Result:
    return of_target(gfx, _KNOWN[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gfx", help="only these targets, by comma")
    parser.add_argument("--jobs", type=int, default=2)
    request = parser.parse_args()
    targets = request.gfx.split(",") if request.gfx else list(load().gfx)
    began = time.monotonic()
    with multiprocessing.Pool(request.jobs, _start) as pool:
        results = list(pool.imap_unordered(_job, targets))
    for one in sorted(results, key=lambda r: r.gfx):
        best = ", ".join(f"{name} ({count})" for name, count in one.first.most_common(2))
        print(
            f"{one.gfx:8} {one.plans} plans, {one.nothing} with nothing known, {one.judged} stacks judged, "
            f"{one.cpu:.1f} s CPU; {best}"
        )
    failures = [f for one in results for f in one.failures]
    print(*failures[:40], sep="\n")
    cpu = sum(one.cpu for one in results)
    print(
        f"{sum(r.plans for r in results)} plans, {len(failures)} failures; {time.monotonic() - began:.0f} s, {cpu:.0f} s of CPU"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
