"""Edits that mend a finding: each is applied in memory and the files are judged again before it is shown.

It is kept only where the finding goes and no error comes, where it changes two lines at most, and where the file serves one environment alone.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint import readers
from rocm_doctor.lint.model import Edit, Environment, Problem
from rocm_doctor.lint.tree import Tree

MOST = 12
"""Findings for which edits are tried: a repository with more has one cause behind them."""
Judge = Callable[[Sequence[Environment]], Sequence[Problem]]


def prove(
    problems: Sequence[Problem], tree: Tree, environments: Sequence[Environment], judge: Judge, ours: Collection[str]
) -> Iterator[Problem]:
    """The problems, those that an edit mends with that edit. `ours`: files that are for AMD GPUs alone."""
    tried = 0
    proven: dict[tuple[Edit, ...], bool] = {}
    for one in problems:
        if one.severity != "error" or not one.remedies or tried >= MOST or tree.is_late:
            yield one
            continue
        tried += 1
        good = next(
            (
                r
                for r in one.remedies
                if len(diff_lines(tree, r)) <= 4
                and not any(is_shared(edit.place.file, one.environment.file, tree, ours) for edit in r)
                and _mends(r, one, problems, tree, environments, judge, proven)
            ),
            (),
        )
        yield msgspec.structs.replace(one, edits=good) if good else one


def _mends(
    edits: tuple[Edit, ...], one: Problem, problems: Sequence[Problem], tree: Tree, environments: Sequence[Environment], judge: Judge,
    proven: dict[tuple[Edit, ...], bool],
) -> bool:  # fmt: skip
    try:
        changed = tree.apply_edits(edits)
    except ValueError:
        return False
    files = {edit.place.file for edit in edits}
    touched = [e for e in environments if files & {e.file, *e.files}]
    again = readers.read(changed, dict.fromkeys(e.file for e in touched))
    after = judge([e for e in environments if e not in touched] + again)
    before_errors, after_errors = (
        Counter((p.id, p.row, p.environment.file, gpu) for p in some if p.severity == "error" for gpu in p.gpus)
        for some in (problems, after)
    )
    same = (one.id, one.environment.file)
    counts = [
        sum(len(p.gpus) for p in some if (p.id, p.environment.file) == same and p.severity != "note")
        for some in (problems, after)
    ]
    return not after_errors - before_errors and counts[1] < counts[0]


_READERS = regex(
    r"(?:^|/)(?!rocm-doctor\.ya?ml$)(?:setup\.cfg|pyproject\.toml|makefile|justfile|[^/]*(?:docker|container)file[^/]*|[^/]*\.(?:py|sh|bash|bat|cmd|ps1|ya?ml|def)"
    r"|[^/]*requirements[^/]*\.(?:txt|in)|requirements/[^/]+\.(?:txt|in))$",
    re.I,
)
"""Files that may install what another file lists."""
_MOST_READ = 2**18


def is_shared(file: str, user: str, tree: Tree, ours: Collection[str]) -> bool:
    """True if a file of the repository names this one, but for its `user`, and images, scripts and jobs for AMD: an edit would change more
    than what was judged. A name that leads to no file may mean this one."""
    base = posixpath.basename(file)
    name = regex(rf"(?<![\w.-])(?:[\w.-]*/)*{re.escape(base)}(?![\w-])")
    for path in tree.paths:
        listed = path.endswith((".txt", ".in"))
        if path in (file, user) or (path in ours and not listed) or not _READERS.search(path) or tree.size(path) > _MOST_READ:
            continue
        if tree.is_late:
            return True
        text = tree.text(path) or ""
        words = {found[0].lstrip("/") for found in name.finditer(text)} if base in text else set[str]()
        if any(_find_nearest(word, path, tree) in (file, None) for word in words):
            return True
    return False


def _find_nearest(word: str, path: str, tree: Tree) -> str | None:
    """The file that a relative path means in the folder of another file, or in the nearest one above it; None where there is none."""
    folder = path
    while folder:
        folder = posixpath.dirname(folder)
        found = posixpath.normpath(posixpath.join(folder, word))
        if tree.has(found):
            return found
    return None


def diff_lines(tree: Tree, edits: Sequence[Edit]) -> list[str]:
    """The removed and added lines, with `-` and `+`; empty where the edits do not apply."""
    try:
        other = tree.apply_edits(tuple(edits))
    except ValueError:
        return ["?"] * 9
    found: list[str] = []
    for file in dict.fromkeys(edit.place.file for edit in edits):
        old, new = ((t.text(file) or "").split("\n") for t in (tree, other))
        found += [
            line
            for line in difflib.unified_diff(old, new, lineterm="", n=0)
            if line[:1] in "+-" and line[:3] not in ("+++", "---")
        ]
    return found


def write(tree: Tree, problems: Sequence[Problem]) -> list[str]:
    """Write the proven edits; returns the files that changed. Line ends stay as they were. Raises OSError."""
    edits = list(dict.fromkeys(edit for one in problems for edit in one.edits))
    lines: set[tuple[str, int]] = set()
    kept = []
    for edit in edits:
        if (edit.place.file, edit.place.line) not in lines:
            lines.add((edit.place.file, edit.place.line))
            kept.append(edit)
    other = tree.apply_edits(tuple(kept)) if kept else tree
    changed = []
    for file in dict.fromkeys(edit.place.file for edit in kept):
        path = tree.root / file
        raw = path.read_bytes()
        text = other.text(file) or ""
        data = (text.replace("\n", "\r\n") if b"\r\n" in raw else text).encode()
        path.write_bytes((b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b"") + data)
        changed.append(file)
    return changed
