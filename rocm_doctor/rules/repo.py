"""Judgements on what a repository declares. Each is a function of one unit and one target; the table is what runs, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rocm_doctor import versions
from rocm_doctor.declared import Container, Requirement, Step, Target, Unit
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Severity
from rocm_doctor.rules.repo_config import config, packages
from rocm_doctor.rules.repo_index import Torch, applies, of_local, pinned, said, sources, wanted
from rocm_doctor.rules.repo_torch import EXACT, image_facts, image_parts, of_image, states
from rocm_doctor.rules.repo_words import found

RepoRule = Callable[[Unit, Target, Matrix], Iterable[Finding]]
_PIP = "https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages"
_DEVICES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"


def torch_build(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """`version.torch-not-rocm` where the environment ends up with a CUDA or CPU torch, naming what put it there."""
    steps = list(states(unit, matrix, target))
    if not steps:
        return
    step, before, last = steps[-1]
    if last.build == "none":
        yield _no_wheel(unit, target, matrix, last)
    if step is None or last.build not in ("cuda", "cpu") or (last.build == "cpu" and last.explicit):
        return
    replaced = before is not None and before.build == "rocm"
    what = said(last.build, last.version)
    title = f"the ROCm torch is replaced by {what}" if replaced else f"torch resolves to {what}"
    places = [last.place, *([last.origin.place] if last.origin else []), *([before.place] if replaced and before else [])]
    yield found(
        matrix, "version.torch-not-rocm", unit, target, places, severity=_weight(unit, step), title=title,
        cause=f"{last.why[0].upper()}{last.why[1:]}.", advice=_advice(step, replaced), commands=_command(step, last, matrix, target),
        sources=(_PIP, *matrix.diagnoses["version.torch-not-rocm"].sources),
    )  # fmt: skip


def _weight(unit: Unit, step: Step) -> Severity:
    """A list that names no torch may be meant to be installed beside one: that is a note, all else is an error."""
    named = any(r.name == "torch" or r.name in EXACT for r in step.requirements)
    return "error" if named or unit.image or step.tool == "lock" else "note"


def _advice(step: Step, replaced: bool) -> str:
    if step.tool == "lock":
        return "Bind torch to a ROCm index in pyproject.toml and lock again."
    if step.tool == "uv":
        return "Bind torch to a ROCm index: an explicit [[tool.uv.index]] and [tool.uv.sources] torch = { index = ... }."
    if step.tool == "conda":
        return "Leave torch out of the conda packages and install it in the pip section from a ROCm index."
    end = " and keep it with a constraints file (-c) in later steps." if replaced else "."
    return "Install torch first, from the ROCm index alone (--index-url) or pinned with its local part" + end


def _command(step: Step | None, last: Torch, matrix: Matrix, target: Target) -> tuple[str, ...]:
    """The pinned requirement of the newest build that serves the card, for the target's Python and ROCm."""
    python = "cp" + "".join(target.python.split(".")[:2]) if target.python else ""
    series = versions.series(target.rocm) if target.rocm else None
    fit = [b for b in matrix.torch if target.gpu in b.gfx and (not b.blas or target.gpu in b.blas) and b.index.startswith("http")]
    fit = [b for b in fit if (not python or python in b.pythons) and (series is None or versions.series(b.rocm) == series)]
    best = max(fit, key=lambda b: versions.sort_key(b.torch), default=None)
    if best is None:
        return (f"rocm-doctor plan --gpu {target.gpu}",) if target.gpu else ()
    tool = "uv pip" if step and step.tool == "uv" else "pip"
    return (f'{tool} install "torch=={best.local}" --index-url {best.index}',)


