"""Environments as installers leave them: the files that say what is installed and for which GPUs, without the gigabytes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from forge_binaries import gpu_bundle, library

SITE = "lib/python3.12/site-packages"
HIP = {"5.2": "5.2.21151-afdc89f8", "5.6": "5.6.31061-8c743ae5d", "5.7": "5.7.31921-d1770ee1b", "6.3": "6.3.42131-fa1d09cbd",
       "6.4": "6.4.43484-123eb5128", "7.1": "7.1.25424-4179531dcd"}  # fmt: skip
BNB = "bitsandbytes/libbitsandbytes_rocm64.so"
FLASH = "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so"


def environment(folder: Path, packages: Mapping[str, str], code: Mapping[str, Sequence[str]] | None = None) -> Path:
    """A virtual environment with these packages, versions by name. `code`: the targets in a library, by its file in site-packages.

    torch's version file says what its local version says; a torch without one is the CUDA build, as on the package index.
    """
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\nversion = 3.12.3\n")
    site = folder / SITE
    for name, version in packages.items():
        (site / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
    if "torch" in packages:
        (site / "torch").mkdir()
        (site / "torch" / "version.py").write_text(version_py(packages["torch"]))
    for name, targets in (code or {}).items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(library(gpu_bundle(*targets), needed=("libamdhip64.so.6",)))
    return folder


def version_py(version: str) -> str:
    """torch/version.py of a wheel of this version."""
    local = version.partition("+")[2]
    hip = HIP.get(local.removeprefix("rocm")[:3], "") if "rocm" in local else ""
    cuda = "" if hip or local == "cpu" else "12.8"
    return f"__version__ = {version!r}\ndebug = False\ncuda: Optional[str] = {cuda or None!r}\nhip: Optional[str] = {hip or None!r}\n"
