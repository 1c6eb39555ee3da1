"""Entry for a foreign interpreter: `python .../workers smoke '{"results": FILE, "stages": ["import"]}'` or `python .../workers fit JOB`.

One bootstrap for every stand-alone child. What it starts is Python 3.8 syntax, the standard library, and torch & co. inside
functions; nothing of rocm_doctor is imported, and the folder may be the only part of it that the interpreter can see.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "rocm_doctor_workers"


def start(worker: str, argv: list[str]) -> None:
    """Run one worker. The folder leaves sys.path, where its file names would shadow real packages."""
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(HERE)]
    sys.modules[PACKAGE] = package
    importlib.import_module(f"{PACKAGE}.{worker}.main").main(argv)


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2:])
