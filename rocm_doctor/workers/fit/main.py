"""Entry point: `main([path])` reads a job as JSON from a file and prints one line of JSON, the result or what went wrong."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import warnings


def main(argv: list[str]) -> None:
    """Entry point of the worker."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    job = json.loads(pathlib.Path(argv[0]).read_text())
    try:
        from .simulate import simulate

        result = dict(simulate(job), versions=versions())
    except Exception as error:  # the parent prints the message; a traceback would hide the one line that matters
        result = {"error": type(error).__name__ + ": " + str(error)[:2000]}
    sys.stdout.write("\n" + json.dumps(result, separators=(",", ":")) + "\n")


def versions() -> dict[str, str]:
    """Versions of what was run, by name; missing packages are left out."""
    imported = [name for name in ("torch", "transformers", "peft") if name in sys.modules]
    return {name: getattr(sys.modules[name], "__version__", "") for name in imported}
