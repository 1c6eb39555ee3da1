"""What a program imports and nothing in the repository installs, by catalog/brings.yaml."""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Repository, Setting
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Grade


class _Library(msgspec.Struct, frozen=True):
    """A library and the packages that bring it."""

    name: str
    by: frozenset[str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str


# Images with a whole stack of training or serving.
_OF_STACKS = regex(r"vllm|sglang|training|megatron|text-generation|unsloth|axolotl|comfy")


def unlisted(repository: Repository, matrix: Matrix) -> Setting | None:
    """The first import of a library that no list, command or image of the repository brings; None where there is none."""
    asked = {r.name for e in repository.environments for step in e.steps for r in step.requirements}
    if not asked or any(e.image and _OF_STACKS.search(e.image.value) for e in repository.environments):
        return None
    known = matrix.named("brings", _Library)
    return next((s for s in repository.imports if s.name in known and not asked & {s.name, *known[s.name].by}), None)
