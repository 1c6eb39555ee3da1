"""Child processes: starting and ending them (process.py, child.py, guard.py), and the stand-alone programs that another interpreter runs.

`python .../workers NAME ARGS` starts one of those (`__main__.py`): smoke (with the stages of bench), rank, fit, tune. They import
nothing of rocm_doctor.
"""

from __future__ import annotations

from pathlib import Path

START = str(Path(__file__).resolve().parent)
"""The folder that a foreign interpreter is given to run, before the worker's name and its arguments."""
