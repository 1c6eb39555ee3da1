"""Files for other programs: hooks for Slurm, NHC and Kubernetes, a timer, metrics, alert rules and a dashboard.

`@doctor@` in them means the program that starts the doctor, with its path: what a daemon has on its PATH is not what a person has.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
NAMES = tuple(sorted(file.name for file in _FOLDER.iterdir() if file.suffix not in (".py", "") and file.is_file()))


def text(name: str) -> str:
    """The file of that name, for this installation. Raises KeyError."""
    if name not in NAMES:
        raise KeyError(name)
    return (_FOLDER / name).read_text(encoding="utf-8").replace("@doctor@", shlex.quote(str(program())))


def program() -> Path:
    """The `rocm-doctor` beside the interpreter that runs this."""
    return Path(sys.executable).with_name("rocm-doctor")
