"""Entry for the examined interpreter: `python .../smoke/worker --results FILE --stages import,device,... [--device cuda:0]`."""

from __future__ import annotations

import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))

if not __package__:
    # Run as a folder: Python has put the folder first on sys.path, where our file names would shadow real packages.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != HERE]
    __package__ = "rocm_doctor_smoke_worker"
    _package = types.ModuleType(__package__)
    _package.__path__ = [HERE]
    sys.modules[__package__] = _package

from .bench import main

if __name__ == "__main__":
    main(sys.argv[1:])
