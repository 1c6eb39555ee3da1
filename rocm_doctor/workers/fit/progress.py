"""What the worker is doing and how far it is, as lines of JSON on standard output, before the one with the result."""

from __future__ import annotations

import json
import sys
import time

EVERY = 0.5
"""Seconds between lines at least: a layer of a small model takes milliseconds."""
_last = [0.0]


def tell(doing: str, always: bool = False) -> None:
    """Say what is being done. `always`: also if the last line is younger than `EVERY`."""
    now = time.monotonic()
    if always or now - _last[0] >= EVERY:
        _last[0] = now
        sys.stdout.write("\n" + json.dumps({"doing": doing}) + "\n")
        sys.stdout.flush()
