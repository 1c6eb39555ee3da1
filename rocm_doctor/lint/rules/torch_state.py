"""Which torch is in an environment after each of its steps: what the base image brings, what a later step puts in its place."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Requirement, Setting, Step, Target
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.rules.addresses import Build
from rocm_doctor.lint.rules.indexes import (
    Torch,
    admits,
    applies,
    is_rebuild,
    marked,
    not_there,
    of_local,
    pinned,
    public,
    resolve,
    sources,
    tagged,
    wanted,
)
from rocm_doctor.lint.rules.own_python import inside, of_its_wheels
from rocm_doctor.lint.rules.requires_torch import (
    COMPANIONS,
    NO_TORCH,
    Requiring,
    as_release,
    is_open,
    pinning,
    requires_torch,
    torch_of,
)
from rocm_doctor.matrix import Matrix

_IMAGE = regex(r"(?:^|/)(?P<repo>[\w.-]+/[\w.-]+)(?::(?P<tag>[\w.-]+))?(?:@\S+)?$")
_TAG_TORCH = regex(r"pytorch_(?:release[_-])?(\d+\.\d+(?:\.\d+)?)")
_TAG_ROCM = regex(r"rocm[-_]?(\d+\.\d+(?:\.\d+)?)")
_TAG_PYTHON = regex(r"py(3\.\d+)")


def image_parts(image: str) -> tuple[str, str]:
    """Repository and tag of an image's name."""
    found = _IMAGE.search(image if "/" in image else "library/" + image)
    return (found["repo"], found["tag"] or "") if found else ("", "")


def image_facts(image: str) -> dict[str, str]:
    """What an image's tag says: rocm, python and torch versions (tags of rocm/pytorch: hub.docker.com/r/rocm/pytorch)."""
    repo, tag = image_parts(image)
    if not repo.startswith("rocm/") and "rocm" not in tag:
        return {}
    if repo.startswith("rocm/dev-") and (plain := re.match(r"(\d+\.\d+(?:\.\d+)?)", tag)):
        return {"rocm": plain[1]}
    named = (("rocm", _TAG_ROCM), ("python", _TAG_PYTHON), ("torch", _TAG_TORCH))
    return {name: m[1] for name, pattern in named if (m := pattern.search(tag))}


def system_rocm(environment: Environment) -> Setting | None:
    """The ROCm release that a step installs from AMD's repositories for the system: the last one. None where an argument chooses it."""
    found = [index for step in environment.steps if step.tool == "system" for index in step.indexes]
    if len({index.url for index in found}) > 1 and any(index.place in environment.unsure for index in found):
        return None
    version = re.search(r"\d+\.\d+(?:\.\d+)?", found[-1].url) if found else None
    return Setting("rocm", version[0], found[-1].place) if version else None


# Images of a system, of Python or of the ROCm tools: they bring no torch.
_BARE = regex(r"^(?:[\w.-]+/)*(?:ubuntu|debian|fedora|centos|rockylinux|almalinux|ubi\d*|opensuse\S*|archlinux|alpine|python|uv|miniconda3|mambaforge"
                   r"|micromamba|devcontainers/\S*|base|dev-\S*|rocm-terminal|cuda|buildpack-deps)(?:[:@-]|$)")  # fmt: skip


def is_bare(image: str) -> bool:
    """True for an image of a system, of Python or of AMD's ROCm tools, which brings no framework; one of others that names ROCm may."""
    name = re.split(r"[:@]", image)[0]
    return _BARE.search(image.lower()) is not None and (name.startswith("rocm/") or "/rocm/" in name or named(name)[0] != "amd")


# AMD's other images bring a ROCm torch, but for those that are made for building; so do images of others that say so.
_WITH_TORCH = regex(r"(?:^|/)rocm/(?!dev-|rocm-terminal|rocm-build|composable|miopen)[\w.-]*(?:torch|vllm|sgl|primus|megatron|jax-training|verl|training)"
                         r"|(?:torch|vllm|sglang|verl|axolotl)[\w./:-]*rocm")  # fmt: skip


