"""What runs on each node: one command of the doctor under a time limit, its JSON with the node's name on it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fleet.nodeset import is_host_name
from rocm_doctor.reports.json import LIMIT
from rocm_doctor.workers import process

COMMANDS = {
    "check": ("--format", "json", "--no-redact"),
    "smoke": ("--format", "json", "--no-redact"),
    "bench": ("--format", "json"),
}
"""Commands that a node can run, with what makes each print its whole report."""


def name(env: Mapping[str, str] = os.environ) -> str:
    """What Slurm calls this node, else its host name; other engines say it with --as."""
    host = env.get("SLURMD_NODENAME") or platform.node()
    return host if is_host_name(host) else "unnamed"


def answer(host: str, words: Sequence[str], limit: float) -> bytes:
    """The report as one line of JSON with `host`; or with `host` and `error`, why there is none.

    Never raises.
    """
    argv = [sys.executable, "-m", "rocm_doctor", *words, *COMMANDS[words[0]]]
    done = process.run(argv, limit=limit, cap=LIMIT)
    why = {
        "timeout": f"timed out after {limit:g} s",
        "capped": f"printed more than {LIMIT >> 20} MiB",
        "abandoned": f"timed out after {limit:g} s and could not be ended (uninterruptible sleep)",
        "interrupted": "interrupted",
    }.get(done.state, "")
    try:
        report = {} if why else jsons.decode(msgspec.json.format(done.stdout.encode(), indent=-1), dict[str, msgspec.Raw])
    except (Unreadable, msgspec.DecodeError) as exc:
        why = first_lines(done.stderr) or f"exit code {done.returncode}: {exc}"
    return silent_line(host, why) if why else msgspec.json.encode({**report, "host": host})


def silent_line(host: str, why: str) -> bytes:
    """The line of a node without a report."""
    return msgspec.json.encode({"host": host, "error": why})


def first_lines(text: str) -> str:
    """The first paragraph that has letters, on one line, at most 200 characters of it; of a Python traceback the line after it."""
    _, trace, after = text.partition("Traceback (most recent call last):")
    lines = text.splitlines() if not trace else [line for line in after.splitlines()[1:] if not line.startswith(" ")]
    start = next((n for n, line in enumerate(lines) if any(map(str.isalpha, line))), len(lines))
    end = next((n for n, line in enumerate(lines[start:], start) if not line.strip()), len(lines))
    return " ".join(" ".join(line for line in lines[start:end] if any(map(str.isalpha, line))).split())[:200]
