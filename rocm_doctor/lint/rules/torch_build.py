"""The torch that an environment ends up with is not a build for ROCm, or pip finds none."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.lint import catalog
from rocm_doctor.lint.model import LISTS, Problem
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.torch import Torch
from rocm_doctor.rules.build import usable_builds

SILENCE = "# rocm-doctor: torch comes from elsewhere"
_PYTORCH = "https://download.pytorch.org/"
_PIP = "https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages"
_INSTALL = "https://pytorch.org/get-started/locally/"


def torch_build(case: LintCase) -> Iterator[Problem]:
    """`version.torch-not-rocm` for a torch with CUDA or CPU code; `version.wheel-missing` where no index has the build that is asked for."""
    torch, environment = case.torch, case.environment
    if not isinstance(torch, Torch) or torch.vendor == "rocm" or (environment.kind == "service" and environment.image is None):
        return
    if torch.step is None and environment.image is not None and torch.place == environment.image.place:
        return  # base_image says it
    if torch.vendor == "none":
        if case.is_amd:
            yield case.problem(
                "version.wheel-missing", f"no index has torch{torch.requirement.specifier if torch.requirement else ''}",
                f"{_sentence(torch.reason)} pip stops there.", (torch.place,), is_literal=torch.is_literal, sources=(_INSTALL,),
            )  # fmt: skip
        return
    if not case.is_amd and (torch.vendor == "cpu" or environment.kind == "script"):
        return  # a CPU build that is asked for, or a command for any machine
    kind = "CPU" if torch.vendor == "cpu" or case.target.os == "windows" else "CUDA"
    version = f" {torch.version}" if torch.version else ""
    by = torch.requirement.name if torch.requirement and torch.requirement.name != "torch" else ""
    title = f"As written, {by} brings the {kind} torch" if by else f"As written, this installs the {kind} torch{version}"
    hints = _rocm_build(case, torch)
    if environment.kind in (*LISTS, "script"):
        hints = (f"If torch is installed beforehand, say so in a comment of this file: `{SILENCE}`.", *hints)
    yield case.problem(
        "version.torch-not-rocm", title, f"{_sentence(torch.reason)} A {kind} build of torch sees no AMD GPU.", (torch.place,),
        is_literal=torch.is_literal, sources=(_PIP, _INSTALL), hints=hints,
    )  # fmt: skip


def base_image(case: LintCase) -> Iterator[Problem]:
    """An image for AMD that starts from one with CUDA."""
    environment = case.environment
    if environment.image is None or not (case.is_amd or case.audience == "main"):
        return
    facts = case.image
    ends_with_rocm = isinstance(case.torch, Torch) and case.torch.vendor == "rocm"
    cuda = facts.torch == "cuda" or (facts.entry is not None and facts.entry.name.startswith("nvidia/"))
    if not cuda or facts.torch == "rocm" or ends_with_rocm:
        return
    way = f" For AMD GPUs there is {facts.entry.way}." if facts.entry and facts.entry.way else ""
    holds = facts.entry.holds if facts.entry else "a CUDA build"
    yield case.problem(
        "version.torch-not-rocm", f"the image {environment.image.name} holds {holds}", f"It has no code for AMD GPUs.{way}", (environment.image.place,),
        sources=facts.entry.sources if facts.entry else (), effect="stops" if facts.torch == "cuda" else "harms",
    )  # fmt: skip


def _rocm_build(case: LintCase, torch: Torch) -> tuple[str, ...]:
    """A sentence with the ROCm build of the catalog that fits the torch of a requirements file (Linux only), and with the index
    to add where the file does not name it; empty without such a build."""
    request, environment, step = torch.requirement, case.environment, torch.step
    if case.target.os != "linux" or environment.kind != "requirements" or request is None or step is None:
        return ()
    if request.name != "torch" or request.url or request.extras or any(index.role == "default" for index in step.indexes):
        return ()
    index_urls = {index.url.rstrip("/") for index in step.indexes}
    builds = usable_builds(case.target.gpu, case.matrix, case.target.python)
    fitting = [b for b in builds if b.local and b.index.startswith(_PYTORCH) and catalog.admits(request.specifier, b.torch)]
    build = min(fitting, key=lambda b: b.index not in index_urls, default=None)
    if build is None:
        return ()
    index = "" if build.index in index_urls else f", and above it: --extra-index-url {build.index}"
    return (f"In an environment for AMD GPUs write torch=={build.local}{index}",)


def _sentence(words: str) -> str:
    return words + "." if "://" in words.partition(" ")[0] else words[:1].upper() + words[1:] + "."
