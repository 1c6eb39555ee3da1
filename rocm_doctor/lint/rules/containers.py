"""Containers: do they get the devices of AMD GPUs, and do their variables leave one?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import ROCR, Container, Environment, Place, Setting, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.torch_state import image_parts
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade

_TOOLKIT = "https://instinct.docs.amd.com/projects/container-toolkit/en/latest/container-runtime/running-workloads.html"
_DEVICES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"


def containers(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Containers that train but do not get the devices, or ask for another vendor's."""
    if target.os != "linux":
        return
    handed = any("/dev/kfd" in device for one in environment.containers for device in one.devices)
    for container in environment.containers:
        own = any("/dev/kfd" in device for device in container.devices)
        if container.nvidia and handed and not own:
            continue  # the same script starts one for AMD as well
        say = partial(_found, environment, target, matrix, container)
        yield from _gpus(container, say, is_job=environment.sort == "job")
        yield from _lacks_group(container, say, matrix)
        if container.needed and own:
            yield _depends(container, container.needed, say)
        if container.beside and not container.nvidia and environment.purpose.kind == "amd":
            yield _starts_too(container, container.beside, say)


Say = Callable[..., Finding]
"""Makes the finding of a container out of what is said of it."""


def _found(environment: Environment, target: Target, matrix: Matrix, container: Container, **fields: Any) -> Finding:
    known = {"places": [container.place], "sources": (_DEVICES,), **fields}
    return found(matrix, "access.container", environment, target, known.pop("places"), **known)


def _gpus(container: Container, say: Say, *, is_job: bool) -> Iterator[Finding]:
    """What a container asks for in the way of GPUs and does not get."""
    if container.nvidia == "gpus":
        yield say(
            severity="warning",
            title=f"{container.name} asks for its GPU by {'gpus:' if container.service else '--gpus'}",
            cause="Docker hands over a GPU of AMD by it from 29.3 on, where AMD's container toolkit has written its CDI specification; an older one takes it for NVIDIA's and refuses the container.",
            sources=(_DEVICES, _TOOLKIT),
            **_remedy(container),
        )
    elif container.nvidia:
        yield say(
            title=f"{container.name} asks for an NVIDIA GPU",
            cause="Docker refuses a container with a runtime or driver that the host does not have; NVIDIA's passes in no AMD device.",
            **_remedy(container),
        )
    elif container.kept:
        yield _merged(container, container.kept, say)
    elif container.reserved == "amd":
        yield say(
            severity="warning",
            title=f"{container.name} gets the GPU by a reservation of the driver amd",
            cause="Docker has that driver only where AMD's container toolkit is installed, and starts no container with it anywhere else. No text of the repository names the toolkit.",
            commands=(),
            advice=f"Take the reservation out and add to the service: {_INLINE}. Or say that the toolkit is needed.",
        )
    elif container.reserved and (container.privileged or not lacking(container)):
        yield say(
            title=f"{container.name} reserves a device of the driver {container.reserved}, which Docker does not have",
            cause="Docker starts no container for whose driver none is registered: it could not select device driver.",
            commands=(),
            advice="Take the reservation out: the devices are handed over without it.",
        )
    elif container.gpu and not container.privileged:
        yield from _devices(container, say, is_job=is_job)


def _depends(container: Container, needed: Place, say: Say) -> Finding:
    return say(
        places=[container.place, needed],
        row="",
        title=f"{container.name} depends on a service that asks for an NVIDIA GPU",
        cause="Docker starts that service first, and without NVIDIA's driver it does not start it: this one is not started either.",
        advice=f"Take the device out of that service ({needed.words}) for AMD, or the service out of depends_on.",
        commands=(),
        sources=("https://docs.docker.com/compose/how-tos/startup-order/",),
    )


def _starts_too(container: Container, beside: Place, say: Say) -> Finding:
    return say(
        places=[beside, container.place],
        severity="warning",
        row="",
        title=f"a service for NVIDIA GPUs starts with the profile of {container.name}",
        cause="A service without profiles starts with every profile, and Docker refuses the NVIDIA devices that it reserves.",
        advice="Give that service a profile of its own.",
        commands=(),
        sources=("https://docs.docker.com/compose/how-tos/profiles/",),
    )


