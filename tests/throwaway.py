"""Throw-away virtual environments and wheels, for the tests of `fix`."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path


def wheel(folder: Path, name: str, version: str, requires: tuple[str, ...] = (), modules: int = 1) -> None:
    """A wheel with empty modules, as small as pip takes it."""
    under = name.replace("-", "_")
    dist = f"{under}-{version}"
    needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {
        **{f"{under}/part{n}.py": f"version = {version!r}\n" for n in range(modules)},
        f"{dist}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{dist}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in files) + f"{dist}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{dist}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{dist}.dist-info/RECORD": record}.items():
            archive.writestr(path, text)


def contents(venv: Path) -> dict[str, str]:
    """Every file of packages and programs with its digest; compiled modules are left out."""
    folders = [*venv.glob("lib/python*/site-packages"), venv / "bin"]
    files = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {
        str(path.relative_to(venv)): str(path.readlink()) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_symlink() or path.is_file()
    }
