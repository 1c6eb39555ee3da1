"""rocm-doctor's own report as a terminal shows it, read back: what `check` or `check -v` printed, pasted.

    rocm-doctor 0.1.0, matrix 2026.11.22: this machine
      GPU 0  AMD Radeon RX 7900 XTX (gfx1100) 96 CUs 24.0 GiB
      stack  kernel 6.14.0-28-generic, torch 2.9.1+rocm6.4

    ✗ what is wrong
      error, likely · some.diagnosis [its-row]
      why    ...

    ✗ what is wrong

The layout is that of reports/terminal.py. -v has every fact under `Read`; without it the lines of the GPUs and the stack have a few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.coords import coord

_HEAD = regex(r"rocm-doctor (\d[\w.+]*), matrix (\d[\d.]*): (\S.*)")
_MARKED = regex(r"([✓✗!?·]) (\S.*)")
_NAMED = regex(r"  (error|warning|note)(, likely|, a hypothesis)? · ([a-z]+\.[\w.-]+)(?: \[([\w.-]+)\])?$")
_LABEL = regex(r"  (why|read|not|do|then|settle|says|also|causes)(?:\s+(\S.*))?$")
_NOTE = regex(r"(.*?)\s+\[([\w.-]+)\]$")
_GPU = regex(
    r"  GPU (\d{1,3})(?:-(\d{1,3}))?\s{2,}(?:\d+ × )?(.*?)\s*\((gfx\w+)\)(?: (\d+) CUs)?(?: ([\d.]+) GiB)?(?:.*?\s(APU))?"
)
_STACK = regex(r"(kernel|driver|ROCm|torch|Python) ([^\s,]+)")
_FACT = regex(r"  ([a-z][\w.-]*|gpus\[\d+\]\.\w+): (.*?)(?: \[([^\s\]]+)(?: ([^\]]*))?\])?$")
_MORE = regex(r"  \d+ (?:judgements? needs? facts|checks? skipped)|  [Rr]un this where it fails|  What these print would")
_READING = regex(r"(\S+) (line \d+): (.*)")
_SURE = {None: "high", ", likely": "medium", ", a hypothesis": "low"}
_FACTS = {
    "kernel": "kernel",
    "driver": "driver.version",
    "ROCm": "rocm.version",
    "torch": "torch.version",
    "Python": "python.version",
}
_VERDICTS = {"✓": "ready", "✗": "problems", "!": "problems", "?": "undetermined"}
_UNTESTED = regex(r"; not tested: .*|; ran: .*")
_TICKS = (
    (regex(r"  ✓ access\s+(?:/dev/kfd|a program)"), "kfd.openable", True),
    (regex(r"  ✓ access\s+/dev/dxg"), "dxg.exists", True),
    (regex(r"  ✓ access\s+no device node on Windows"), "platform", "windows"),
    (regex(r"  ✓ driver\s+WSL"), "wsl", True),
    (regex(r"  ✓ torch\s.* built for ROCm"), "torch.build", "rocm"),
)
"""What a tick proves, where no fact is listed."""
_UNKNOWN = regex(
    r"unknown|not declared|tool missing|not permitted to read|not understood|timed out|tool crashed|not found|ambiguous|gfx\w+ or .*"
)
Lines = Sequence[str]
Sections = dict[str, list[str]]


def terminal_reports(lines: Lines) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(first line, line behind the last one, report) of each report in the text."""
    place = 0
    while place < len(lines):
        head = _HEAD.fullmatch(lines[place].rstrip())
        found = _report(head, lines, place) if head else None
        if found:
            yield place, found[0], found[1]
        place = found[0] if found else place + 1


def _report(head: re.Match[str], lines: Lines, start: int) -> tuple[int, dict[str, Any]] | None:
    """The report under its head line, and where it ends: at its verdict, the one marked line that names no diagnosis."""
    findings: list[dict[str, Any]] = []
    sections: Sections = {"": []}
    section, place = "", start + 1
    while place < len(lines) and not _HEAD.fullmatch(lines[place].rstrip()):
        line = lines[place].rstrip()
        marked = _MARKED.fullmatch(line)
        if not marked:
            section = line if line in ("Read", "Undecided: missing facts") else section
            sections.setdefault(section, []).append(line)
            place += 1
            continue
        title, place = _join_title(marked[2], lines, place + 1)
        named = _NAMED.fullmatch(lines[place].rstrip()) if place < len(lines) else None
        if named:
            body, place = _body(lines, place + 1)
            findings.append(_finding(title, named, body))
        elif marked[1] == "·":
            note = _NOTE.fullmatch(title)
            findings += [_note(note)] if note else []
        else:
            return _end(lines, place), _whole(head, _VERDICTS[marked[1]], title, findings, sections)
    # A report on a repository has its verdict above the head line.
    return (place, _whole(head, "problems", findings[0]["title"], findings, sections)) if findings else None


def _whole(head: re.Match[str], verdict: str, summary: str, findings: list[dict[str, Any]], sections: Sections) -> dict[str, Any]:
    return {
        "schema_version": 2, "tool_version": head[1], "matrix_version": head[2], "source": head[3],
        "kind": "repository" if head[3].startswith("repository ") else "capture", "verdict": verdict,
        "summary": _UNTESTED.sub("", summary), "findings": findings, "undecided": [], "snapshot": _snapshot(sections),
    }  # fmt: skip


def _join_title(first: str, lines: Lines, place: int) -> tuple[str, int]:
    """A title with the lines that continue it, and the line behind them."""
    words = [first]
    while (
        place < len(lines) and re.match(r"  \S", lines[place]) and not (_NAMED.match(lines[place]) or _MORE.match(lines[place]))
    ):
        words.append(lines[place].strip())
        place += 1
    return " ".join(words), place


