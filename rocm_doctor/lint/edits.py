"""Edits that mend a finding: each is applied in memory and the files are judged again before it is shown.

It is kept only where the finding goes and no error comes, and where the file serves one environment alone.
"""

from __future__ import annotations

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
    """The problems; those that an edit mends keep it. `ours`: files that are for AMD GPUs alone."""
    tried = 0
    for one in problems:
        is_tried = one.edit is not None and one.severity == "error" and tried < MOST and not tree.is_late
        tried += is_tried
        is_proven = is_tried and _mends(one, problems, tree, environments, judge, ours)
        yield one if is_proven or one.edit is None else msgspec.structs.replace(one, edit=None)


def _mends(
    one: Problem,
    problems: Sequence[Problem],
    tree: Tree,
    environments: Sequence[Environment],
    judge: Judge,
    ours: Collection[str],
) -> bool:
    """True if the edit of a problem changes nothing for others, the problem goes, and no error comes."""
    if one.edit is None or is_shared(one.edit.place.file, one.environment.file, tree, ours):
        return False
    try:
        changed = tree.apply_edits((one.edit,))
    except ValueError:
        return False
    touched = [e for e in environments if one.edit.place.file in (e.file, *e.files)]
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


def diff_lines(tree: Tree, edit: Edit) -> list[str]:
    """The removed and added lines, with `-` and `+`."""
    old = (tree.text(edit.place.file) or "").split("\n")[edit.place.line - 1]
    return [f"-{old}", *(f"+{line}" for line in edit.replace_line(old))]


def write(tree: Tree, problems: Sequence[Problem]) -> list[str]:
    """Write the proven edits, one for each line; returns the files that changed. Line ends stay as they were. Raises OSError."""
    kept: dict[tuple[str, int], Edit] = {}
    for edit in (one.edit for one in problems if one.edit):
        kept.setdefault((edit.place.file, edit.place.line), edit)
    changed = list(dict.fromkeys(file for file, _ in kept))
    other = tree.apply_edits(tuple(kept.values()))
    for file in changed:
        raw = (tree.root / file).read_bytes()
        text = other.text(file) or ""
        data = (text.replace("\n", "\r\n") if b"\r\n" in raw else text).encode()
        (tree.root / file).write_bytes((b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b"") + data)
    return changed
