"""Entry for the examined interpreter: `python .../smoke/worker --results FILE --stages import,device,... [--device cuda:0]`."""

from __future__ import annotations

import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent

if not __package__:
    # Run as a folder: Python has put the folder first on sys.path, where our file names would shadow real packages.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != HERE]
    __package__ = "rocm_doctor_smoke_worker"
    _package = types.ModuleType(__package__)
    _package.__path__ = [str(HERE)]
    sys.modules[__package__] = _package

from .bench import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:])