def of_image(image: Setting | None) -> Torch | None:
    """The torch that a base image brings; None for an image without one, or one that says nothing."""
    if image is None:
        return None
    repo, tag = image_parts(image.value)
    facts = image_facts(image.value)
    build: Build
    if repo in (
        "rocm/pytorch",
        "rocm/pytorch-training",
        "rocm/vllm",
        "rocm/vllm-dev",
        "rocm/pytorch-nightly",
        "rocm/pytorch-private",
    ) or _WITH_TORCH.search(image.value.lower()):
        build = "rocm"
    elif repo == "pytorch/pytorch":
        build = "rocm" if "rocm" in tag else "cuda"
    elif repo.startswith("nvcr.io") or "nvcr.io" in image.value:
        build = "cuda"
    else:
        return None
    version = facts.get("torch", "") if build == "rocm" else (tag.split("-")[0] if re.match(r"\d", tag) else "")
    return Torch(build, version, facts.get("rocm", ""), image.place, f"the base image {image.value} brings it", explicit=True)


Change = tuple[Step | None, Torch | None, Torch]
"""The step (None: the base image), the torch that was there before, and what is there then."""


def last_state(environment: Environment, matrix: Matrix, target: Target) -> Change | None:
    """The last change of torch: what the environment ends up with. None where nothing brings torch, or where it is uninstalled."""
    states = matrix.once(_states)
    there, wheels = inside(environment, target), of_its_wheels(environment, target)
    key = environment, msgspec.structs.replace(there, python=wheels.value) if wheels else there
    if key not in states:
        states[key] = _last_state(*key, matrix)
    return states[key]


