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
from rocm_doctor.fleet.node import first_lines, silent_line
from rocm_doctor.fleet.nodeset import expand
from rocm_doctor.workers import process

GRACE = 15.0
"""Seconds beyond the time limit of a node for the engine itself."""
LONGEST = 2000
"""Characters of what a node says in place of a report that are kept."""
CUT = "only a part of its report came"

_LABEL = regex(r"[\w.,\[\]-]+")


class Answer(NamedTuple):
    """A node and its line of JSON; `why`: why there is no report."""

    host: str
    line: bytes
    why: str = ""


class Task:
    """One launch that was started, and the nodes that it still owes."""

    def __init__(self, launch: Launch, limit: float) -> None:
        self.launch, self.limit = launch, limit
        self.owes = dict.fromkeys(launch.nodes, "")
        """What each node said in place of a report."""
        self.child = process.start(process.ChildSpec(launch.argv, limit=limit, env=launch.env, cap=8 * process.MIB, keep="tail"))

    def answers(self) -> Iterator[Answer]:
        """Reports that are whole now."""
        out = self.child.out
        end = len(out) if self.child.ended is not None else out.rfind(b"\n") + 1
        lines = bytes(out[:end]).splitlines()
        del out[:end]
        for line in lines:
            label, _, rest = line.partition(b": ") if self.launch.labelled else (b"", b"", line)
            host = label.decode(errors="replace") if label else self.launch.nodes[0] if len(self.launch.nodes) == 1 else ""
            if answer := _answer(rest, host, self.owes):
                del self.owes[answer.host]
                yield answer
            elif host in self.owes:
                said = CUT if rest.startswith(b"{") else rest.decode(errors="replace")
                self.owes[host] = f"{self.owes[host]}\n{said}"[-LONGEST:]

    def failures(self) -> Iterator[tuple[str, str, bool]]:
        """The nodes that are still owed, why, and whether a part of the report was lost on the way."""
        done = process.make_result(self.child)
        errors = self._errors(done.stderr)
        for host, said in self.owes.items():
            own = errors.get(host, "" if errors.keys() & set(self.launch.nodes) else errors.get("", ""))
            lost = CUT in said and done.state == "finished"
            yield host, CUT if lost else self._reason(first_lines(own) or first_lines(said), done), lost

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

    def _reason(self, said: str, done: process.ChildResult) -> str:
        if done.state == "not-found":
            return f"{self.launch.argv[0]}: command not found"
        if done.state in ("timeout", "abandoned"):
            # What a launcher says of one node when it is ended is that it was ended.
            return (said if len(self.launch.nodes) > 1 else "") or f"no answer in {self.limit:g} s"
        code = f"exit code {done.returncode}" if done.returncode and len(self.launch.nodes) == 1 else ""
        return said or code or "ended without a report"


def _answer(line: bytes, host: str, owing: dict[str, str]) -> Answer | None:
    """The answer that a line is, if it is one: the report of a node, or its own word for why there is none.

    `host`: what the launcher calls the node, whatever it calls itself; empty where that cannot be told. `owing`: nodes that may answer.
    """
    try:
        fields = jsons.decode(line[max(line.find(b"{"), 0) :], dict[str, msgspec.Raw])
        name = host or jsons.decode(fields["host"], str)
        why = jsons.decode(fields["error"], str) if "error" in fields else ""
    except (Unreadable, KeyError):
        return None
    body = silent_line(name, why) if why else msgspec.json.encode({**fields, "host": name, "received": time.time()})
    return Answer(name, body, why) if name in owing else None


Again = Callable[[Sequence[str]], Plan]


def run(plan: Plan, limit: float, fanout: int, again: Again | None = None) -> Generator[Answer, None, None]:
    """An answer for each node of the plan. Nodes whose report lost a part on the way are asked once more, by the plan of `again`.

    Ended early (closed, or by Ctrl-C), everything that was started is ended, too.
    """
    yield from (Answer(host, silent_line(host, why), why) for host, why in plan.silent.items())
    waiting = list(reversed(plan.launches))
    running: list[Task] = []
    owed: dict[str, str] = {}
    cut: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < fanout:
                running.append(Task(waiting.pop(), limit + GRACE + plan.start_limit))
            process.pump([one.child for one in running], timeout=0.5)
            for one in running:
                yield from one.answers()
                for host, why, lost in one.failures() if one.child.ended is not None else ():
                    if lost and again:
                        cut.append(host)
                    elif plan.explain:
                        owed[host] = why
                    else:
                        yield Answer(host, silent_line(host, why), why)
            running = [one for one in running if one.child.ended is None]
        if owed and plan.explain:
            with contextlib.suppress(Unreadable):
                owed |= {host: why for host, why in plan.explain(list(owed)).items() if why and host in owed}
    finally:
        for one in running:
            process.stop(one.child)
        for argv in plan.cancel:
            process.run(argv, limit=20)
    yield from (Answer(host, silent_line(host, why), why) for host, why in owed.items())
    if again and cut:
        yield from run(again(cut), limit, fanout)
