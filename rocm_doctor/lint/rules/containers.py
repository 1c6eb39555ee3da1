"""Containers that get no AMD GPU, and variables that hide every GPU."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.facts.derive import HIP, ROCR, visible_indices
from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.case import Case

_DEVICES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"


def devices(case: Case) -> Iterator[Problem]:
    """A service for AMD that asks for NVIDIA's devices, or that gets one of the two nodes that ROCm needs without the other."""
    service, environment = case.environment.service, case.environment
    if service is None or not case.is_amd or case.target.os == "wsl":
        return
    nodes = {d.value for d in service.devices}
    if service.nvidia is not None and "/dev/kfd" not in nodes:
        yield case.problem(
            "access.container", "this service reserves NVIDIA devices", "Docker does not start it without NVIDIA's runtime.",
            (service.nvidia,), sources=("https://docs.docker.com/compose/how-tos/gpu-support/",),
        )  # fmt: skip
    elif service.all_devices or service.may_have_more:
        return
    elif "/dev/dxg" in nodes and not nodes & {"/dev/kfd", "/dev/dri"}:
        device = next(d for d in service.devices if d.value == "/dev/dxg")
        yield case.problem(
            "access.container", "this service gets /dev/dxg alone", "That is the GPU of WSL: on Linux ROCm opens /dev/kfd and /dev/dri.",
            (device.place,), sources=(_DEVICES,), hints=("If it is for WSL alone, judge it with --os wsl.",),
        )  # fmt: skip
    elif service.devices and not any("dxg" in n or "nvidia" in n for n in nodes):
        render, kfd = any(n.startswith("/dev/dri") for n in nodes), "/dev/kfd" in nodes
        if render != kfd and (kfd or case.image.torch == "rocm"):
            missing, has = ("/dev/dri", "/dev/kfd") if kfd else ("/dev/kfd", "/dev/dri")
            device = next(d for d in service.devices if d.value.startswith(has))
            yield case.problem(
                "access.container", f"this service gets {has} and not {missing}", "ROCm opens both: without one of them it finds no GPU.",
                (device.place,), sources=(_DEVICES,),
            )  # fmt: skip
    elif not service.devices and service.nvidia is None and environment.image is not None and case.image.torch == "rocm":
        yield case.problem(
            "access.container", f"{environment.image.name} is started without an AMD GPU", "The service gets neither /dev/kfd nor /dev/dri.",
            (environment.image.place,), sources=(_DEVICES,), is_literal=False,
        )  # fmt: skip


def hidden_gpus(case: Case) -> Iterator[Problem]:
    """A variable that chooses GPUs, with a value that names none: neither a list of numbers or UUIDs, nor -1, which hides all on purpose."""
    for variable in case.environment.variables:
        value = variable.value.strip()
        if variable.name not in (ROCR, *HIP) or not (case.is_amd or variable.name == ROCR) or value == "-1":
            continue
        if visible_indices(value) != [] or not (value.strip("\"'") or (variable.name == ROCR and not value)):
            continue  # HIP takes an empty value for none; what quotes in a value do is not known
        known = case.matrix.env.get(variable.name)
        who = "The HSA runtime" if variable.name == ROCR else "The HIP runtime"
        yield case.problem(
            "access.visible-devices", f"{variable.name}={variable.value or '(empty)'} hides every GPU",
            f"{who} takes a list of numbers or UUIDs; a value that names none of its GPUs leaves none.", (variable.place,),
            sources=known.sources if known else (), hints=("Remove the variable.",),
        )  # fmt: skip
