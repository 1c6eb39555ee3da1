"""What a rule is given: one environment, one target, and what was worked out of both."""

from __future__ import annotations

from typing import NamedTuple, Union

from rocm_doctor.lint.model import Audience, Environment, Target, Unread
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix


class Case(NamedTuple):
    """`torch`: the torch of the environment, why it is not known, or None where nothing brings one; `gpus`: those that its path names; `beforehand`: another
    torch may be there before this one is asked for, which pip then keeps."""

    environment: Environment
    target: Target
    torch: Union[Torch, Unread, None]
    audience: Audience
    gpus: frozenset[str]
    matrix: Matrix
    beforehand: bool = False

    @property
    def amd(self) -> bool:
        """True where the environment is meant for AMD GPUs."""
        return self.audience in ("declared", "amd")
