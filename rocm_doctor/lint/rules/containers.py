"""Containers that get half of an AMD GPU's device nodes, and variables that hide every GPU."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.facts.derive import HIP, ROCR, visible_indices
from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.case import LintCase

_DEVICES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"


def devices(case: LintCase) -> Iterator[Problem]:
    """A service for AMD that gets one of the two nodes that ROCm needs without the other."""
    service = case.environment.service
    if service is None or not case.is_amd or service.all_devices or service.may_have_more:
        return
    by_node = {"/dev/dri" if d.value.startswith("/dev/dri") else d.value: d for d in service.devices}
    nodes = by_node.keys() & {"/dev/kfd", "/dev/dri"}
    if len(nodes) != 1 or "/dev/dxg" in by_node or (nodes == {"/dev/dri"} and case.image.torch != "rocm"):
        return
    (has,), (missing,) = nodes, {"/dev/kfd", "/dev/dri"} - nodes
    yield case.problem(
        "access.container", f"this service gets {has} and not {missing}", "ROCm opens both: without one of them it finds no GPU.",
        (by_node[has].place,), sources=(_DEVICES,),
    )  # fmt: skip


def hidden_gpus(case: LintCase) -> Iterator[Problem]:
    """A variable that chooses GPUs, with a value that names none: neither a list of numbers or UUIDs, nor -1, which hides all on purpose."""
    for variable in case.environment.variables:
        value = variable.value.strip()
        if variable.name not in (ROCR, *HIP) or not (case.is_amd or variable.name == ROCR) or value == "-1":
            continue
        if visible_indices(value) != [] or not (value.strip("\"'") or (variable.name == ROCR and not value)):
            continue  # HIP takes an empty value for none; what quotes in a value do is not known
        entry = case.matrix.env.get(variable.name)
        who = "The HSA runtime" if variable.name == ROCR else "The HIP runtime"
        yield case.problem(
            "access.visible-devices", f"{variable.name}={variable.value or '(empty)'} hides every GPU",
            f"{who} takes a list of numbers or UUIDs; a value that names none of its GPUs leaves none.", (variable.place,),
            sources=entry.sources if entry else (), hints=("Remove the variable.",),
        )  # fmt: skip
