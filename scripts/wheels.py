"""Write the `wheels` of compat_matrix/catalog/packages anew: from which release on a package has a wheel for a Python, by the package index.

    python scripts/wheels.py [--index https://pypi.org/simple]

One request for each package that has them already. Names, `fails` (what was tried by hand), an empty `first` (the source simply builds),
the entries `through` another package and those of packages that get no releases any more stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import urllib.request
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

FOLDER = Path(__file__).parent.parent / "compat_matrix" / "catalog" / "packages"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in range(40, 4, -1)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]


class Release:
    """The files of one release: tags of its wheels, whether it has a source archive, and what it says of Python."""

    def __init__(self, python: str) -> None:
        self.tags: set[Tag] = set()
        self.sdist = False
        self.python = SpecifierSet(python)

    def takes(self, python: str) -> bool:
        return self.python.contains(python + ".0")

    def has_wheel(self, python: str) -> bool:
        return self.takes(python) and bool(self.tags & tags(python))


def tags(python: str) -> set[Tag]:
    """The tags of wheels that pip takes on Linux with that Python."""
    major, minor = map(int, python.split("."))
    known = cpython_tags((major, minor), platforms=PLATFORMS)
    return {*known, *compatible_tags((major, minor), interpreter=f"cp{major}{minor}", platforms=PLATFORMS)}


def releases(index: str, name: str) -> dict[Version, Release]:
    """The final releases of a package that are not yanked; 0.0.0 only keeps a name."""
    request = urllib.request.Request(f"{index}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files: list[dict[str, Any]] = json.load(answer)["files"]
    found: dict[Version, Release] = {}
    for file in files:
        name_, python = file["filename"], file.get("requires-python") or ""
        try:
            version, kinds = (parse_wheel_filename(name_)[1], parse_wheel_filename(name_)[3]) if name_.endswith(".whl") else (
                parse_sdist_filename(name_)[1], frozenset[Tag]())  # fmt: skip
            release = found.setdefault(version, Release(python))
        except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion, ValueError):
            continue
        release.tags |= kinds
        release.sdist = release.sdist or not kinds
        if file.get("yanked"):
            found.pop(version)
    return {version: one for version, one in found.items() if not version.is_prerelease and version > Version("0")}


def refusing(found: dict[Version, Release], python: str, first: Version | None) -> Iterator[str]:
    """Runs of releases before the first wheel that pip does not take at all: Requires-Python leaves the Python out, or there is
    no archive.
    """
    below = sorted(v for v in found if first is None or v < first)
    for takes, run in groupby(below, key=lambda v: found[v].sdist and found[v].takes(python)):
        versions = list(run)
        if not takes:
            yield f"=={versions[0]}" if len(versions) == 1 else f">={versions[0]},<={versions[-1]}"


def entry(old: dict[str, Any], found: dict[Version, Release], today: str) -> Iterator[str]:
    """The lines of one package: the first release with a wheel for each Python, where there were releases before it."""
    first = {python: min((v for v, one in found.items() if one.has_wheel(python)), default=None) for python in PYTHONS}
    shown = {p: str(v or "none") for p, v in first.items() if None in first.values() or v is None or v > min(found)}
    last = {python: max((v for v, one in found.items() if one.takes(python)), default=max(found)) for python in PYTHONS}
    below = [one for v, one in found.items() if any(f is None or v < f for f in first.values())]
    yield f"- name: {old['name']}"
    yield "  first: {" + ", ".join(f'"{p}": "{v}"' for p, v in shown.items() if old["first"]) + "}"
    if ended := {p: v for p, v in last.items() if v < max(found)}:
        yield "  last: {" + ", ".join(f'"{p}": "{v}"' for p, v in ended.items()) + "}"
    sdist = any(one.sdist for one in below)
    yield f"  sdist: {str(sdist).lower()}"
    refused = {p: ", ".join(f'"{run}"' for run in refusing(found, p, f)) for p, f in first.items()} if sdist else {}
    yield from ["  refused:"] * any(refused.values())
    yield from (f'    "{p}": [{runs}]' for p, runs in refused.items() if runs)
    if old.get("fails"):
        yield "  fails: {" + ", ".join(f'"{p}": "{spec}"' for p, spec in old["fails"].items()) + "}"
    yield f'  sources: ["https://pypi.org/project/{old["name"]}/#files, seen {today}"]'
    yield "  grade: official"
    yield f"  checked: {today}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", default="https://pypi.org/simple")
    parser.add_argument("--today", required=True, help="the day that the file names, as 2026-11-22")
    given = parser.parse_args()
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text("utf-8")
        for old in yaml.safe_load(text).get("wheels", []):
            if "through" not in old and "releases" not in old:
                lines = "\n".join(entry(old, releases(given.index, old["name"]), given.today)) + "\n"
                before = rf"(?<=\n)- name: {re.escape(old['name'])}\n  first:.*\n(?:  .*\n)*"
                text = re.sub(before, lines.replace("\\", r"\\"), text)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
