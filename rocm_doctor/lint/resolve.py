"""The packages that uv resolves for a target, judged as if they were installed.

Index order, markers and extras are uv's own; a lock is taken as it is. Nothing is installed; the index is asked over the network.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from rocm_doctor.lint import catalog
from rocm_doctor.lint.judge import Result
from rocm_doctor.lint.model import LISTS, OTHER, Environment, LintTarget
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Report, Subject
from rocm_doctor.rules.findings import finding
from rocm_doctor.workers.process import run

SECONDS = 300
DEFAULT_PYTHON = "3.12"
_LINE = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)")
_PLATFORMS = {"linux": "x86_64-unknown-linux-gnu", "wsl": "x86_64-unknown-linux-gnu", "windows": "x86_64-pc-windows-msvc"}
_OFFLINE = re.compile(
    r"error sending request|connection (?:refused|reset|error)|timed out|dns|name resolution|failed to fetch", re.I
)


class Resolution(NamedTuple):
    """What a resolver answered. `packages`: versions by name; `failure`: why there is none: `unreachable` (an index did not answer),
    `unsolvable`, or `no-resolver`; `words`: what it printed."""

    tool: str
    packages: dict[str, str]
    failure: str = ""
    words: str = ""


def resolve(root: Path, environment: Environment, target: LintTarget) -> Resolution:
    """The packages of an environment on the target's system and Python, as uv exports its lock (no index is asked) or resolves them."""
    uv = shutil.which("uv")
    if uv is None:
        return Resolution("uv", {}, "no-resolver", "uv is not installed")
    target = msgspec.structs.replace(target, python=".".join((target.python or DEFAULT_PYTHON).split(".")[:2]))
    extra = ("--extra", environment.label) if environment.label else ()
    lock = root / Path(environment.file).with_name("uv.lock")
    is_locked = environment.kind == "project" and lock.is_file()
    if is_locked:
        command = [uv, "export", "--frozen", "--no-hashes", "--no-emit-project", "--no-dev"]
    else:
        command = [uv, "pip", "compile", environment.file, "--python", sys.executable, "--python-version", target.python,
                   "--python-platform", _PLATFORMS[target.os]]  # fmt: skip
    done = run(
        [*command, "--no-header", "--no-annotate", "--quiet", *extra], limit=SECONDS, cwd=str(lock.parent if is_locked else root)
    )
    tool = "uv.lock" if is_locked else "uv"
    if done.returncode != 0:
        failure = "no-resolver" if is_locked else "unreachable" if _OFFLINE.search(done.stderr) else "unsolvable"
        return Resolution(tool, {}, failure, " ".join(done.stderr.split())[-600:])
    lines = (line.partition(" ; ") for line in done.stdout.splitlines())
    matches = ((m, marker) for line, _, marker in lines if (m := _LINE.match(line)))
    return Resolution(tool, {m[1].lower(): m[2] for m, marker in matches if catalog.applies(marker.strip(), target)})


def findings(
    result: Result, target: LintTarget, matrix: Matrix, shown: Callable[[str], str], judge: Callable[..., Report]
) -> Iterator[tuple[str, list[Finding]]]:
    """(words, findings) for each environment for AMD GPUs that a resolver takes: what was done, and what is wrong with the
    packages. `judge`: pipeline.judge_packages."""
    from rocm_doctor.sources import declared

    machine = declared.DeclaredMachine(target.gpu, rocm=target.rocm, driver=target.driver, os=target.os)
    python = ".".join((target.python or DEFAULT_PYTHON).split(".")[:2])
    for row in result.rows:
        env = row.environment
        if env.kind not in LISTS or row.audience not in ("amd", "main") or row.cells.get(target.gpu) == OTHER:
            continue
        answer = resolve(result.tree.root, env, target)
        name = shown(env.name)
        subject = f"{name}, as {answer.tool} resolves it for Python {python}"
        if answer.failure == "unsolvable":
            where = Reading(shown(env.file), f"line {env.place.line}", answer.words)
            yield f"{name}: {answer.tool} finds no solution", [
                finding(matrix, "version.wheel-missing/unsolvable", [where], subject=Subject(subject, "environment"),
                        tool=answer.tool, name=name, words=answer.words[-300:])
            ]  # fmt: skip
        elif answer.failure:
            yield f"{name}: not resolved: {'an index did not answer' if answer.failure == 'unreachable' else answer.words}", []
        else:
            judged = judge(answer.packages, machine, matrix, python=python)
            word = f"torch {answer.packages['torch']}" if "torch" in answer.packages else "no torch"
            serious = [f for f in judged.findings if f.severity != "note"]
            serious = [msgspec.structs.replace(f, subject=subject, subject_kind="environment") for f in serious]
            state = "judged" if judged.verdict != "undetermined" else "open"
            yield f"{name}: {answer.tool} takes {word} ({len(answer.packages)} packages, {state})", serious
