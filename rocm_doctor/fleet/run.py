"""Start the doctor on many nodes through an engine that is there; a JSON line for each node as it comes in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.fleet.engines import Launch, Plan
from rocm_doctor.fleet.node import add_host, first_lines, silent
from rocm_doctor.fleet.nodeset import expand
from rocm_doctor.fleet.pieces import Joiner
from rocm_doctor.workers import process

GRACE = 15.0
"""Seconds beyond the time limit of a node for the engine itself."""
LONGEST = 2000
"""Characters of what a node says in place of a report that are kept."""

_LABEL = regex(r"[\w.,\[\]-]+")


class Answer(NamedTuple):
    """A node and its line of JSON; `why`: why there is no report."""

    host: str
    line: bytes
    why: str = ""


class _Said(msgspec.Struct):
    """What a node says in place of a report."""

    error: str = ""


class Running:
    """One launch that was started, and the nodes that it still owes."""

    def __init__(self, launch: Launch, limit: float) -> None:
        self.launch, self.limit = launch, limit
        self.owes = dict.fromkeys(launch.nodes, "")
        """What each node said in place of a report."""
        self.joiner = Joiner()
        self.child = process.start(process.ChildSpec(launch.argv, limit=limit, env=launch.env, cap=8 * process.MIB, keep="tail"))

    def answers(self) -> Iterator[Answer]:
        """Reports that are whole now."""
        for line in self._lines():
            label = self._label(line.decode(errors="replace"))
            taken = self.joiner.take(line, label)
            if taken is None and label:
                self.owes[label] = (self.owes[label] + "\n" + line.decode(errors="replace").removeprefix(f"{label}: "))[-LONGEST:]
            elif taken and taken.host in self.owes and (taken.whole or taken.refused):
                del self.owes[taken.host]
                yield _answer(taken.host, taken.whole, taken.refused)

    def _label(self, line: str) -> str:
        """The node that a line is of, where that can be told: the only one, or the one that the launcher wrote in front."""
        label = line.partition(": ")[0] if self.launch.labelled else self.launch.nodes[0] if len(self.launch.nodes) == 1 else ""
        return label if label in self.owes else ""

    def _lines(self) -> list[bytes]:
        out = self.child.out
        end = len(out) if self.child.ended is not None else out.rfind(b"\n") + 1
        taken = bytes(out[:end])
        del out[:end]
        return taken.splitlines()

    def unanswered(self) -> Iterator[tuple[str, str, bool]]:
        """The nodes that are still owed, why, and whether a part of the report was lost on the way."""
        done = process.done(self.child)
        errors = self._errors(done.stderr)
        halves = dict(self.joiner.unfinished())
        for host, said in self.owes.items():
            cut = host in halves and done.state == "finished"
            own = errors.get(host, "" if errors.keys() & set(self.launch.nodes) else errors.get("", ""))
            yield host, f"only {halves[host]} came" if cut else self._why(first_lines(own) or first_lines(said), done), cut

    def _errors(self, text: str) -> dict[str, str]:
        """What was said on standard error of each node, `NODES: text` or `PROGRAM: NODES: text`, and of none under an empty name."""
        if not self.launch.labelled:
            return {self.launch.nodes[0] if len(self.launch.nodes) == 1 else "": text}
        found: dict[str, str] = {}
        for line in text.splitlines():
            label, hosts = next(((one, hosts) for one in line.split(": ", 2)[:2] if (hosts := self._owing(one))), ("", [""]))
            for host in hosts:
                found.setdefault(host, line.partition(f"{label}: ")[2] if label else line)
        return found

    def _owing(self, label: str) -> list[str]:
        """The nodes of a label that are still owed: clush names those that ran out of time as one node set."""
        with contextlib.suppress(Unreadable):
            return [host for host in (expand(label) if _LABEL.fullmatch(label) else ()) if host in self.owes]
        return []

    def _why(self, said: str, done: process.ChildResult) -> str:
        if done.state == "not-found":
            return f"{self.launch.argv[0]}: command not found"
        if done.state in ("timeout", "abandoned"):
            # What a launcher says of one node when it is ended is that it was ended.
            return (said if len(self.launch.nodes) > 1 else "") or f"no answer in {self.limit:g} s"
        code = f"exit code {done.returncode}" if done.returncode and len(self.launch.nodes) == 1 else ""
        return said or code or "ended without a report"


def _answer(host: str, body: bytes, refused: str) -> Answer:
    """The line of a node; a short one may be the node's own word for why there is no report."""
    try:
        why = refused or (jsons.decode(body, _Said).error if len(body) < LONGEST else "")
        return Answer(host, silent(host, why) if why else add_host(host, body, received=time.time()), why)
    except Unreadable as exc:
        return Answer(host, silent(host, f"not a report: {exc}"), f"not a report: {exc}")


Again = Callable[[Sequence[str]], Plan]


def run(plan: Plan, limit: float, fanout: int, again: Again | None = None) -> Generator[Answer, None, None]:
    """An answer for each node of the plan. Nodes whose report lost a part on the way are asked once more, by the plan of `again`.

    Ended early (closed, or by Ctrl-C), everything that was started is ended, too.
    """
    yield from (Answer(host, silent(host, why), why) for host, why in plan.silent.items())
    waiting = list(reversed(plan.launches))
    running: list[Running] = []
    owed: dict[str, str] = {}
    cut: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < fanout:
                running.append(Running(waiting.pop(), limit + GRACE + plan.start_limit))
            process.pump([one.child for one in running], timeout=0.5)
            for one in running:
                yield from one.answers()
                for host, why, lost in one.unanswered() if one.child.ended is not None else ():
                    if lost and again:
                        cut.append(host)
                    elif plan.explain:
                        owed[host] = why
                    else:
                        yield Answer(host, silent(host, why), why)
            running = [one for one in running if one.child.ended is None]
        if owed and plan.explain:
            with contextlib.suppress(Unreadable):
                owed |= {host: why for host, why in plan.explain(list(owed)).items() if why and host in owed}
    finally:
        for one in running:
            process.stop(one.child)
        for argv in plan.cancel:
            process.run(argv, limit=20)
    yield from (Answer(host, silent(host, why), why) for host, why in owed.items())
    if again and cut:
        yield from run(again(cut), limit, fanout)
