"""Conda environment files: channels, conda packages, and the pip section."""

from __future__ import annotations

from rocm_doctor.lint.declared import Environment, Index, Requirement, Setting, Step
from rocm_doctor.lint.readers import installs, requirements, yamls
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.yamls import Node


def environment(tree: Tree, path: str) -> Environment | None:
    """An environment file: channels, conda packages, and the pip section as a second step."""
    documents = yamls.load(tree, path)
    listed = documents[0].get("dependencies") if documents else None
    if listed is None:
        return None
    channels_node = documents[0].get("channels")
    channels = tuple(
        Index(c.text(), "extra", yamls.place(tree, path, c.line)) for c in (channels_node.list() if channels_node else [])
    )
    needed: list[Requirement] = []
    steps: list[Step] = []
    for item in listed.list():
        at = yamls.place(tree, path, item.line)
        needed += installs.conda_requirement(item.text(), at)
        pip = item.get("pip")
        if pip:
            steps.append(_pip_section(tree, path, pip))
    python = next(
        (Setting("python", r.spec.removeprefix("=="), r.place) for r in needed if r.name == "python" and r.spec.startswith("==")),
        None,
    )
    first = Step("conda", yamls.place(tree, path, listed.line), tuple(needed), (), channels)
    return Environment(path, yamls.place(tree, path, listed.line), steps=(first, *steps), python=python, sort="conda")


def _pip_section(tree: Tree, path: str, pip: Node) -> Step:
    """conda hands this list to pip as a requirements file."""
    found = requirements.RequirementsFile([], [], [], [])
    requirements.read_lines(tree, [(yamls.place(tree, path, item.line), item.text()) for item in pip.list()], found)
    return Step(
        "pip",
        yamls.place(tree, path, pip.line),
        tuple(found.requirements),
        tuple(found.constraints),
        requirements.in_force(found.indexes),
    )
