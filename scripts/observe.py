"""What the world has that the matrix does not know: new, gone and contradictory releases, with proposed rows.

    python scripts/observe.py -o observed                      ask the package index, the wheel listings and the release feeds
    python scripts/observe.py -o observed --record listings    the same, and keep every answer
    python scripts/observe.py -o observed --listings listings  judge answers that were kept; nothing is asked
    python scripts/observe.py -o observed --only pip           one kind alone: pip, wheels, feeds

Writes report.md and proposed.yaml. Proposals are drafts: a person reads the source, fills in what a listing does not say, and
moves them into compat_matrix. Exit code 0 whatever is found, 1 when no source answered.
"""

from __future__ import annotations

import argparse
import datetime
import html
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from packaging.version import InvalidVersion, Version

from rocm_doctor.matrix import Matrix, TorchBuild, load
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.versions import rocm_of_local, sort_key

SECONDS = 60
KINDS = ("pip", "wheels", "feeds")
FEEDS = {
    "torch": "https://github.com/pytorch/pytorch/releases.atom",
    "ROCm": "https://github.com/ROCm/TheRock/releases.atom",
}
_WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9_]+)-(?P<version>[^-]+)-(?P<python>cp\d+)-(?P<abi>cp\d+t?|abi3)-(?P<platform>[\w.]+)\.whl"
)
_TITLE = re.compile(r"<title>[^<]*?(\d+\.\d+(?:\.\d+)?)[^<]*</title>")


class Found(NamedTuple):
    """One difference between a source and the matrix. `kind`: new, gone, contradictory; `row`: the draft, where there is one."""

    kind: str
    what: str
    source: str
    row: str = ""


class Answers:
    """What each source says, asked live or read from a folder of kept answers."""

    def __init__(self, kept: Path | None = None, record: Path | None = None) -> None:
        self.kept, self.record = kept, record
        self.silent: dict[str, str] = {}

    def page(self, url: str) -> str | None:
        """The text at an address; None, and the reason noted, when there is none."""
        return self._answer(url, lambda: _fetched(url))

    def pip(self, package: str) -> str | None:
        """What `pip index versions` prints of a package."""
        return self._answer(f"pip index versions {package}", lambda: _pip(package))

    def _answer(self, name: str, ask: Callable[[], str]) -> str | None:
        path = (self.kept or self.record or Path()) / (quote(name, safe="") + ".txt")
        if self.kept:
            if not path.is_file():
                self.silent[name] = "not among the kept answers"
                return None
            return path.read_text(encoding="utf-8")
        try:
            text = ask()
        except (OSError, subprocess.SubprocessError) as exc:
            self.silent[name] = str(exc).splitlines()[0]
            return None
        if self.record:
            self.record.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return text


def _fetched(url: str) -> str:
    request = urllib.request.Request(url, headers={"User-Agent": "rocm-doctor-observe"})
    with urllib.request.urlopen(request, timeout=SECONDS) as reply:
        return str(reply.read(50_000_000).decode("utf-8", "replace"))


def _pip(package: str) -> str:
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, start_new_session=True, check=True)
    return done.stdout


def observe(matrix: Matrix, answers: Answers, kinds: Iterable[str] = KINDS) -> list[Found]:
    """Every difference, in the order of the sources."""
    looks = {"pip": packages, "wheels": wheels, "feeds": feeds}
    return [found for kind in kinds for found in looks[kind](matrix, answers)]


def packages(matrix: Matrix, answers: Answers) -> Iterator[Found]:
    """Releases of the packages of the catalog that the package index has and the catalog has not, and the reverse."""
    for package in (p for p in load_catalog(matrix).packages.values() if p.releases):
        text = answers.pip(package.name)
        listed = re.search(r"Available versions: (.*)", text or "")
        if not listed:
            continue
        there = {version.strip() for version in listed[1].split(",")}
        mine = [one.version for one in package.releases]
        source = f"the package index, {package.name}"
        last = max(mine, key=sort_key)
        newer = sorted((v for v in there if _final(v) and sort_key(v) > sort_key(last)), key=sort_key)
        if newer:
            draft = f'# package {package.name}: copy the ranges from the METADATA of {newer[-1]}\n- {{version: "{newer[-1]}"}}\n'
            yield Found("new", f"{package.name} {newer[-1]} (the catalog ends at {last}; {len(newer)} since)", source, draft)
        yield from (Found("gone", f"{package.name} {version}", source) for version in mine if version not in there)


def _final(version: str) -> bool:
    try:
        return not Version(version).is_prerelease
    except InvalidVersion:
        return False


def wheels(matrix: Matrix, answers: Answers) -> Iterator[Found]:
    """torch wheels of each listing that the catalog lacks, has and are gone, or describes otherwise."""
    catalog = load_catalog(matrix)
    places: dict[str, list[TorchBuild]] = {}
    for build in matrix.torch:
        index = catalog.build_index(build)
        if index and index.kind == "index" and not index.nightly:
            places.setdefault(index.url, []).append(build)
    for url, builds in places.items():
        address = url.rstrip("/") + "/torch/"
        page = answers.page(address)
        if page is None:
            continue
        there = torch_wheels(page)
        mine = {build.local: build for build in builds if build.local}
        for local in sorted(there.keys() - mine.keys(), key=sort_key):
            newest = max((sort_key(b.torch) for b in builds), default=())
            if sort_key(local.partition("+")[0]) >= newest:
                yield Found(
                    "new",
                    f"torch {local} for {', '.join(sorted(there[local].platforms))}",
                    url,
                    _draft(local, builds[0], there[local], address),
                )
        for local, build in mine.items():
            yield from _differences(build, there.get(local), url)


