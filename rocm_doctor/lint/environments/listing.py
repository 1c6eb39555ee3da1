"""The environments of a repository as text: what each is called, whom it is for, what says so, what it installs."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.lint.coverage import why_not
from rocm_doctor.lint.declared import Environment, Repository, Target
from rocm_doctor.matrix import Matrix

_FOR = {
    "amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel", "apple": "Apple", "other": "another accelerator", "cpu": "the CPU",
    "windows": "Windows", "neutral": "no one in particular", "documentation": "documentation", "example": "an example",
    "test": "a test", "vendored": "vendored", "ci": "hosted CI", "optional": "an optional extra",
}  # fmt: skip
_ORDER = tuple(_FOR)


def listed(repository: Repository, matrix: Matrix, targets: Sequence[Target] = ()) -> str:
    """One block for each purpose, the judged ones first; training configurations are counted. With targets, an environment that
    none of them would run says why.
    """
    lines: list[str] = []
    shown = [e for e in repository.environments if e.sort != "configuration"]
    for kind in sorted({e.purpose.kind for e in shown}, key=_ORDER.index):
        of_kind = [e for e in shown if e.purpose.kind == kind]
        judged = "judged" if kind in ("amd", "neutral") else "left out"
        lines.append(f"for {_FOR[kind]}: {len(of_kind)}, {judged}")
        lines += [f"  {_line(one)}{_left_out(one, targets, matrix) if judged == 'judged' else ''}" for one in of_kind]
    count = len(repository.environments) - len(shown)
    if count:
        lines.append(f"training configurations: {count}")
    return "\n".join(lines) or f"no file that declares an environment was found among {repository.files} that were read"


def _left_out(one: Environment, targets: Sequence[Target], matrix: Matrix) -> str:
    whys = [why_not(one, target, matrix) for target in targets]
    return f"  left out: {whys[0]}" if whys and all(whys) else ""


def _line(one: Environment) -> str:
    purpose = one.purpose
    place = f" ({purpose.place.file}:{purpose.place.line})" if purpose.place and purpose.place.file != one.place.file else ""
    why = f"  because of {purpose.words}{place}" if purpose.words else ""
    torch = next((r for step in reversed(one.steps) for r in step.requirements if r.name == "torch"), None)
    asks = f"  torch{torch.spec}" if torch else ""
    open_ = "".join(f"  not resolved: {p.message}" for p in one.unresolved[:2])
    return f"{one.name}{why}{asks}{open_}"
