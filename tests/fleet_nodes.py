"""Nodes for the tests of `fleet`: file system roots with eight MI300X each, and a doctor that reads the root of its node."""

from __future__ import annotations

import shutil
import sys
import venv
from pathlib import Path

from faketools import Card, machine, write

CARDS = [
    Card(90402, 0x74A1, f"0000:{n * 16 + 5:02x}:00.0", 304, 192 << 30, 64 << 30, 64, 128 + n, simds_per_unit=4) for n in range(8)
]


def well(root: Path, name: str) -> None:
    """Node `name` is ready to train."""
    shutil.rmtree(root / name, ignore_errors=True)
    machine(root / name, *CARDS, dkms="6.12.12")


def sick(root: Path, name: str) -> None:
    """The driver of node `name` has not claimed its GPUs."""
    shutil.rmtree(root / name, ignore_errors=True)
    machine(root / name, *(card._replace(driver="") for card in CARDS), dkms="6.12.12")
    shutil.rmtree(root / name / "sys/class/kfd", ignore_errors=True)


def nodes(root: Path, count: int) -> Path:
    """That many nodes, of which `n2` is sick, and their doctor."""
    for n in range(1, count + 1):
        well(root, f"n{n}")
    sick(root, "n2")
    doctor(root)
    return root


def doctor(root: Path) -> Path:
    """A program that checks the root of the node whose name it is given, as the doctor does with /."""
    venv.create(root / "train", with_pip=False)
    site = next((root / "train").glob("lib/python*/site-packages"))
    text = "__version__ = '2.9.1+rocm6.4'\ndebug = False\ncuda = None\nhip = '6.4.43484-123eb5128'\n"
    metadata = "Name: torch\nVersion: 2.9.1+rocm6.4\n"
    write(site, {"torch/version.py": text, "torch-2.9.1+rocm6.4.dist-info/METADATA": metadata})
    program = root / "doctor"
    program.write_text(
        f"""#!{sys.executable}
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
words = sys.argv[1:]
name = words[words.index("--as") + 1] if "--as" in words else os.environ.get("SLURMD_NODENAME", "n1")
behind = words.index("check") + 1 if "check" in words else len(words)
if "check" in words:
    words[behind:behind] = ["--sysroot", {str(root)!r} + "/" + name, "--python", {str(root / "train")!r}]
os.environ["PYTHONPATH"] = sys.path[0]
fault = Path({str(root)!r}) / (name + ".fault")
if fault.exists() and "node" in words:
    exec(fault.read_text())
from rocm_doctor.cli import main
sys.argv[1:] = words
main()
"""
    )
    program.chmod(0o755)
    return program