def _merged(container: Container, kept: Place, say: Say) -> Finding:
    """A service that is merged over one that reserves NVIDIA devices, which Docker refuses without NVIDIA's toolkit."""
    key = kept.quote.partition(":")[0].strip("- ")
    words = {"runtime": "runtime: runc", "gpus": "gpus: !reset null"}.get(key, "devices: !reset []")
    where = "" if key in ("runtime", "gpus") else " under deploy, resources, reservations"
    needed = container.needed
    return say(
        places=[container.place, kept],
        row="",
        title=f"the NVIDIA GPU that {kept.file} asks for stays",
        cause="Compose merges the files: what the one above does not replace stays, and Docker does not start the service without NVIDIA's driver.",
        advice=f"Write `{words}`{where} in each such service of {container.place.file}."
        + (" Compose has that tag from 2.24 on." if "!" in words else "")
        + (
            f" The service that it depends on asks for one as well ({needed.words}): add it there with the same line."
            if needed
            else ""
        ),
        commands=(),
        sources=("https://docs.docker.com/reference/compose-file/merge/",),
    )


class _Group(msgspec.Struct, frozen=True):
    """An image and a group that it lacks, from catalog/groups.yaml. `tag`: what the tags have that it holds for."""

    image: str
    tag: str
    lacks: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def _lacks_group(container: Container, say: Say, matrix: Matrix) -> Iterator[Finding]:
    """A group by its name that the image of a container does not have."""
    image, tag = image_parts(container.image)
    for one in matrix.section("groups", _Group):
        if (image, one.lacks in container.groups, one.tag in tag) == (one.image, True, True):
            yield say(
                severity="warning",
                title=f"{container.image} has no group {one.lacks}",
                cause="Docker looks the name up in the image and starts no container whose group it does not find there.",
                advice=f"Give the number of the host's group instead: getent group {one.lacks} | cut -d: -f3.",
                commands=(),
                sources=one.sources,
                grade=one.grade,
            )


# Every base image has the group video; render is in few, and root needs neither.
_KEYS = {"devices": ("/dev/kfd", "/dev/dri"), "group_add": ("video",)}
DEVICES_YAML = "\n".join(f"{key}:\n" + "\n".join(f"  - {value}" for value in values) for key, values in _KEYS.items())
_INLINE = " and ".join(f"{key}: [{', '.join(values)}]" for key, values in _KEYS.items())


def lacking(container: Container) -> list[str]:
    """The device nodes of AMD GPUs that a container does not get."""
    have = {d.split(":")[0].rstrip("/") for d in container.devices}
    return [
        d for d in ("/dev/kfd", "/dev/dri") if not any(h == d or h.startswith(d + "/") or d.startswith(h + "/") for h in have)
    ]


def _remedy(container: Container) -> dict[str, Any]:
    """The keys to add to a service, or the options to add to the command that starts a container."""
    if not container.service:
        out = "--gpus" if container.nvidia == "gpus" else "the NVIDIA runtime"
        first = f"Take {out} out and add" if container.nvidia else "Add"
        devices = " and ".join(f"--device={one}" for one in lacking(container))
        group = "" if container.groups else ", and --group-add with the number of the host's group render"
        where = f"{container.place.words}"
        return {"commands": (), "advice": f"{first} {devices} to {where}{group}."}
    out = "gpus" if container.nvidia == "gpus" else "the NVIDIA runtime or device reservation" if container.nvidia else ""
    if container.reserved:
        out = f"the reservation for the driver {container.reserved}, which Docker does not have"
    if out and not lacking(container):
        others = " Who runs it on NVIDIA GPUs as well puts that into a compose file of its own (-f)." if container.nvidia else ""
        return {"commands": (), "advice": f"Take out {out}: the devices are handed over without it.{others}"}
    added = f"{f'Take out {out} and add' if out else 'Add'} to the service: {_INLINE}."
    user = " Where the image runs as another user than root, add the number of the host's group render as well."
    return {"commands": (), "advice": f"{added}{user}"}


