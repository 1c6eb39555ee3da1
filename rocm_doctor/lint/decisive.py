"""The lines that were not read and that may change which code runs: where there is one, nothing passes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.facts.derive import HIP, ROCR
from rocm_doctor.lint.model import LISTS, Environment, Unread, UnreadReason
from rocm_doctor.matrix import Matrix

_INSTALLS_TORCH = regex(r"\b(?:install|add)\b.*(?<![\w./-])(?:py)?torch(?![\w.-])")


def decisive_unread(
    environment: Environment, installers: Sequence[Environment], runners: Sequence[Environment], matrix: Matrix
) -> list[Unread]:
    """The unread lines that may change which code an environment runs. In the environment and its `installers`: lines that install torch or
    set a variable that decides. In the `runners`, the scripts and containers that may run a list of packages: lines that set an
    override."""
    own_lines = [u for other in (environment, *installers) for u in other.unread]
    runner_lines = [u for other in runners for u in other.unread] if environment.kind in LISTS else []
    overrides, choices = matrix.once(_overrides), matrix.once(_choices)
    return [
        # What a command sets for a program that is not read was read.
        *(
            u
            for u in own_lines
            if (u.reason is not UnreadReason.SCRIPT and choices.search(u.place.quote)) or _INSTALLS_TORCH.search(u.place.quote)
        ),
        *(u for u in runner_lines if overrides.search(u.place.quote)),
    ]


def _overrides(matrix: Matrix) -> re.Pattern[str]:
    """The names of the variables that override which GPU code is for, by catalog/env.yaml."""
    return _assignment(v.name for v in matrix.env.values() if v.use == "override")


def _choices(matrix: Matrix) -> re.Pattern[str]:
    """The names of the variables that decide which code is built or runs, and on which GPU, by catalog/env.yaml."""
    return _assignment(v.name for v in matrix.env.values() if v.use in ("override", "build") or v.name in (ROCR, *HIP))


def _assignment(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in names if name.isidentifier())})\b")
