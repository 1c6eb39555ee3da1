"""Base images and containers: is the image for this GPU, and does the container get the devices?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import ROCR, Container, Environment, Place, Setting, Target
from rocm_doctor.lint.rules.built_for import lists, targets_of
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import Torch
from rocm_doctor.lint.rules.torch_state import image_facts, image_parts, last_state, of_image, system_rocm
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Support, TorchBuild
from rocm_doctor.model import Finding
from rocm_doctor.rules.build import build_of

_DEVICES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"


def base_image(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A base image that is for NVIDIA GPUs."""
    if environment.image is None or not environment.image.value or system_rocm(environment):
        return
    repo, _ = image_parts(environment.image.value)
    state = last_state(environment, matrix, target)
    brings = of_image(environment.image)
    if state and state[0] is not None and state[2].build == "rocm" and "radeon.com" not in _source(state[2]):
        return  # PyTorch's ROCm wheels have the HIP runtime with them, those of AMD's folders need the system's
    if (
        repo.startswith("nvidia/")
        or "nvcr.io" in environment.image.value
        or (brings and brings.build == "cuda" and state and state[2].build != "rocm")
    ):
        yield found(
            matrix,
            "version.torch-not-rocm",
            environment,
            target,
            [environment.image.place],
            row="",
            title=f"the base image {environment.image.value} is for NVIDIA GPUs",
            cause="It brings CUDA libraries and no HIP runtime.",
            advice="Start from a rocm/ image whose tag names your ROCm release.",
        )


def _source(torch: Torch) -> str:
    return torch.origin.url if torch.origin else torch.place.quote


