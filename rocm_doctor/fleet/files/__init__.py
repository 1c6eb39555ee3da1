"""Files for other programs, as they are: hooks for Slurm, node-problem-detector, node-feature-discovery and node_exporter."""

from __future__ import annotations

from pathlib import Path

NAMES = ("slurm.sh", "npd.json", "npd.sh", "nfd.sh", "textfile.sh")


def text(name: str) -> str:
    """The file of that name. Raises KeyError."""
    if name not in NAMES:
        raise KeyError(name)
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
