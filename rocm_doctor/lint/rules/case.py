"""What a rule is given: one environment, one target, and what was worked out of both."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

from rocm_doctor.lint.catalog import ImageFacts, image_facts
from rocm_doctor.lint.model import Audience, Environment, LintTarget, Place, Problem, Unread
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix


class LintCase(NamedTuple):
    """An environment and a target. `torch`: the torch that the environment ends up with, why it is not known, or None where nothing brings one;
    `gpus`: those that its path names."""

    environment: Environment
    target: LintTarget
    torch: Union[Torch, Unread, None]
    audience: Audience
    gpus: frozenset[str]
    matrix: Matrix

    @property
    def is_amd(self) -> bool:
        """True where the environment is meant for AMD GPUs."""
        return self.audience == "amd"

    @property
    def image(self) -> ImageFacts:
        """What is known of the environment's image; one without torch where it starts from none."""
        image = self.environment.image
        return image_facts(image.name, self.matrix) if image else ImageFacts("none")

    def problem(self, id_: str, title: str, cause: str, places: tuple[Place, ...], **more: Any) -> Problem:
        """A problem of this environment for this target. `more`: other fields of Problem."""
        return Problem(id_, title, cause, places, self.environment, self.target, **more)