def dropped(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm release, of the base image or installed for the system, that no longer serves the target."""
    held = _system(environment, target, matrix)
    word = last_word(held.rocm, target, matrix) if held else None
    if held is not None and word is not None and word.state in _AGAINST:
        yield found(
            matrix,
            "arch.dropped-by-rocm",
            environment,
            target,
            [held.place],
            severity="warning",
            confidence="medium",
            title=f"{held.words}, which no longer serves {target.gpu}",
            cause=f"ROCm {word.since}: {word.words}",
            sources=word.sources,
            grade=word.grade,
            advice=f"Take a ROCm release that lists {target.gpu}.",
        )


class _Held(NamedTuple):
    """A ROCm release that an environment uses, where it is named, and how a finding calls it."""

    rocm: str
    place: Place
    words: str


def _system(environment: Environment, target: Target, matrix: Matrix) -> _Held | None:
    """The ROCm of the system or the base image; None where there is none, or where torch loads the ROCm of its own wheel."""
    if system := system_rocm(environment):
        return _Held(system.value, system.place, f"ROCm {system.value} is installed")
    return None if _brings_rocm(environment, target, matrix) else _of_base(environment, matrix)


def _of_base(environment: Environment, matrix: Matrix) -> _Held | None:
    """The ROCm of the base image."""
    if environment.image is None:
        return None
    release = release_of(environment.image.value, matrix)
    return _Held(release, environment.image.place, f"the base image has ROCm {release}") if release else None


def older_than_gpu(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm release from before the first one with code for the target: whatever is built with it has none."""
    built = environment.sort == "image" and environment.compiles
    held = _system(environment, target, matrix) or (_of_base(environment, matrix) if built else None)
    first = _first_release(target, matrix)
    if held is None or not first or versions.sort_key(held.rocm) >= versions.sort_key(first):
        return
    if any(covers(targets_of(s), target.gpu) for s in lists(environment)):
        return  # whoever builds for the GPU has a compiler that knows it
    state = last_state(environment, matrix, target)
    if not built and state and (build := build_of(matrix, state[2].local)) and build.gfx:
        return  # which GPUs that torch has code for is judged by itself
    yield found(
        matrix,
        "arch.not-in-build",
        environment,
        target,
        [held.place],
        row="",
        severity="error" if state and state[0] is None else "warning",
        title=f"{held.words}, and {first} is the first with code that {target.gpu} runs",
        cause=f"No build of PyTorch and no list of AMD's for a ROCm before {first} has code for {target.gpu}: kernels made with it end in `invalid device function`.",
        advice=f"Take an image with ROCm {first} or newer."
        if held.place == getattr(environment.image, "place", None)
        else f"Install ROCm {first} or newer.",
        sources=tuple(dict.fromkeys(s for b in _serving(target, matrix) if b.rocm == first for s in b.sources))[:2],
    )


def _serving(target: Target, matrix: Matrix) -> list[TorchBuild]:
    """The builds of torch with code that the target runs: its own, or that of a relative by HSA_OVERRIDE_GFX_VERSION."""
    chip = matrix.gfx.get(target.gpu)
    own = target.gpu.removeprefix("gfx")[:-2] + "."
    values = [None, *(o.value for o in chip.overrides if o.verdict != "harmful" or o.value.startswith(own))] if chip else [None]
    return [b for b in matrix.torch if versions.parse(b.rocm) and any(covers(b.gfx, target.gpu, value) for value in values)]


def _first_release(target: Target, matrix: Matrix) -> str:
    """The first ROCm release for which a torch was built for the target, or which a statement says to run it."""
    stated = [s.since for s in matrix.support if target.gpu in s.gfx and s.os == "linux" and s.state in _FOR]
    every = [r for r in (*(b.rocm for b in _serving(target, matrix)), *stated) if versions.parse(r)]
    return min(every, key=versions.sort_key, default="")


def _brings_rocm(environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if the torch is a ROCm wheel that a step installs, and nothing is built against the ROCm of the image."""
    state = last_state(environment, matrix, target)
    return bool(state and state[0] and state[2].build == "rocm" and state[2].rocm) and not any(
        "gfx" in s.value for s in environment.variables
    )


# Statements that settle whether a release runs a target; absence from a table (not-listed) settles nothing.
_FOR = ("supported", "deprecated", "works-unofficially", "release-ready", "preview")
_AGAINST = ("dropped", "broken")


def release_of(image: str, matrix: Matrix) -> str:
    """The ROCm release of an image: by its tag; behind `rocm/pytorch:latest` the newest that the catalog has."""
    if named := image_facts(image).get("rocm"):
        return named
    repo, tag = image_parts(image)
    if not repo.startswith("rocm/") or tag not in ("", "latest"):
        return ""
    return max((r.version for r in matrix.rocm if versions.parse(r.version)), key=versions.sort_key, default="")


def last_word(rocm: str, target: Target, matrix: Matrix) -> Support | None:
    """The statement on the target that comes last among those on releases up to this one."""
    said = [s for s in matrix.support if target.gpu in s.gfx and s.os == target.os and s.state in _FOR + _AGAINST]
    so_far = [s for s in said if versions.contains(f"<={rocm}", s.since)]
    return max(so_far, key=lambda s: versions.sort_key(s.since), default=None)


def containers(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Containers that train but do not get the devices, or ask for another vendor's."""
    if target.os != "linux":
        return
    handed = any("/dev/kfd" in device for one in environment.containers for device in one.devices)
    for container in environment.containers:
        if container.nvidia and handed and not any("/dev/kfd" in device for device in container.devices):
            continue  # the same script starts one for AMD as well
        if container.nvidia:
            yield _found(
                environment,
                target,
                matrix,
                container,
                title=f"{container.name} asks for an NVIDIA GPU",
                cause="The NVIDIA runtime passes no AMD device into a container.",
                **_remedy(container),
            )
        elif container.kept:
            yield _merged(environment, target, matrix, container, container.kept)
        elif container.reserved == "amd":
            yield _found(
                environment,
                target,
                matrix,
                container,
                severity="warning",
                title=f"{container.name} gets the GPU by a reservation of the driver amd",
                cause="Docker has that driver only where AMD's container toolkit is installed, and starts no container with it anywhere else. No text of the repository names the toolkit.",
                commands=(),
                advice=f"Take the reservation out and add to the service: {_INLINE}. Or say that the toolkit is needed.",
            )
        elif container.reserved and (container.privileged or not lacking(container)):
            yield _found(
                environment,
                target,
                matrix,
                container,
                title=f"{container.name} reserves a device of the driver {container.reserved}, which Docker does not have",
                cause="Docker starts no container for whose driver none is registered: it could not select device driver.",
                commands=(),
                advice="Take the reservation out: the devices are handed over without it.",
            )
        elif container.gpu and not container.privileged:
            yield from _devices(environment, target, matrix, container)
        if container.needed and any("/dev/kfd" in device for device in container.devices):
            yield found(
                matrix,
                "access.container",
                environment,
                target,
                [container.place, container.needed],
                row="",
                title=f"{container.name} depends on a service that asks for an NVIDIA GPU",
                cause="Docker starts that service first, and without NVIDIA's driver it does not start it: this one is not started either.",
                advice=f"Take the device out of that service ({_line(container.needed)}) for AMD, or the service out of depends_on.",
                commands=(),
                sources=("https://docs.docker.com/compose/how-tos/startup-order/",),
            )
        if container.beside and not container.nvidia and environment.purpose.kind == "amd":
            yield found(
                matrix,
                "access.container",
                environment,
                target,
                [container.beside, container.place],
                severity="warning",
                row="",
                title=f"a service for NVIDIA GPUs starts with the profile of {container.name}",
                cause="A service without profiles starts with every profile, and Docker refuses the NVIDIA devices that it reserves.",
                advice="Give that service a profile of its own.",
                commands=(),
                sources=("https://docs.docker.com/compose/how-tos/profiles/",),
            )


def _line(place: Place) -> str:
    return f"line {place.line} of {place.file}"


def _merged(environment: Environment, target: Target, matrix: Matrix, container: Container, kept: Place) -> Finding:
    """A service that is merged over one that reserves NVIDIA devices, which Docker refuses without NVIDIA's toolkit."""
    key = kept.quote.partition(":")[0].strip("- ")
    words = {"runtime": "runtime: runc", "gpus": "gpus: !reset null"}.get(key, "devices: !reset []")
    where = "" if key in ("runtime", "gpus") else " under deploy, resources, reservations"
    return found(
        matrix,
        "access.container",
        environment,
        target,
        [container.place, kept],
        row="",
        title=f"the NVIDIA GPU that {kept.file} asks for stays",
        cause="Compose merges the files: what the one above does not replace stays, and Docker does not start the service without NVIDIA's driver.",
        advice=f"Write `{words}`{where} in each such service of {container.place.file}."
        + (" Compose has that tag from 2.24 on." if "!" in words else ""),
        commands=(),
        sources=("https://docs.docker.com/reference/compose-file/merge/",),
    )


_KEYS = {"devices": ("/dev/kfd", "/dev/dri"), "group_add": ("video", "render")}
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
        first = "Take the NVIDIA runtime out and add" if container.nvidia else "Add"
        devices = " and ".join(f"--device={one}" for one in lacking(container))
        group = "" if container.groups else ", and --group-add with the number of the host's group render"
        where = f"line {container.place.line} of {container.place.file}"
        return {"commands": (), "advice": f"{first} {devices} to {where}{group}."}
    first = "Take out the NVIDIA runtime or device reservation and add" if container.nvidia else "Add"
    if container.reserved:
        first = f"Take out the reservation for the driver {container.reserved}, which Docker does not have, and add"
    return {"commands": (), "advice": f"{first} to the service: {_INLINE}."}


def _devices(environment: Environment, target: Target, matrix: Matrix, container: Container) -> Iterator[Finding]:
    missing = lacking(container)
    if missing:
        sure = (
            container.sure or bool(container.reserved) or any(d.startswith(("/dev/kfd", "/dev/dri")) for d in container.devices)
        )
        builds = not container.devices and (environment.sort == "job" or image_parts(container.image)[0].startswith("rocm/dev-"))
        yield _found(
            environment,
            target,
            matrix,
            container,
            severity="note" if builds and not container.service else "error" if sure else "warning",
            title=f"{container.name} does not get {' and '.join(missing)}",
            cause="Without /dev/kfd and the render nodes under /dev/dri the HIP runtime in the container finds no GPU.",
            **_remedy(container),
        )
    elif not container.shm and container.ipc != "host":
        yield _found(
            environment,
            target,
            matrix,
            container,
            severity="note",
            row="",
            title=f"{container.name} has the default 64 MB of shared memory",
            cause="Data loader workers and RCCL use /dev/shm and die with a bus error when it is full.",
            commands=(),
            advice="Set ipc: host or shm_size (16G is usual).",
        )


def _found(environment: Environment, target: Target, matrix: Matrix, container: Container, **fields: Any) -> Finding:
    return found(matrix, "access.container", environment, target, [container.place], sources=(_DEVICES,), **fields)


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
