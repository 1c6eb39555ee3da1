"""The tools' work: the command line in a child process, with limits of time and output. Nothing is imported or judged in the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rocm_doctor.workers.process import MIB, run

LIMIT = 120.0
"""Seconds of one call. `lint` of a large repository takes three, a simulation of `fit` up to a minute."""
# `-m` and `-c` would put the working directory, which may be a stranger's repository, before the installed packages.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from rocm_doctor.cli import main; main()"


class Failed(Exception):
    """The command could not answer; the text has its message."""


def answer(arguments: Sequence[str], cwd: Path) -> str:
    """What the command prints. Exit codes 1 (findings) and 3 (undetermined) are answers. Raises Failed."""
    # The agent is a reader itself: no other one is asked.
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROCM_DOCTOR_READER")}
    done = run([sys.executable, "-c", _START, *arguments], limit=LIMIT, cap=8 * MIB, cwd=str(cwd), env=env)
    if done.state == "capped":
        return done.stdout
    if done.state != "finished":
        raise Failed(f"rocm-doctor {arguments[0]}: {done.state} after {done.seconds:.0f} s")
    if done.returncode not in (0, 1, 3):
        raise Failed(done.stderr.strip()[-2000:] or f"rocm-doctor {arguments[0]} ended with {done.returncode}")
    return done.stdout


class Roots:
    """The folders that tools may read: paths are resolved first, so a link leads nowhere else."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [folder.resolve() for folder in folders]

    def inside(self, path: str) -> str:
        """The resolved path. Raises Failed for one outside of the roots."""
        found = (self.folders[0] / path).resolve()
        if not any(found.is_relative_to(folder) for folder in self.folders):
            raise Failed(f"{path}: outside of the folders that may be read; start `rocm-doctor mcp` with --root")
        return str(found)