def _body(lines: Lines, place: int) -> tuple[dict[str, list[str]], int]:
    """The labelled lines of a finding, up to the blank line behind it."""
    body: dict[str, list[str]] = {}
    label = ""
    while place < len(lines) and lines[place].strip():
        found = _LABEL.match(lines[place].rstrip())
        label = found[1] if found else label
        words = (found[2] or "") if found else lines[place].strip()
        body.setdefault(label, []).append(words)
        place += 1
    return body, place


def _finding(title: str, named: re.Match[str], body: dict[str, list[str]]) -> dict[str, Any]:
    read = [m for words in _items(body.get("read", [])) if (m := _READING.match(words))]
    advice, commands = _advice(body.get("do", []))
    return {
        "id": named[3], "row": named[4] or "", "title": title, "severity": named[1], "confidence": _SURE[named[2]],
        "cause": " ".join(body.get("why", [])), "advice": advice, "commands": commands, "verify": _advice(body.get("then", []))[1],
        "evidence": [{"artifact": m[1], "place": m[2], "quote": m[3]} for m in read], "sources": _sources(body.get("says", [])),
    }  # fmt: skip


def _note(found: re.Match[str]) -> dict[str, Any]:
    """A note of one line names its row, or its diagnosis where no row made it."""
    name = found[2]
    return {
        "id": name if "." in name else "", "row": "" if "." in name else name, "title": found[1], "severity": "note",
        "confidence": "high", "cause": "", "status": "works",
    }  # fmt: skip


def _items(lines: Lines) -> list[str]:
    """Wrapped readings, each joined again."""
    items: list[str] = []
    for line in lines:
        if items and not _READING.match(line):
            items[-1] += " " + line
        else:
            items.append(line)
    return items


def _advice(lines: Lines) -> tuple[str, list[dict[str, str]]]:
    """Words, and commands: those behind a `$`. A command alone on its line has none and is left out."""
    words = [line for line in lines if line and not line.startswith(("$ ", "("))]
    return " ".join(words), [{"run": line[2:]} for line in lines if line.startswith("$ ")]


def _sources(lines: Lines) -> list[str]:
    return [one.strip() for one in re.sub(r"^\w+: ", "", " ".join(lines)).split("; ") if one.strip()]


def _snapshot(sections: Sections) -> dict[str, Any]:
    """The facts under `Read`, before those of the lines on GPUs, stack and checks."""
    facts: dict[str, Any] = {}
    gpus: list[dict[str, Any]] = []
    for line in _unwrap(sections[""], 9):
        if found := _GPU.match(line):
            gpus += [_gpu(found, line) for _ in range(int(found[1]), int(found[2] or found[1]) + 1)][: 256 - len(gpus)]
        elif line.startswith("  stack "):
            facts |= {_FACTS[m[1]]: _fact(m[2], line) for m in _STACK.finditer(line)}
        else:
            facts |= {name: _fact(value, line) for pattern, name, value in _TICKS if pattern.match(line)}
    for line in _unwrap(sections.get("Read", []), 6):
        if found := _FACT.fullmatch(line):
            _put(facts, gpus, found, line)
    return {"facts": facts, "gpus": [{"facts": gpu} for gpu in gpus], "gpus_listed": bool(gpus)}


def _unwrap(lines: Lines, indent: int) -> list[str]:
    """Each entry on one line again: a continuation is indented by `indent`."""
    out: list[str] = []
    for line in lines:
        if out and line.startswith(" " * indent) and line[indent : indent + 1].strip():
            out[-1] += " " + line.strip()
        else:
            out.append(line)
    return out


def _gpu(found: re.Match[str], line: str) -> dict[str, Any]:
    _, _, name, gfx, units, memory, apu = found.groups()
    facts: dict[str, Any] = {"gfx": gfx, "marketing_name": name or None, "compute_units": int(units) if units else None}
    facts |= {"vram_bytes": round(float(memory) * 2**30) if memory else None, "is_apu": True if apu else None}
    return {key: _fact(value, line) for key, value in facts.items() if value is not None}


def _put(facts: dict[str, Any], gpus: list[dict[str, Any]], found: re.Match[str], line: str) -> None:
    """One fact of the list, with its reading."""
    name, words, artifact, place = found.groups()
    of_gpu = re.fullmatch(r"gpus\[(\d+)\]\.(\w+)", name)
    known = coord("gpu." + of_gpu[2] if of_gpu else name)
    if known is None or _UNKNOWN.fullmatch(words):
        return
    fact = _fact(_value(words, known.kind), line, artifact or "", place or "")
    if not of_gpu:
        facts[name] = fact
    elif int(of_gpu[1]) < len(gpus):
        gpus[int(of_gpu[1])][of_gpu[2]] = fact


def _value(words: str, kind: str) -> Any:
    if words == "absent":
        return None
    if kind == "flag":
        return words == "True"
    if kind == "number":
        return int(words) if re.fullmatch(r"-?\d{1,18}", words) else None
    return words.split(", ") if kind == "list" else words


def _fact(value: Any, line: str, artifact: str = "report", place: str = "") -> dict[str, Any]:
    return {"value": value, "readings": [{"artifact": artifact, "place": place, "quote": line.strip()[:200]}]}


def _end(lines: Lines, place: int) -> int:
    """The line behind the report: its questions and the count of judgements come after the verdict."""
    while place < len(lines) and _MORE.match(lines[place]):
        asks = not lines[place].strip()[0].isdigit()
        place += 1
        if asks:
            while place < len(lines) and lines[place].strip():  # the request may be wrapped
                place += 1
            place += 1
            while place < len(lines) and lines[place].strip():
                place += 1
            place += 1
    return place
