"""Start the doctor on many nodes through an engine that is there; a JSON line for each node as it comes in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fleet.engines import Launch, LaunchPlan
from rocm_doctor.fleet.node import first_lines, silent_line
from rocm_doctor.workers import process

GRACE = 15.0
"""Seconds beyond the time limit of a node for the engine itself."""
LONGEST = 2000
"""Characters of what a node says in place of a report that are kept."""
CUT = "only a part of its report came"


class NodeAnswer(NamedTuple):
    """The line of JSON of a node; without one it is empty and `why` says why."""

    host: str
    line: bytes
    why: str = ""


class Task:
    """One launch that was started, until its node has answered."""

    def __init__(self, launch: Launch, limit: float) -> None:
        self.launch, self.limit = launch, limit
        self.has_answered = False
        self.words = ""
        """What the node said in place of a report."""
        self.child = process.start(process.ChildSpec(launch.argv, limit=limit, env=launch.env, cap=8 * process.MIB, keep="tail"))

    def read_answer(self) -> NodeAnswer | None:
        """The report, as soon as it is whole."""
        out = self.child.out
        end = len(out) if self.child.ended is not None else out.rfind(b"\n") + 1
        lines = bytes(out[:end]).splitlines()
        del out[:end]
        for line in () if self.has_answered else lines:
            if answer := _answer(line, self.launch.node):
                self.has_answered = True
                return answer
            words = CUT if line.startswith(b"{") else line.decode(errors="replace")
            self.words = f"{self.words}\n{words}"[-LONGEST:]
        return None

    def explain_silence(self) -> str:
        """Why the node gave no report; CUT where a part of it was lost on the way."""
        done = process.make_result(self.child)
        if done.state == "not-found":
            return f"{self.launch.argv[0]}: command not found"
        if done.state in ("timeout", "abandoned"):
            return f"no answer in {self.limit:g} s"
        if CUT in self.words and done.state == "finished":
            return CUT
        code = f"exit code {done.returncode}" if done.returncode else ""
        return first_lines(done.stderr) or first_lines(self.words) or code or "ended without a report"


def _answer(line: bytes, host: str) -> NodeAnswer | None:
    """The answer that a line is, if it is one: the report of the node, or its own word for why there is none. `host`: what the engine calls
    the node, whatever it calls itself."""
    try:
        fields = jsons.decode(line[max(line.find(b"{"), 0) :], dict[str, msgspec.Raw])
        why = jsons.decode(fields["error"], str) if "error" in fields else ""
    except Unreadable:
        return None
    body = silent_line(host, why) if why else msgspec.json.encode({**fields, "host": host, "received": time.time()})
    return NodeAnswer(host, body, why)


Again = Callable[[Sequence[str]], LaunchPlan]


def run(plan: LaunchPlan, limit: float, fanout: int, again: Again | None = None) -> Generator[NodeAnswer, None, None]:
    """An answer for each node of the plan. Nodes whose report lost a part on the way are asked once more, by the plan of `again`.

    Ended early (closed, or by Ctrl-C), everything that was started is ended, too.
    """
    yield from (NodeAnswer(host, silent_line(host, why), why) for host, why in plan.silent.items())
    waiting = list(reversed(plan.launches))
    running: list[Task] = []
    owed: dict[str, str] = {}
    cut: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < fanout:
                running.append(Task(waiting.pop(), limit + GRACE + plan.start_limit))
            process.pump([task.child for task in running], timeout=0.5)
            for task in running:
                if answer := task.read_answer():
                    yield answer
                if task.child.ended is None or task.has_answered:
                    continue
                host, why = task.launch.node, task.explain_silence()
                if why == CUT and again:
                    cut.append(host)
                elif plan.explain:
                    owed[host] = why
                else:
                    yield NodeAnswer(host, silent_line(host, why), why)
            running = [task for task in running if task.child.ended is None]
        if owed and plan.explain:
            with contextlib.suppress(Unreadable):
                owed |= {host: why for host, why in plan.explain(list(owed)).items() if why and host in owed}
    finally:
        for task in running:
            process.stop(task.child)
        for argv in plan.cancel:
            process.run(argv, limit=20)
    yield from (NodeAnswer(host, silent_line(host, why), why) for host, why in owed.items())
    if again and cut:
        yield from run(again(cut), limit, fanout)
