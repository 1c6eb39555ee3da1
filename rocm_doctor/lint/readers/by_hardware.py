"""Scripts as environments: one for AMD or for no one in particular, and one for each other hardware that its branches name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Purpose
from rocm_doctor.lint.environments.words import Kind, named
from rocm_doctor.lint.readers import bash, built, called, charts, compiled, script, shell
from rocm_doctor.lint.readers.built import BRING_TORCH
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.image_python import may_be_kept, named_python, one_of
from rocm_doctor.lint.readers.kinds import kind_of
from rocm_doctor.lint.readers.shell import Made

_ZLUDA = regex(r"\bzluda", re.I)


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """A script: one environment for AMD or for no one in particular, and one for each other hardware that its branches name."""
    text = tree.text(path) or ""
    windows = path.lower().endswith((".bat", ".cmd", ".ps1"))
    if windows:
        found = shell.new()
        script.read_windows(text, Place(path, 1), shell.checkout(tree, folder_of(path), {}), found)
        one = _of_script(tree, path, found, "windows")
        if word := _ZLUDA.search(text):
            place = Place(path, text.count("\n", 0, word.start()) + 1)
            one = msgspec.structs.replace(one, purpose=Purpose("other", "ZLUDA, which runs the CUDA torch", place))
        yield one, found.used
        return
    if not script.speaks(text):
        return
    branches = bash.kinds(text)
    made: dict[Kind, Made] = {}
    for kind in ("amd", "nvidia", "intel", "apple", "cpu", "other"):
        if kind == "amd" or kind in branches:
            found = shell.new()
            script.read(text, Place(path, 1), shell.checkout(tree, folder_of(path), {}, kind), found)
            script.drop_other_lists(text, found, 0)
            made[kind] = _of_script(tree, path, found), found.used
            if kind == "amd":
                yield from built.images(tree, made[kind][0], found.builds)
    amd = made["amd"][0]
    whole = named(path)[0] not in ("neutral", "amd")
    if "amd" not in branches and not made["amd"][1] and (only := _only_torch(made)):
        amd = msgspec.structs.replace(
            amd, purpose=Purpose(only, "its only torch is in such a branch", Place(path, branches[only]))
        )
        made["amd"] = amd, ()
    for kind, (one, used) in made.items():
        if kind == "amd" and one.purpose.kind != "neutral":
            yield one, used
        elif kind == "amd":
            branch = (
                Purpose("amd", f"the branch at line {branches['amd']}", Place(path, branches["amd"]))
                if "amd" in branches
                else Purpose()
            )
            yield one if whole or not one.steps else msgspec.structs.replace(one, purpose=branch), used
        elif one.steps != amd.steps and one.steps and not whole:
            purpose = Purpose(kind, f"the branch at line {branches[kind]}", Place(path, branches[kind]))
            yield msgspec.structs.replace(one, name=f"{path} branch {kind}", purpose=purpose), used


def _only_torch(made: dict[Kind, Made]) -> Kind | None:
    """The other hardware whose branches alone install a torch; None where several do, or where everybody gets one."""
    bring = [
        kind for kind, (one, _) in made.items() if any(r.name in BRING_TORCH for step in one.steps for r in step.requirements)
    ]
    return bring[0] if len(bring) == 1 and bring[0] != "amd" else None


def _of_script(tree: Tree, path: str, found: shell.Script, os: str = "") -> Environment:
    image = charts.image_for(tree, path)
    text = tree.text(path) or ""
    doubts = [None if image or os else may_be_kept(text, found.steps), called.lost_list(tree, path, text)]
    # A line of a file of settings that is left empty gives no value: what reads the file has a default of its own.
    variables = tuple(s for s in found.variables if s.value or kind_of(path) != "env")
    return Environment(
        path, Place(path, 1), image=image, python=named_python("", image, image.place) if image else one_of(found.pythons),
        steps=script.run_at_the_end(found), variables=variables, containers=tuple(found.containers), os=os,
        sort="script", unresolved=tuple(found.problems), unsure=tuple(found.unsure), config=tuple(found.options),
        open_ends=tuple(found.open_ends), doubts=tuple(dict.fromkeys([*found.doubts, *filter(None, doubts)])),
        compiles=not (found.steps or found.containers) or compiled.compiles(text),
    )  # fmt: skip
