"""Start the doctor on many nodes through an engine that is there; a JSON line for each node as it comes in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fleet.engines import Launch, Plan
from rocm_doctor.fleet.node import last_line, silent
from rocm_doctor.fleet.pieces import Joiner, Taken
from rocm_doctor.workers import process

AT_ONCE = 64
"""Launches at a time: each is a process on this machine."""
GRACE = 30.0
"""Seconds beyond the time limit of a node for the engine itself."""


class Answer(NamedTuple):
    """A node and its line of JSON; `why`: why there is no report."""

    host: str
    line: bytes
    why: str = ""


class Running:
    """One launch that was started, and the nodes that it still owes."""

    def __init__(self, launch: Launch, limit: float) -> None:
        self.launch, self.limit = launch, limit
        self.owes = dict.fromkeys(launch.nodes)
        self.noise = ""
        self.child = process.start(process.ChildSpec(launch.argv, limit=limit, env=launch.env, cap=8 * process.MIB, keep="tail"))

    def answers(self, joiner: Joiner) -> Iterator[Answer]:
        """Reports that are whole now."""
        for line in self._lines():
            taken = joiner.take(line)
            if taken is None:
                self.noise = last_line(line[-1000:].decode(errors="replace")) or self.noise
            elif taken.host in self.owes and (taken.whole or taken.refused):
                del self.owes[taken.host]
                yield _answer(taken)

    def _lines(self) -> list[bytes]:
        out = self.child.out
        end = len(out) if self.child.ended is not None else out.rfind(b"\n") + 1
        taken = bytes(out[:end])
        del out[:end]
        return taken.splitlines()

    def unanswered(self, joiner: Joiner) -> Iterator[Answer]:
        """The nodes that are still owed, with why."""
        done = process.done(self.child)
        halves = dict(joiner.unfinished())
        for host in self.owes:
            half = f"only {halves[host]} came" if host in halves else ""
            why = half if half and done.state == "finished" else self._why(host, done)
            yield Answer(host, silent(host, why), why)
        self.owes.clear()

    def _why(self, host: str, done: process.ChildResult) -> str:
        if done.state in ("timeout", "abandoned"):
            return f"no answer in {self.limit:g} s"
        if done.state == "not-found":
            return f"{self.launch.argv[0]}: command not found"
        own = [line for line in done.stderr.splitlines() if host in line.replace(":", " ").replace(",", " ").split()]
        said = last_line("\n".join(own)) or last_line(done.stderr) or self.noise
        return said or (f"exit code {done.returncode}" if done.returncode else "ended without a report")


def _answer(taken: Taken) -> Answer:
    """The line of a node; a short one may be the node's own word for why there is no report."""
    if taken.refused:
        return Answer(taken.host, silent(taken.host, taken.refused), taken.refused)
    why = ""
    if len(taken.whole) < 1000:
        with contextlib.suppress(Unreadable):
            why = str(jsons.decode(taken.whole, dict[str, Any]).get("error", ""))
    return Answer(taken.host, taken.whole, why)


def run(plan: Plan, limit: float) -> Generator[Answer, None, None]:
    """An answer for each node of the plan. Ended early (closed, or by Ctrl-C), everything that was started is ended, too."""
    yield from (Answer(host, silent(host, why), why) for host, why in plan.silent.items())
    waiting = list(reversed(plan.launches))
    running: list[Running] = []
    owed: list[Answer] = []
    joiner = Joiner()
    whole = False
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(Running(waiting.pop(), limit + GRACE + plan.start_limit))
            process.pump([one.child for one in running], timeout=0.5)
            for one in running:
                yield from one.answers(joiner)
                owed += one.unanswered(joiner) if one.child.ended is not None else ()
            running = [one for one in running if one.child.ended is None]
            if not plan.again:
                yield from owed
                owed = []
        whole = True
    finally:
        for one in running:
            process.stop(one.child)
        for argv in () if whole and not plan.always_cancel else plan.cancel:
            process.run(argv, limit=20)
    if owed and plan.again:
        yield from _again(plan.again, owed, limit)


def _again(again: Callable[[Sequence[str]], Plan], owed: Sequence[Answer], limit: float) -> Iterator[Answer]:
    """Answers of a second run. Where that says nothing better, the first reason stays."""
    first = {answer.host: answer for answer in owed}
    plan = again(list(first))
    if plan.silent or any(len(launch.nodes) < len(owed) for launch in plan.launches):
        yield from run(plan, limit)
    else:
        yield from first.values()


def expected(plan: Plan) -> list[str]:
    """All nodes of the plan."""
    return [*plan.silent, *(node for launch in plan.launches for node in launch.nodes)]