def ends_with_rocm(environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if a ROCm build is the torch that an environment ends up with."""
    state = last_state(environment, matrix, target)
    return state is not None and state[2].build == "rocm"


def _states(_: Matrix) -> dict[tuple[Environment, Target], Change | None]:
    """What was found with a matrix: each rule asks for it."""
    return {}


def _last_state(environment: Environment, target: Target, matrix: Matrix) -> Change | None:
    now = of_image(environment.image)
    last: Change | None = (None, None, now) if now else None
    opaque = now is None and environment.image is not None and not is_bare(environment.image.value)
    # AMD's images for training and serving bring libraries, too.
    repo = image_parts(environment.image.value)[0] if environment.image else ""
    there = (
        {"torchvision", "torchaudio", *(requires_torch(matrix).range if repo != "rocm/pytorch" else ())} if now else set[str]()
    )
    if now and environment.image:
        there |= {name for name in requires_torch(matrix).exact if name in environment.image.value}
    seen = now
    # An image has a Python of its own, known or not.
    python = target.python if environment.python or not environment.image else ""
    for step in environment.steps:
        opaque = opaque or step.opaque
        if "torch" in step.removed:
            now = seen = last = None
        if opaque and now is None and not any(pinned(r.spec) or r.url or step.indexes for r in wanted(step, target)):
            continue  # an image, or wheels without a name, may have brought a torch that satisfies this
        before = None if step.anew else seen if step.apart else now
        then = after(step, before, matrix, target, there, python)
        there |= {r.name for r in step.requirements}
        if then is not None and then is not before:
            last, now = (step, now, then), then
            seen = seen if step.apart else then
    return last


def after(
    step: Step, now: Torch | None, matrix: Matrix, target: Target, there: Collection[str], python: str = ""
) -> Torch | None:
    """The torch after one step; `now` itself when the step leaves it alone. `there`: what earlier steps installed. `python`: what is known
    of the Python.
    """
    asked = wanted(step, target)
    if asked:
        return _asked(step, asked, now, matrix, target, there)
    if another := next((r for r in marked(step.requirements, target) if _BY_ANOTHER_NAME.fullmatch(r.name)), None):
        return Torch("unknown", "", "", another.place, f"{another.name} is asked for, which is none of PyTorch's packages")
    if step.no_deps or step.tool == "lock" or _is_refused(step, target):
        return now
    return _pulled(step, now, matrix, target, there, python)


# A torch for some hardware under a name that PyTorch does not publish: what is there in the end is not the torch of the image.
_BY_ANOTHER_NAME = regex(r"(?:py)?torch-(?:rocm|hip|amd|gfx\w+)")


def _is_refused(step: Step, target: Target) -> bool:
    """True if the torch of a step is a wheel for another Python or system: pip stops there, and takes none from an index."""
    asked = [r for r in step.requirements if r.name == "torch" and r.url and applies(r.marker, target)]
    return step.tool in ("pip", "uv") and bool(asked) and not any(tagged(r.url, target) for r in asked)


def _asked(
    step: Step, asked: list[Requirement], now: Torch | None, matrix: Matrix, target: Target, there: Collection[str]
) -> Torch:
    """torch is named: it stays when it fits and nothing forces another, else it is resolved anew."""
    one = asked[-1]
    spec = ",".join(dict.fromkeys(r.spec for r in (*asked, *(c for c in step.constraints if c.name == "torch")) if r.spec))
    local = of_local(spec, one.url)
    beside = pinning(marked(step.requirements, target), matrix) if not local and not pinned(spec) and not step.no_deps else []
    if by := next((p for p in beside if admits(spec, p[1])), None):
        found = _asked_as(step, one, f"=={by[1]}", now, matrix, target)
        why = f"{by[0].name} {pinned(by[0].spec)} requires torch=={by[1]}, and {found.why}"
        return found if found is now else found._replace(place=by[0].place, why=why)
    if now is not None and not local and not step.no_deps and is_open(spec):
        spec = ",".join(filter(None, (spec, _by_companions(step, now, matrix, target, there))))
    return _asked_as(step, one, spec, now, matrix, target)


def _by_companions(step: Step, now: Torch, matrix: Matrix, target: Target, there: Collection[str]) -> str:
    """The torch that a torchvision or torchaudio requires which the step brings, where that is not the one that is there."""
    brought = [r for r in marked(step.requirements, target) if r.name in COMPANIONS and not r.url and r.name not in there]
    needs = (torch_of(r, step, matrix, target) for r in brought)
    return next((spec for spec in needs if spec not in ("", NO_TORCH) and now.version and not admits(spec, now.version)), "")


def _asked_as(step: Step, one: Requirement, spec: str, now: Torch | None, matrix: Matrix, target: Target) -> Torch:
    """torch as one range: what is there where that fits, else what the indexes have."""
    local = of_local(spec, one.url)
    same = now is not None and (not local or (local[0], local[1] or now.rocm) == (now.build, now.rocm))
    if now is not None and same and not step.upgrade and _fits(now, spec):
        return now
    return _resolved(step, one, spec, local, matrix, target)


def _fits(now: Torch, spec: str) -> bool:
    """True if the torch that is there satisfies a range; an unknown version satisfies an open one."""
    return admits(spec, now.version) if now.version else not pinned(spec)


# AMD's own builds, which its images bring: a list that pins one is for such an image, and needs no index.
_OF_AMD = regex(r"\+rocm[\d.]+(?:lw|git)")


def _resolved(step: Step, one: Requirement, spec: str, local: tuple[Build, str] | None, matrix: Matrix, target: Target) -> Torch:
    if step.tool == "conda":
        return _conda(step, one)
    if local:
        version = pinned(spec) or one.spec.lstrip("=").split("+")[0]
        asked, _ = sources(step, "torch", target)
        if local[0] == "rocm" and not one.url and all(source.origin is None for source in asked) and not _OF_AMD.search(one.spec):
            why = f"the default package index has no {one.name}{one.spec}, and no other index is asked"
            return Torch("none", "", local[1], one.place, why)
        if local[0] == "rocm" and not one.url and (why := not_there(asked, one.spec, matrix, target)):
            return Torch("none", "", local[1], one.place, why)
        return Torch(local[0], version, local[1], one.place, f"it is pinned as {one.spec or one.url}", explicit=True)
    if is_rebuild(one):
        return Torch("unknown", pinned(spec), "", one.place, f"it is pinned as {one.spec}, a build of others", explicit=True)
    if step.tool != "lock" and ("://" in one.url or one.url.endswith(".whl")):
        return Torch("unknown", pinned(spec), "", one.place, f"it comes from {one.url}", explicit=True)
    return resolve(step, spec, one.place, matrix, target)


def _conda(step: Step, one: Requirement) -> Torch:
    """`pytorch` and conda-forge have CPU and CUDA builds of torch; what a channel or a build has that is called by ROCm or by AMD is not known."""
    if any(_OF_ROCM.search(words) for words in (one.url, *(channel.url for channel in step.indexes))):
        return Torch("unknown", pinned(one.spec), "", one.place, "a channel or a build for ROCm is asked for")
    cpu = any(r.name == "cpuonly" for r in step.requirements) or "cpu" in one.url.split("=")[-1]
    return Torch(
        "cpu" if cpu else "cuda", pinned(one.spec), "", one.place, "conda channels carry CPU and CUDA builds of torch only"
    )


_OF_ROCM = regex(r"rocm|(?<![a-z])(?:hip|amd)(?![a-z])", re.I)
_NAMES_CUDA = regex(r"cuda|cudnn|nvidia|-gpu$")


def is_either(step: Step) -> bool:
    """True if conda chooses the build: a CUDA one where it finds a driver of NVIDIA's, and nothing that is asked for names CUDA."""
    return step.tool == "conda" and not any(_NAMES_CUDA.search(f"{r.name}={r.url}") for r in step.requirements)


def _pulled(step: Step, now: Torch | None, matrix: Matrix, target: Target, there: Collection[str], python: str) -> Torch | None:
    """A step that does not name torch: packages with an exact torch replace it, others bring one where there is none."""
    known = requires_torch(matrix)
    asked = (r for r in marked(step.requirements, target) if not r.url.startswith("conda:") and not is_rebuild(r))
    needed = [as_release(r, known.repository) for r in asked]
    if now is None:
        bring = (r for r in needed if r.name in known.range or r.name in known.exact or "torch" in r.extras)
        puller, spec = next(((r, spec) for r in bring if (spec := torch_of(r, step, matrix, target)) != NO_TORCH), (None, ""))
        return _brought(step, puller, spec, matrix, target) if puller else None
    if _is_held(now, step):
        return now
    for r in needed:
        spec = torch_of(r, step, matrix, target)
        if _takes_newest(r.name, known, python) and (step.upgrade or r.name not in there) and _replaces(r, now, spec):
            return _brought(step, r, spec, matrix, target)
        through = known.through.get(r.name, "")
        if through not in {"", *there, *(other.name for other in needed)} and _brings_newest(
            step, r, through, known, python, target
        ):
            newest = known.newest.get(through, "")
            if newest and now.version and not _fits(now, newest):
                return resolve(step, newest, r.place, matrix, target)._replace(
                    why=f"{r.name} requires {through}, whose newest release requires torch{newest}"
                )
    return now


def _limits(step: Step) -> str:
    """The torch that the constraints of a step allow; empty where they name none."""
    return ",".join(dict.fromkeys(c.spec for c in step.constraints if c.name == "torch" and c.spec))


def _is_held(now: Torch, step: Step) -> bool:
    """True if a constraint pins the torch that is there: pip takes a release of each package that goes with it, or none at all."""
    return bool(now.version) and public(pinned(_limits(step))) == now.version and not step.anew and not step.apart


def _brings_newest(step: Step, r: Requirement, through: str, known: Requiring, python: str, target: Target) -> bool:
    """True if pip takes the newest release of what a package requires: from the package index, for a Python that is known to have it."""
    asked, first = sources(step, through, target)
    allowed = known.python.get(r.name, "")
    return (
        not r.url
        and is_open(r.spec)
        and (not allowed or bool(python and admits(allowed, python)))
        and any(source.public for source in (asked[:1] if first else asked))
    )


def _takes_newest(name: str, known: Requiring, python: str) -> bool:
    """True if what the catalog says of a package's releases holds for the Python."""
    allowed = known.python.get(name, "")
    return (name in known.exact or name in known.newest) and (not allowed or bool(python and admits(allowed, python)))


def _replaces(r: Requirement, now: Torch, needs: str) -> bool:
    """True if installing this package needs another torch than the one that is there."""
    if of_local(r.spec, r.url) or r.url:
        return False
    if needs == NO_TORCH:
        return False
    if needs:
        return not _fits(now, needs) if now.version else False
    return is_open(r.spec)


def _brought(step: Step, puller: Requirement, spec: str, matrix: Matrix, target: Target) -> Torch:
    limits = _limits(step)
    found = resolve(step, limits if pinned(limits) else ",".join(filter(None, (spec, limits))), puller.place, matrix, target)
    exact = puller.name in requires_torch(matrix).exact or bool(pinned(spec))
    own = not is_open(puller.spec)
    if exact and not spec:
        found = found._replace(version="")  # each release has a torch of its own
    needs = f"requires torch{spec}" if spec and not pinned(spec) else "requires torch"
    if exact and needs == "requires torch":
        needs = f"requires one exact torch ({spec or ('that of its release' if own else 'that of its newest release')})"
    return found._replace(why=f"{puller.name} {needs}, and {found.why}")
