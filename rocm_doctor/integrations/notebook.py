"""`%load_ext rocm_doctor` in IPython and Jupyter: the magics `%rocm_doctor` and `%%rocm_doctor`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from rocm_doctor.matrix import load

if TYPE_CHECKING:
    from rocm_doctor.model import Report


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the magics."""
    shell.register_magic_function(lambda line, cell=None: magic(line, shell, cell), "line_cell", "rocm_doctor")


def magic(line: str, shell: Any, cell: str | None = None) -> Report | None:
    """`%%rocm_doctor` returns the report on the cell, a pasted log. `%rocm_doctor check [PATH…]` returns the report on this machine or on files, `%rocm_doctor why` the one on the last exception.

    Any other command of rocm-doctor prints what it prints in a terminal.
    """
    from rocm_doctor import api

    command, *arguments = shlex.split(line) or ["check"]
    if cell is not None:
        if command != "check" or arguments:
            raise ValueError(f"%%rocm_doctor {line}: the cell is judged by `check`, which takes nothing beside it")
        return api.check(text=cell)
    if command == "check" and not any(one.startswith("-") for one in arguments):
        return api.check(*arguments)
    if command == "why":
        return why()
    _in_terminal([command, *arguments], shell)
    return None


def why() -> Report:
    """The report on this machine with the last uncaught exception as its failing log. Raises ValueError if there was none."""
    from rocm_doctor import pipeline
    from rocm_doctor.integrations.ticket import traceback_log
    from rocm_doctor.sources.live import collect

    error = getattr(sys, "last_value", None)
    if error is None:
        raise ValueError("no exception was raised in this session")
    return pipeline.judge([*collect(tools=False), traceback_log(error)], load())


def _in_terminal(arguments: list[str], shell: Any) -> None:
    """Run a command of the command line with this notebook's interpreter."""
    shell.system(shlex.join([sys.executable, "-m", "rocm_doctor", *arguments]))