def _no_wheel(unit: Unit, target: Target, matrix: Matrix, last: Torch) -> Finding:
    python = target.python and f"for Python {target.python}" in last.why
    return found(
        matrix, "version.python-unsupported" if python else "version.wheel-missing", unit, target,
        [last.place, *([last.origin.place] if last.origin else [])], title=f"no torch can be installed here: {last.why}",
        cause=f"{last.why[0].upper()}{last.why[1:]}.", commands=_command(None, last, matrix, target),
    )  # fmt: skip


def unsafe_indexes(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm index beside the default one with an open range: today's result changes with the next release elsewhere."""
    for step in unit.steps:
        asked, first = sources(step, "torch", target.os)
        rocm = next((s.origin for s in asked if s.build == "rocm" and s.origin), None)
        others = [s for s in asked if s.build != "rocm"]
        open_ones = [r for r in wanted(step, target) if not pinned(r.spec) and not of_local(r.spec, r.url)]
        last = list(states(unit, matrix, target))
        if first or not rocm or not others or not open_ones or not last or last[-1][2].build != "rocm":
            continue
        yield found(
            matrix, "version.torch-not-rocm", unit, target, [open_ones[-1].place, rocm.place], severity="warning", confidence="medium",
            row="", title="an open torch range over a ROCm index and the default one: the next release there replaces the ROCm build",
            cause=f"All indexes are searched and the highest version wins ({'uv: ' + step.strategy if step.strategy else 'pip'}).",
            advice="Pin torch to one version, or give it the ROCm index alone.", sources=(_PIP,),
        )  # fmt: skip


def companions(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """torchvision or torchaudio of another torch release, or from an index that torch does not come from."""
    last = list(states(unit, matrix, target))
    if not last or last[-1][2].build != "rocm":
        return
    torch = last[-1][2]
    build = next((b for b in matrix.torch if b.local == torch.local), None) or next(
        (b for b in matrix.torch if b.torch == torch.version), None
    )
    for step in unit.steps:
        for r in step.requirements:
            if r.name in ("torchvision", "torchaudio") and applies(r.marker, target):
                right = getattr(build, r.name).split("+")[0] if build else ""
                yield from _companion(unit, target, matrix, step, r, torch, right)


def _companion(
    unit: Unit, target: Target, matrix: Matrix, step: Step, r: Requirement, torch: Torch, right: str
) -> Iterator[Finding]:
    version = pinned(r.spec)
    if version and right and torch.version and version != right:
        yield found(
            matrix, "version.companion-mismatch", unit, target, [r.place, torch.place], row="",
            title=f"{r.name} {version} does not belong to torch {torch.version}; {right} does",
            commands=(f'pip install "{r.name}=={right}"',),
        )  # fmt: skip
        return
    origin = of_local(r.spec, r.url)
    asked, first = sources(step, r.name, target.os)
    build = origin[0] if origin else asked[0].build if first or len(asked) == 1 else "unknown"
    if build in ("cuda", "cpu"):
        yield found(
            matrix, "version.companion-mismatch", unit, target, [r.place, torch.place],
            title=f"{r.name} comes as {said(build)}, torch as a ROCm build",
            cause=f"{r.name} is not bound to the index that torch comes from: its compiled operators do not load beside a ROCm torch.",
            advice=f"Bind {r.name} to the ROCm index as well.",
        )  # fmt: skip


def pythons(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """The Python of the unit (or of the target) for which the chosen torch build has no wheel."""
    last = list(states(unit, matrix, target))
    python = (
        unit.python.value
        if unit.python and unit.python.value[:1].isdigit()
        else image_facts(unit.image.value).get("python", "")
        if unit.image
        else ""
    )
    given = (python or target.python).split(".")[:2]
    build = next((b for b in matrix.torch if last and b.local == last[-1][2].local), None)
    if (
        len(given) == 2
        and build
        and build.local
        and build.pythons
        and last[-1][0] is not None
        and f"cp{''.join(given)}" not in build.pythons
    ):
        places = [last[-1][2].place, *([unit.python.place] if unit.python and python else [])]
        yield found(
            matrix, "version.python-unsupported", unit, target, places, title=f"torch {build.local} has no wheel for Python {'.'.join(given)}",
            cause=f"Its wheels are for {', '.join(build.pythons)}.", sources=build.sources,
        )  # fmt: skip


def base_image(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A CUDA base image, or a ROCm image of a release that dropped the target."""
    if unit.image is None or not unit.image.value:
        return
    repo, _ = image_parts(unit.image.value)
    last = list(states(unit, matrix, target))[-1:]
    brings = of_image(unit.image)
    if (
        repo.startswith("nvidia/")
        or "nvcr.io" in unit.image.value
        or (brings and brings.build == "cuda" and last[0][2].build != "rocm")
    ):
        yield found(
            matrix, "version.torch-not-rocm", unit, target, [unit.image.place], row="", title=f"the base image {unit.image.value} is for NVIDIA GPUs",
            cause="It brings CUDA libraries and no HIP runtime.", advice="Start from a rocm/ image whose tag names your ROCm release.",
        )  # fmt: skip
    rocm = image_facts(unit.image.value).get("rocm", "")
    for said_so in matrix.support if rocm else ():
        if (
            target.gpu in said_so.gfx
            and said_so.os == target.os
            and said_so.state in ("dropped", "broken")
            and _within(rocm, said_so.since, said_so.until)
        ):
            yield found(
                matrix, "arch.dropped-by-rocm", unit, target, [unit.image.place], severity="warning", confidence="medium",
                title=f"the base image has ROCm {rocm}, which no longer has {target.gpu}", cause=said_so.words, sources=said_so.sources,
                grade=said_so.grade, advice=f"Take an image of a ROCm release that lists {target.gpu}.",
            )  # fmt: skip
            return


def _within(version: str, since: str, until: str) -> bool:
    try:
        return versions.contains(f">={since}", version) is True and (
            not until or versions.contains(f"<={until}", version) is True
        )
    except ValueError:
        return False


def containers(unit: Unit, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Containers that train but do not get the devices, or ask for another vendor's."""
    if target.os != "linux":
        return
    for container in unit.containers:
        if container.nvidia:
            yield found(
                matrix, "access.container", unit, target, [container.place], title=f"{container.name} asks for an NVIDIA GPU",
                cause="The NVIDIA runtime passes no AMD device into a container.", commands=(_passed(container),), sources=(_DEVICES,),
            )  # fmt: skip
        elif container.gpu and not container.privileged:
            yield from _devices(unit, target, matrix, container)


def _devices(unit: Unit, target: Target, matrix: Matrix, container: Container) -> Iterator[Finding]:
    have = {d.split(":")[0].rstrip("/") for d in container.devices}
    missing = [
        d for d in ("/dev/kfd", "/dev/dri") if not any(h == d or h.startswith(d + "/") or d.startswith(h + "/") for h in have)
    ]
    if missing:
        yield found(
            matrix, "access.container", unit, target, [container.place], title=f"{container.name} does not get {' and '.join(missing)}",
            cause="Without /dev/kfd and the render nodes under /dev/dri the HIP runtime in the container finds no GPU.",
            commands=(_passed(container),), sources=(_DEVICES,),
        )  # fmt: skip
    elif not container.shm and container.ipc != "host":
        yield found(
            matrix, "access.container", unit, target, [container.place], severity="note", row="",
            title=f"{container.name} has the default 64 MB of shared memory",
            cause="Data loader workers and RCCL use /dev/shm and die with a bus error when it is full.", commands=(), sources=(_DEVICES,),
            advice="Set ipc: host or shm_size (16G is usual).",
        )  # fmt: skip


def _passed(container: Container) -> str:
    image = container.image or "IMAGE"
    return f"docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add render --ipc=host {image}"


REPO_RULES: tuple[RepoRule, ...] = (torch_build, unsafe_indexes, companions, pythons, base_image, containers, packages, config)