def _devices(container: Container, say: Say, *, is_job: bool) -> Iterator[Finding]:
    missing = lacking(container)
    mounted = [d for d in missing if any(one.split(":")[0].rstrip("/") == d for one in container.mounted)]
    if mounted:
        yield say(
            title=f"{container.name} mounts {' and '.join(mounted)} as a volume",
            cause=_MOUNTED,
            sources=(_PRIVILEGE,),
            **_remedy(container),
        )
    elif missing:
        sure = (
            container.sure or bool(container.reserved) or any(d.startswith(("/dev/kfd", "/dev/dri")) for d in container.devices)
        )
        builds = not container.devices and (is_job or image_parts(container.image)[0].startswith("rocm/dev-"))
        yield say(
            severity="note" if builds and not container.service else "error" if sure else "warning",
            title=f"{container.name} does not get {' and '.join(missing)}",
            cause="Without /dev/kfd and the render nodes under /dev/dri the HIP runtime in the container finds no GPU.",
            **_remedy(container),
        )
    elif not container.shm and container.ipc != "host":
        yield say(
            severity="note",
            row="",
            title=f"{container.name} has the default 64 MB of shared memory",
            cause="Data loader workers and RCCL use /dev/shm and die with a bus error when it is full.",
            commands=(),
            advice="Set ipc: host or shm_size (16G is usual).",
        )


_MOUNTED = "Docker lets a container open the devices that it is given, and no others: a node that is mounted as a volume is there, and opening it is denied."
_PRIVILEGE = "https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities"


def on_cpu(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An image for AMD whose start keeps its program on the CPU, or a variable that hides every GPU."""
    if environment.purpose.kind != "amd" or environment.sort != "image":
        return
    for setting in environment.config:
        if setting.name in ("use_cpu", "device", "cpu"):
            said = f"--{setting.name.replace('_', '-')}{'' if setting.value == 'true' else ' ' + setting.value}"
            yield _hides(environment, target, matrix, setting, f"{said} keeps the program on the CPU", f"Leave {said} out.")
    for setting in environment.variables:
        if setting.name in _VISIBLE and setting.value.strip() == "-1":
            title = f"{setting.name}=-1 hides every GPU"
            yield _hides(environment, target, matrix, setting, title, f"Leave {setting.name} out.")


def hidden(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A visibility variable with a word such as `all`: the list of GPUs ends at the first entry that is no index and no UUID. ROCR's hides
    all of them when it is empty as well: it asks whether its variable is set, where HIP takes an empty one for none.
    """
    names = {s.name for s in environment.variables}
    for setting in environment.variables if environment.purpose.kind == "amd" and environment.sort != "text" else ():
        first = setting.value.partition(",")[0].strip().strip("\"'")
        word = _WORD.fullmatch(first) and first.lower() not in _NONE and not first.upper().startswith("GPU-")
        empty = setting.name == ROCR and not first
        replaced = setting.name == "CUDA_VISIBLE_DEVICES" and "HIP_VISIBLE_DEVICES" in names
        if setting.name in _VISIBLE and (word or empty) and not replaced:
            said = f"{setting.name}={first}" if first else f"{setting.name} is set to an empty value, which"
            advice = f"Leave {setting.name} out: without it every GPU is visible."
            one = _hides(environment, target, matrix, setting, f"{said} hides every GPU", advice)
            certain = setting.name == ROCR and (empty or first.lower() == "all") and target.platform == "linux"
            yield msgspec.structs.replace(one, severity="error", sources=_FILTER, cause=_ENDS) if certain else one


_ENDS = "The HSA runtime takes the GPUs up to the first entry that is no index and no UUID: here it takes none."
_WORD = regex(r"[A-Za-z][\w-]*")
_FILTER = ("ROCm/ROCR-Runtime runtime/hsa-runtime/core/runtime/amd_filter_device.cpp@17319e39",)
# What hides every GPU on purpose.
_NONE = frozenset(("none", "null", "nil", "void", "nodevfiles", "empty", "false", "no"))
_VISIBLE = frozenset(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"))


def _hides(environment: Environment, target: Target, matrix: Matrix, setting: Setting, title: str, advice: str) -> Finding:
    return found(
        matrix,
        "access.visible-devices",
        environment,
        target,
        [setting.place],
        row="",
        severity="warning",
        title=title,
        cause="The environment is for AMD GPUs, and nothing that it starts so uses one.",
        advice=advice,
    )