class Listed(NamedTuple):
    """What a listing shows of one version: Pythons (`3.14t`: without the GIL) and platforms."""

    pythons: frozenset[str]
    platforms: frozenset[str]


def torch_wheels(page: str) -> dict[str, Listed]:
    """The torch wheels that a listing (a simple index, or a folder) names, by version."""
    out: dict[str, tuple[set[str], set[str]]] = {}
    for found in _WHEEL.finditer(unquote(html.unescape(page))):
        if found["name"] == "torch":
            pythons, platforms = out.setdefault(found["version"], (set(), set()))
            tag = found["abi"] if found["abi"].startswith(found["python"]) else found["python"]  # cp314t, or abi3
            pythons.add(f"{tag[2]}.{tag[3:]}")
            platforms.add(found["platform"])
    return {version: Listed(frozenset(pythons), frozenset(platforms)) for version, (pythons, platforms) in out.items()}


def _differences(build: TorchBuild, listed: Listed | None, url: str) -> Iterator[Found]:
    seen = "observed" in build.evidence or "listed" in build.evidence
    if listed is None:
        kind = "gone" if seen else "contradictory"
        yield Found(kind, f"torch {build.local} ({build.evidence}) is not in the listing", url)
        return
    if not seen:
        yield Found("contradictory", f"torch {build.local} is listed, and the catalog has it as {build.evidence}", url)
    for field, mine, there in (("pythons", build.pythons, listed.pythons), ("platforms", build.platforms, listed.platforms)):
        if mine and set(mine) != there:
            less, more = sorted(set(mine) - there), sorted(there - set(mine))
            words = [f"without {', '.join(less)}"] * bool(less) + [f"with {', '.join(more)}"] * bool(more)
            yield Found("contradictory", f"torch {build.local}, {field}: the listing is {' and '.join(words)}", url)


def _draft(local: str, like: TorchBuild, listed: Listed, address: str) -> str:
    """An entry of catalog/torch.yaml with what the listing says; targets, companions and Triton are to be read elsewhere."""
    release = local.partition("+")[0]
    return (
        f'- key: "{local}"\n  torch: "{release}"\n  local: "{local}"\n  rocm: "{rocm_of_local(local) or like.rocm}"\n'
        f'  index: "{like.index}"\n  family: {like.family}\n  evidence: listed\n'
        f"  pythons: {sorted(listed.pythons, key=sort_key)}\n  platforms: [{', '.join(sorted(listed.platforms))}]\n"
        f'  sources: ["{address}, seen {datetime.date.today()}"]\n'
        f"  grade: upstream\n  checked: {datetime.date.today()}\n"
    )


def feeds(matrix: Matrix, answers: Answers) -> Iterator[Found]:
    """Releases that a project announces and that are newer than all of the catalog."""
    newest = {
        "torch": max((b.torch for b in matrix.torch), key=sort_key, default=""),
        "ROCm": max((r.version for r in matrix.rocm if r.date), key=sort_key, default=""),
    }
    for name, url in FEEDS.items():
        page = answers.page(url)
        announced = {found for found in _TITLE.findall(page or "") if sort_key(found) > sort_key(newest[name])}
        yield from (
            Found("new", f"{name} {version} is announced (the catalog ends at {newest[name]})", url)
            for version in sorted(announced, key=sort_key)
        )


def report(found: list[Found], answers: Answers, matrix: Matrix) -> str:
    """The differences as markdown, and the sources that did not answer."""
    lines = [f"# Observed on {datetime.date.today()}, matrix {matrix.version}", ""]
    for kind in ("new", "gone", "contradictory"):
        of_kind = [one for one in found if one.kind == kind]
        lines += [f"## {kind.capitalize()} ({len(of_kind)})", "", *(f"- {one.what} ({one.source})" for one in of_kind), ""]
    lines += [f"## No answer ({len(answers.silent)})", "", *(f"- {name}: {why}" for name, why in answers.silent.items()), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for report.md and proposed.yaml")
    parser.add_argument("--listings", type=Path, help="judge the answers kept in this folder")
    parser.add_argument("--record", type=Path, help="keep every answer in this folder")
    parser.add_argument("--only", choices=KINDS, action="append")
    request = parser.parse_args()
    matrix = load()
    answers = Answers(request.listings, request.record)
    found = observe(matrix, answers, request.only or KINDS)
    request.output.mkdir(parents=True, exist_ok=True)
    (request.output / "report.md").write_text(report(found, answers, matrix), encoding="utf-8")
    drafts = "\n".join(one.row for one in found if one.row)
    (request.output / "proposed.yaml").write_text(drafts, encoding="utf-8")
    print(f"{len(found)} differences, {len(answers.silent)} sources without an answer; {request.output}")
    return 0 if found or not answers.silent else 1


if __name__ == "__main__":
    sys.exit(main())
