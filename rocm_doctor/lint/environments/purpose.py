"""Whom an environment is for, and what says so: its folder, its name, its image and devices, its indexes, packages, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, For, Place, Purpose
from rocm_doctor.lint.environments.words import Kind, named, words_of

_VENDORED = frozenset((
    "third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "submodules", "external", "extern",
    "repositories", "dependencies", "site-packages",
))  # fmt: skip
_DOCUMENTATION = frozenset(("docs", "doc", "documentation", "website", "wiki", "blog", "blogs"))
RETIRED = frozenset((
    "legacy", "archive", "archived", "deprecated", "retired", "old", "attic", "obsolete", "outdated", "unused", "backup",
    "backups", "bak", "history", "historical",
))  # fmt: skip
"""Folders of what is used no more."""
EXAMPLES = RETIRED | frozenset((
    "examples", "example", "demo", "demos", "tutorials", "tutorial", "notebooks", "samples", "cookbook", "cookbooks", "recipes",
    "research", "projects", "contrib", "community", "benchmarks", "benchmark", "playground", "experimental", "fixtures",
    "extensions", "extension", "plugins", "template", "templates", "extensions-builtin",
))  # fmt: skip
_TESTS = frozenset(("test", "tests", "testing", "ci", "lint", ".ci", ".buildkite", ".circleci", ".jenkins", "e2e"))
_NOT_TRAINING = frozenset(
    (
        "ci",
        "docs",
        "doc",
        "dev",
        "test",
        "tests",
        "testing",
        "lint",
        "style",
        "build",
        "quality",
        "bench",
        "mypy",
        "ruff",
        "profile",
        "profiling",
        "profiler",
        "debug",
    )
)

ASIDE = EXAMPLES | _TESTS | _DOCUMENTATION | _VENDORED
"""Folders beside what a repository is for: what cannot be read there does not leave the verdict open."""

INSTALLING = frozenset((
    "docker", "dockerfiles", "requirements", ".github", "workflows", "ci", ".ci", "scripts", "script", "install", "installers", "setup",
    "env", "envs", "environments", ".devcontainer", "build", "deploy", "containers", "container", "config", "configs", "tools",
))  # fmt: skip
"""Folders that hold how a project is installed, and not a project of their own."""

JUDGED = ("amd", "neutral")
"""Whom the environments are for that are judged on Linux."""

_NVIDIA_IMAGE = regex(
    r"(?:^|/)nvidia/|nvcr\.io|(?:^|[-_/:.])cu(?:da)?-?\d{2,3}|cuda|tensorrt|^runpod/|anyscale/ray-llm|huggingface/.*-gpu|deepspeed/deepspeed|"
    r"winglian/axolotl|axolotlai/|verlai/|verl/|vllm/vllm-openai|lmsysorg/sglang:(?!.*rocm)|modal"
)
_AMD_IMAGE = regex(r"(?:^|/)rocm/|rocm|amdgpu|gfx\d|[-_/]amd\b|[-_/:]hip\b|strix|mi[23]\d\d")
_OTHER_IMAGES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("amd", _AMD_IMAGE),
    ("nvidia", _NVIDIA_IMAGE),
    ("other", regex(r"habana|neuron|ascend|quay\.io/ascend|sourcefind\.cn|/dcu|tpu|xla|ppc64le|s390x")),
    ("intel", regex(r"intel/|oneapi|xpu|gaudi")),
)
_INDEXES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("amd", regex(r"rocm|\.amd\.com|radeon", re.I)),
    ("nvidia", regex(r"/cu\d{2,3}|nvidia|^torch-backend:cu|cuda", re.I)),
    ("intel", regex(r"xpu|intel|habana", re.I)),
    ("other", regex(r"neuron|ascend|libtpu|xla|jetson|directml", re.I)),
    ("cpu", regex(r"/cpu(?:/|$)|^torch-backend:cpu", re.I)),
)
_PACKAGES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("amd", regex(r"pytorch-triton-rocm|triton-rocm|onnxruntime-rocm|tensorflow-rocm|amdsmi|.*-rocm\d*|rocm(?:-sdk.*)?|jax-rocm.*")),
    ("nvidia", regex(r"nvidia-(?!ml-py|nvimgcodec|smi).*|.*-cu1\d|pytorch-cuda|cudatoolkit|cuda(?:-toolkit|-nvcc|-runtime|-version)?|cudnn"
                          r"|tensorrt.*|torch-tensorrt|jax-cuda.*|transformer-engine.*")),
    ("intel", regex(r"intel-extension-for-pytorch|oneccl.*|habana.*|optimum-habana|openvino.*|ipex-llm.*")),
    ("apple", regex(r"mlx(?:-.*)?|tensorflow-metal|coremltools")),
    ("other", regex(r"torch-npu|torch-neuronx?|neuronx?-.*|torch-xla|(?:torch|tensorflow)-directml(?:-plugin)?|pytorch-ocl|libtpu.*|torch-mlu")),
    ("cpu", regex(r"cpuonly|pytorch-cpu")),
)  # fmt: skip
_VARIABLES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("amd", regex(r"HSA_\w+|HIP_\w+|ROCR_\w+|ROCM_\w+|PYTORCH_ROCM_ARCH|AMDGPU_\w+|MIOPEN_\w+|FLASH_ATTENTION_TRITON_AMD_ENABLE"
                       r"|GPU_ARCHS|AITER_\w+|BNB_ROCM_ARCH|PYTORCH_HIP_\w+|TORCH_BLAS_PREFER_HIPBLASLT")),
    ("nvidia", regex(r"NVIDIA_\w+|CUDA_HOME|TORCH_CUDA_ARCH_LIST|CUDA_VERSION|CUDAARCHS|NVCC_\w*|CUDA_ARCH\w*")),
)  # fmt: skip
_NVIDIA_RUNNERS = regex(
    r"nvidia|\bg[456]\w*\.|aws-g|aws_g|\bp[345]d?\.|a10g?|\b[ahl]100|\bt4\b|\bl40?s?\b|gpu-t4|tesla|cuda|4090|3090|gh200"
)
_HOSTED = regex(r"^(?:ubuntu|windows|macos|linux\.\d*x|blacksmith|depot)-?")


def is_hosted(environment: Environment) -> bool:
    """True if an environment is a job on a hosted runner, which has no GPU: it builds, and runs nothing of what it builds."""
    runners = environment.labels[1:2]
    return environment.sort == "job" and any(_HOSTED.match(r.lower()) and named(r)[0] != "amd" for r in runners)


def purpose_of(
    environment: Environment, vendored: frozenset[str] = frozenset(), projects: frozenset[str] = frozenset()
) -> Purpose:
    """Whom an environment is for. Where it lies comes first, then its name, then what it is made of. The name of a folder that is a
    project of its own comes last: not all that a project called by AMD holds is for AMD. `projects`: such folders, and files called by a processor.
    """
    file = environment.place.file
    folders = file.lower().split("/")[:-1]
    if aside := lies_in(file, vendored):
        return aside
    name, project = _named(environment, folders, projects)
    made = _made_of(environment)
    if (
        name is not None
        and name.kind == "amd"
        and made is not None
        and made.direct
        and (made.kind == "other" or _is_cpu_only(made))
    ):
        return made  # DirectML and OpenCL run on AMD GPUs, and need no ROCm; a list with `cpuonly` is for AMD's processors
    if name is not None and not project:
        return name
    side = next((f for f in folders if f in _TESTS), "")
    if side and environment.sort != "job":
        return Purpose("test", f"folder {side}", Place(file, 1))
    if environment.sort == "job":
        own = _job(environment, None)
        if own.kind == "amd" and (made is None or made.kind != "amd"):
            return own
        return made if made and made.kind != "cpu" else _job(environment, made)
    if made is not None and (made.kind == "amd" or environment.sort != "configuration"):
        return made
    if name is not None:
        return name
    example = example_of(environment)
    if example and environment.sort != "configuration":
        return Purpose("example", f"folder {example}", Place(file, 1))
    stem = set(words_of(file.rsplit("/", 1)[-1]))
    if stem & _NOT_TRAINING and environment.sort in ("requirements", "image", "conda", "configuration", "script"):
        return Purpose("test", f"{sorted(stem & _NOT_TRAINING)[0]} in its name", Place(file, 1))
    return Purpose()


_IMAGES = frozenset(("images", "image", "docker", "dockerfiles", "containers"))


def example_of(environment: Environment) -> str:
    """The folder of examples that an environment is in, or the word in its name that says it is used no more; empty for none. Under a folder of
    images it says what kind of image one is.
    """
    folders = environment.place.file.lower().split("/")[:-1]
    said = (folder if folder in EXAMPLES else next((w for w in words_of(folder) if w in RETIRED), "") for folder in folders)
    at, word = next(((n, word) for n, word in enumerate(said) if word), (0, ""))
    return "" if environment.sort == "image" and set(folders[:at]) & _IMAGES else word


def lies_in(file: str, vendored: frozenset[str]) -> Purpose | None:
    """What the folders of a file say, whatever it holds: vendored, documentation, the scripts of a hosted CI."""
    folders = file.lower().split("/")[:-1]
    for there, kind, words in _where(file, folders, vendored):
        if there:
            return Purpose(kind, words, Place(file, 1))
    return None


def _where(file: str, folders: list[str], vendored: frozenset[str]) -> Iterator[tuple[bool, For, str]]:
    third = next(
        (f for f in folders if f in _VENDORED or f.endswith(("_repo", "-repo", "-patch", "_patch", "-fork", "_fork"))), ""
    )
    yield bool(third), "vendored", f"folder {third}"
    module = next((v for v in vendored if file.startswith(v + "/")), "")
    yield bool(module), "vendored", f"submodule {module}"
    docs = next((f for f in folders if f in _DOCUMENTATION), "")
    yield bool(docs), "documentation", f"folder {docs}"
    yield file.startswith(".github/") and not file.endswith((".yml", ".yaml")), "ci", "folder .github"


def _is_cpu_only(made: Purpose) -> bool:
    """True if a package says that a list is for the CPU; an index of CPU builds may be a fault of one for GPUs."""
    return made.kind == "cpu" and made.words.startswith("package")


def _named(environment: Environment, folders: list[str], projects: frozenset[str]) -> tuple[Purpose | None, bool]:
    """What its own name says: the job, service, stage or extra before the file, the file before its folders; and whether only the
    folder of a project says it.
    """
    file = environment.place.file
    stem = file.rsplit("/", 1)[-1]
    # Runner labels and matrix values are not names; they are read with the jobs.
    own = environment.labels if environment.sort != "job" else environment.labels[:1]
    for depth, name in enumerate((*own, stem, *reversed(folders)), -len(own) - 1):
        if depth == -1 and file in projects:
            continue  # it is called by a processor
        kind, word = named(name)
        if kind != "neutral":
            folder = file.rsplit("/", depth + 1)[0] if depth >= 0 else ""
            return Purpose(kind, f"{word} in {name}", environment.place), folder in projects
    return None, False


def _made_of(environment: Environment) -> Purpose | None:
    """What it is made of; AMD before others, so that a mixture is judged, and what settles it before what only tunes it."""
    found = sorted(_evidence(environment), key=lambda purpose: not purpose.direct)
    mixed = {"amd", "nvidia"} <= {purpose.kind for purpose in found if purpose.direct}
    for direct in (True, False):
        for kind in ("amd", "nvidia", "intel", "apple", "other", "cpu"):
            for purpose in found:
                if purpose.kind == kind and purpose.direct is direct:
                    return msgspec.structs.replace(purpose, direct=purpose.direct and not mixed)
    return None


def _evidence(environment: Environment) -> Iterator[Purpose]:
    if environment.image:
        for kind, pattern in _OTHER_IMAGES:
            if pattern.search(environment.image.value.lower()):
                yield Purpose(kind, f"image {environment.image.value}", environment.image.place)
                break
    for container in environment.containers:
        image = container.image.lower()
        if any("/dev/kfd" in d for d in container.devices) or _AMD_IMAGE.search(image):
            yield Purpose("amd", f"container {container.name}", container.place)
        elif container.nvidia or _NVIDIA_IMAGE.search(image):
            yield Purpose("nvidia", f"container {container.name}", container.place)
    for step in environment.steps:
        for index in step.indexes:
            if index.marker == "" or step.tool == "lock":
                yield from _first(_INDEXES, index.url, index.place, "index") if not index.only or "torch" in index.only else ()
        for r in step.requirements:
            if step.tool != "lock":
                yield from _first(_PACKAGES, r.name, r.place, "package", whole=True)
            if r.name == "torch" and re.search(r"index-url\S*\s*\S*rocm", r.place.quote):
                yield Purpose("amd", f"index in {r.place.quote}", r.place)
            if r.name == "torch" and (m := re.search(r"\+(rocm|cu\d|cpu)|(rocm|/cu\d{2,3}|/cpu/)", r.spec + " " + r.url)):
                word = m[1] or m[2].strip("/")
                yield Purpose("amd" if word == "rocm" else "cpu" if word == "cpu" else "nvidia", f"torch {r.spec}", r.place)
    for s in environment.variables:
        for purpose in _first(_VARIABLES, s.name, s.place, "variable", whole=True):
            yield msgspec.structs.replace(purpose, direct=s.name == "HSA_OVERRIDE_GFX_VERSION")


def _first(
    table: tuple[tuple[Kind, re.Pattern[str]], ...], text: str, place: Place, what: str, *, whole: bool = False
) -> Iterator[Purpose]:
    for kind, pattern in table:
        if pattern.fullmatch(text) if whole else pattern.search(text):
            yield Purpose(kind, f"{what} {text}", place)
            return


def _job(environment: Environment, made: Purpose | None) -> Purpose:
    """A job of a workflow without a word of AMD: its runner says what it is; what runs on a hosted one is a test."""
    runners = environment.labels[1:]
    for label in runners:
        kind = named(label)[0]
        if kind in ("amd", "nvidia"):
            return Purpose(kind, f"runner {label}", environment.place)
        if _NVIDIA_RUNNERS.search(label.lower()):
            return Purpose("nvidia", f"runner {label}", environment.place)
    if made is not None:
        return made
    return Purpose("ci", f"runner {runners[0]}" if runners else "a workflow", environment.place)


def made_for_amd(environment: Environment) -> Purpose | None:
    """What in a documented command is for AMD: its index, image, packages or variables. None where nothing is."""
    made = _made_of(environment)
    return made if made and made.kind == "amd" else None


def with_purpose(environment: Environment, vendored: frozenset[str], projects: frozenset[str] = frozenset()) -> Environment:
    """The environment with its purpose; one that its reader knows already keeps it."""
    if environment.purpose.kind != "neutral":
        aside = lies_in(environment.place.file, vendored)
        return msgspec.structs.replace(environment, purpose=aside) if aside and environment.sort != "text" else environment
    return msgspec.structs.replace(environment, purpose=purpose_of(environment, vendored, projects))
