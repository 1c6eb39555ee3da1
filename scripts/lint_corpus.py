"""Run `rocm-doctor lint` over real repositories at fixed commits and print what it finds, for a second reader to judge.

    python scripts/lint_corpus.py --mirror DIR [--set 'round 1'] [--gpu gfx1100 ...] [--os windows] [--out DIR]

The repositories and commits are in lint_corpus.yaml. DIR holds bare mirrors called OWNER+NAME (or OWNER+NAME/repo), as
`git clone --mirror` makes them; `--clone` makes those that are missing. Nothing of them is kept in this project.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
MAX_BLOB = 4 * 2**20


def git(directory: Path, *args: str, text: bytes = b"") -> bytes:
    return subprocess.run(["git", f"--git-dir={directory}", *args], input=text, capture_output=True, check=True).stdout


def mirror(folder: Path, name: str, clone: bool) -> Path | None:
    """The bare directory of a repository."""
    base = folder / name.replace("/", "+")
    for directory in (base / "repo", base):
        if (directory / "HEAD").exists():
            return directory
    if clone:
        subprocess.run(
            ["git", "clone", "--mirror", "--filter=blob:limit=4m", f"https://github.com/{name}.git", str(base)], check=True
        )
        return base
    return None


def checked_out(directory: Path, commit: str, into: Path) -> int:
    """Write the files of a commit; a file that is too large or that the mirror lacks is left out. Returns how many were written."""
    listed = git(directory, "ls-tree", "-r", "-z", "--full-tree", commit).decode("utf-8", "replace")
    wanted = [
        (row.split("\t", 1)[1], row.split()[2])
        for row in listed.split("\0")
        if row and row.split()[1] == "blob" and row[:6] != "120000"
    ]
    sizes = git(directory, "cat-file", "--batch-check", text="\n".join(blob for _, blob in wanted).encode()).decode().splitlines()
    there = [pair for pair, said in zip(wanted, sizes) if said.split()[1] == "blob" and int(said.split()[2]) <= MAX_BLOB]
    data = git(directory, "cat-file", "--batch", text="\n".join(blob for _, blob in there).encode())
    at = 0
    for path, _ in there:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        to = into / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data[end + 1 : end + 1 + size])
        at = end + size + 2
    return len(there)


def linted(root: Path, gpu: str, python: str, system: str) -> tuple[dict[str, Any], float]:
    """The report on a checkout, and the seconds that it took."""
    start = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "rocm_doctor",
        "lint",
        ".",
        "--gpu",
        gpu,
        "--python",
        python,
        "--os",
        system,
        "--format",
        "json",
        "--fail-on",
        "never",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    if done.returncode or done.stderr:
        raise SystemExit(f"{root.name} {gpu}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout), time.monotonic() - start


def lines_of(report: dict[str, Any]) -> Iterator[str]:
    for one in report["findings"]:
        if one["severity"] != "note":
            at = one["evidence"][0] if one["evidence"] else {}
            yield f"  {one['severity']} {one['id']} {one.get('row', '')} | {one['title']} | {at.get('artifact')} {at.get('place')} | {one.get('subject', '')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--set", help="seen, fresh, or the name of a round")
    parser.add_argument("--gpu", nargs="+", default=["gfx1100"])
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--os", choices=("linux", "windows"), default="linux")
    parser.add_argument("--only", default="")
    parser.add_argument("--clone", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    corpus = yaml.safe_load((HERE / "lint_corpus.yaml").read_text("utf-8"))
    for name, entry in corpus.items():
        directory = mirror(asked.mirror, name, asked.clone)
        if (asked.set and entry["set"] != asked.set) or asked.only not in name:
            continue
        if directory is None:
            print(f"== {name}: no mirror")
            continue
        root = Path(tempfile.mkdtemp(prefix="lint-corpus-"))
        try:
            count = checked_out(directory, entry["commit"], root)
            for gpu in asked.gpu:
                report, seconds = linted(root, gpu, asked.python, asked.os)
                print(
                    f"== {name} {entry['commit'][:12]} {gpu}, {count} files, {seconds:.1f} s: {report['verdict']}: {report['summary']}"
                )
                print("\n".join(lines_of(report)))
                if asked.out:
                    asked.out.mkdir(parents=True, exist_ok=True)
                    (asked.out / f"{name.replace('/', '+')}.{gpu}.json").write_text(json.dumps(report, indent=1))
        finally:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
