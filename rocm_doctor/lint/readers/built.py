"""Images that another file has built: services of compose, and commands that build with arguments of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.lint.declared import Environment, Purpose, ReadProblem
from rocm_doctor.lint.environments.purpose import with_purpose
from rocm_doctor.lint.readers import compose, dockerfile
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.shell import Build, Made

BRING_TORCH = frozenset(("torch", "torchvision", "torchaudio", "xformers", "vllm"))
"""Packages that come with a torch, or bring one."""


def services(tree: Tree, path: str, built: set[tuple[Build, str]], files: Sequence[str]) -> Iterator[Made]:
    """The services of a compose file, one of `files`; one that is built is read as its Dockerfile, with the context that it names."""
    every = list(compose.environments(tree, path, files))
    handed = any(_gets_gpu(service) for service, _, _ in every)
    for service, build, template in every:
        image: list[Made] = []
        if build and tree.is_file(build.dockerfile) and dockerfile.lacks_stage(tree, build):
            alone = sum(folder_of(file) == folder_of(path) for file in files) == 1  # another file may name another stage
            said = f"{build.dockerfile} has no stage {build.target}, which {service.name} is built as"
            problem = ReadProblem(service.place, said, "stage" if alone else "contents")
            service = msgspec.structs.replace(service, unresolved=(*service.unresolved, problem))
        elif build and tree.is_file(build.dockerfile):
            image = list(dockerfile.environments(tree, build.dockerfile, build))
        own = with_purpose(service, frozenset()).purpose
        other = dockerfile.for_others(tree, build) if build and image else ""
        if len(image) == 1 and build and (build, own.kind) not in built:
            one, used = image[0]
            if build.arguments or build.target or own.kind != "neutral":
                one = msgspec.structs.replace(
                    one, name=f"{service.name} by {build.dockerfile}", labels=(*service.labels, *one.labels),
                    purpose=own if own.kind != "neutral" else one.purpose, given=_given(build),
                )  # fmt: skip
            if (
                handed
                and own.kind == "amd"
                and not _gets_gpu(service)
                and with_purpose(image[0][0], frozenset()).purpose.kind != "amd"
            ):
                # Beside the service that gets the GPU, one that gets none is made to do without.
                one = msgspec.structs.replace(one, purpose=Purpose("cpu", f"{service.name} gets no GPU", service.place))
            elif own.kind == "amd" and other:
                problem = ReadProblem(
                    service.place,
                    f"{other} is a build argument that is for other hardware by default, and the service gives it no value",
                    "argument",
                )
                one = msgspec.structs.replace(one, unresolved=(*one.unresolved, problem))
            built.add((build, own.kind))
            yield one, used
        purpose = own
        if own.kind == "neutral":
            purpose = with_purpose(image[-1][0], frozenset()).purpose if image else Purpose()
        asked = own.kind == "amd" or (purpose.kind == "amd" and not other)
        if asked and image and not template and _uses_gpu(image[-1][0]):
            service = msgspec.structs.replace(
                service, containers=tuple(msgspec.structs.replace(c, gpu=True) for c in service.containers)
            )
        if image:  # what the result is called
            service = msgspec.structs.replace(
                service,
                containers=tuple(msgspec.structs.replace(c, image="") for c in service.containers),
                built=image[0][0] if len(image) == 1 and build and not build.arguments else None,
            )
        yield msgspec.structs.replace(service, purpose=purpose), ()


def _given(build: Build) -> tuple[str, ...]:
    return tuple(name for name, _ in build.arguments)


def _gets_gpu(service: Environment) -> bool:
    """True if a service gets the device of AMD GPUs, or all devices."""
    return any(c.privileged or any("/dev/kfd" in d for d in c.devices) for c in service.containers)


def _uses_gpu(image: Environment) -> bool:
    """True if an image has something for a GPU: a base of AMD's, or torch."""
    # A tag that a build argument gives is not known; whose image it is stays written.
    base = (image.image.value or image.image.place.quote.removeprefix("FROM ").strip()) if image.image else ""
    return base.startswith("rocm/") or any(r.name in BRING_TORCH for step in image.steps for r in step.requirements)


def images(tree: Tree, by: Environment, builds: Sequence[Build]) -> Iterator[Made]:
    """The images that commands build with arguments of their own, called by the target, script or job that builds them."""
    for build in dict.fromkeys(builds):
        made = list(dockerfile.environments(tree, build.dockerfile, build)) if build.arguments or build.target else []
        for one, used in made if len(made) == 1 else ():
            tag = build.tag.rsplit("/", 1)[-1]
            yield (
                msgspec.structs.replace(
                    one, name=f"{build.dockerfile} by {by.name}", labels=(*by.labels, tag, *one.labels), given=_given(build)
                ),
                used,
            )
