"""Follow what lint advises, line by line, and judge the repository again: is the finding gone, and did nothing new come?

    python scripts/follow_advice.py --mirror DIR [--set 'round 1'] [--gpu gfx1100]

The repositories and mirrors are those of lint_corpus.py. Advice that names no line, or that asks for something to be added elsewhere, is not followed.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml
from lint_corpus import HERE, checked_out, mirror

from rocm_doctor.lint import readers
from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.judge import lint
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Finding

_LINES = r"lines? (?P<lines>\d+(?:(?:, | and )\d+)*) of (?P<file>\S+?)"
_END = r"[.,:](?=\s|$)"
_VALUE = r"(=|: *)(\"[^\"]*\"|'[^']*'|[^\s\\]*)"
Edit = tuple[str, int, Callable[[str], str]]


def followed(root: Path, advice: str) -> int:
    """How many lines were changed as the advice says."""
    count = 0
    for file, line, change in sorted(_edits(advice), key=lambda edit: -edit[1]):
        path = root / file
        if not path.is_file():
            continue
        lines = path.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
        if 0 < line <= len(lines):
            end = line
            while lines[end - 1].rstrip().endswith("\\") and end < len(lines):  # a command may go on over several lines
                end += 1
            before = "".join(lines[line - 1 : end])
            after = change(before)
            lines[line - 1 : end] = after.splitlines(keepends=True)
            count += after != before
            path.write_text("".join(lines), "utf-8", "surrogateescape")
    return count


def _edits(advice: str) -> list[Edit]:
    found: list[Edit] = []
    for pattern, make in _FORMS:
        for m in re.finditer(pattern, advice):
            found += [(m["file"], int(line), make(m)) for line in re.findall(r"\d+", m["lines"])]
    return found


def _without(m: re.Match[str]) -> Callable[[str], str]:
    """Without a variable and its value, or without the requirement of a list."""
    name = re.escape(m["name"])
    return lambda line: re.sub(rf"^{name}(?:\[.*\])?[=<>!~ ]=.*\n|(?:-e |-D)?{name}{_VALUE} ?", "", line)


def _set(m: re.Match[str]) -> Callable[[str], str]:
    return lambda line: re.sub(re.escape(m["name"]) + _VALUE, lambda v: f"{m['name']}{v[1]}{m['value']}", line)


def _required(m: re.Match[str]) -> Callable[[str], str]:
    name = re.match(r"[\w.-]+", m["asked"])
    words = re.escape(name[0] if name else m["asked"]).replace(r"\-", "[-_.]")
    return lambda line: re.sub(
        rf"(?i)(?<![\w./-]){words}(\[[^\]]*\])?\s*([=<>!~]=?[^\s\"';,\\]*)?(,[<>=!~]=?[^\s\"';,\\]*)*", m["asked"], line, count=1
    )


def _option(m: re.Match[str]) -> Callable[[str], str]:
    """With the address of another index: that of an option, or of a key of a table."""
    key = r"url\s*=\s*" if m["asked"].startswith("url") else r"--?(?:extra-|default-)?(?:index|find-links|[if])(?:-url)?[ =]"
    return lambda line: re.sub(rf"{key}[\"']?[^\s\"']+[\"']?", m["asked"], line, count=1)


def _command(m: re.Match[str]) -> Callable[[str], str]:
    """With another command in the place of the one that begins alike."""
    begins = r"\s+(?:\\\s+)?".join(map(re.escape, f"{m['asked'].partition(' install')[0]} install".split()))
    return lambda text: re.sub(rf"{begins}(?:\\\n|[^&|;\n])*", lambda _: m["asked"], text, count=1)


def _replaced(m: re.Match[str]) -> Callable[[str], str]:
    return lambda _: "".join(f"{line}\n" for line in m["asked"].split(", "))


def _added(m: re.Match[str]) -> Callable[[str], str]:
    return lambda line: "".join(f"{line}\n" for line in m["asked"].split(", ")) + line


_FORMS: tuple[tuple[str, Callable[[re.Match[str]], Callable[[str], str]]], ...] = (
    (rf"Delete {_LINES}{_END}", lambda _: lambda _: ""),
    (rf"Take (?P<name>\S+) out of {_LINES}{_END}", _without),
    (rf"Set (?P<name>\S+) to (?P<value>\S+) on {_LINES}{_END}", _set),
    (rf"Write (?P<asked>--\S+ \S+|url = \S+) on {_LINES}{_END}", _option),
    (rf"Change the command on {_LINES} to: (?P<asked>.+?)\.(?=\s[A-Z]|$)", _command),
    (rf"Write (?!on )(?P<asked>\S+) on {_LINES}{_END}", _required),
    (rf"Write on {_LINES}: (?P<asked>.+?)\.(?=\s[A-Z]|$)", _replaced),
    (rf"Add above {_LINES}: (?P<asked>.+?)\.(?=\s[A-Z]|$)", _added),
)


def left(root: Path, one: Finding, before: list[Finding], judge: Callable[[Path], list[Finding]]) -> str:
    """What is left of a finding once its advice was followed in a copy of the repository: `gone`, `same`, `new`, or `not followed`."""
    copy = Path(tempfile.mkdtemp(prefix="follow-advice-"))
    try:
        shutil.copytree(root, copy, dirs_exist_ok=True, symlinks=True)
        if not followed(copy, one.advice):
            return "not followed"
        after = [f for f in judge(copy) if f.severity != "note"]
    finally:
        shutil.rmtree(copy)
    if any((f.id, f.row, f.title) == (one.id, one.row, one.title) for f in after):
        return "same"
    known = {(f.id, f.title) for f in before}
    return "new" if any((f.id, f.title) not in known for f in after) else "gone"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--set")
    parser.add_argument("--gpu", default="gfx1100")
    asked = parser.parse_args()
    matrix, total = load(), Counter[str]()
    for name, entry in yaml.safe_load((HERE / "lint_corpus.yaml").read_text("utf-8")).items():
        directory = mirror(asked.mirror, name, clone=False) if asked.set in (None, entry["set"]) else None
        if directory is None:
            continue
        root = Path(tempfile.mkdtemp(prefix="lint-corpus-"))
        try:
            checked_out(directory, entry["commit"], root)
            before = judged(root, asked.gpu, matrix)
            for one in before:
                what = left(root, one, before, lambda folder: judged(folder, asked.gpu, matrix)) if one.severity != "note" else ""
                total[what] += 1
                if what in ("same", "new"):
                    print(f"{what} {name}: {one.severity} {one.id} | {one.title} | {one.advice}")
        finally:
            shutil.rmtree(root)
    print(", ".join(f"{total[what]} {what}" for what in ("gone", "same", "new", "not followed")))


def judged(root: Path, gpu: str, matrix: Matrix) -> list[Finding]:
    target = Target("the command line", gpu, python="3.12")
    return list(lint(readers.read(root), [target], matrix, name="repository", today=datetime.date.today()).findings)


if __name__ == "__main__":
    main()
