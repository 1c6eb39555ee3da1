from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import facts, notes

from rocm_doctor.model import Artifact
from rocm_doctor.probes.python import torch_build
from rocm_doctor.probes.python.torch_build import Build, build_kind, build_rocm, wheel_family
from rocm_doctor.probes.read.result import Artifacts

VERSION_PY = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = '0123456789abcdef0123456789abcdef01234567'
hip: Optional[str] = {hip}
rocm: Optional[str] = {rocm}
xpu: Optional[str] = None
"""


def version_py(version: str, hip: str = "None", cuda: str = "None", rocm: str = "None") -> tuple[str, str]:
    return "py/torch/version.py", VERSION_PY.format(version=version, hip=hip, cuda=cuda, rocm=rocm)


def test_rocm_wheel() -> None:
    assert facts(torch_build, version_py("2.8.0+rocm6.4", hip="'6.4.43483-a187df25c'")) == {
        "torch.version": "2.8.0+rocm6.4",
        "torch.hip": "6.4.43483-a187df25c",
        "torch.cuda": None,
        "torch.build": "rocm",
        "torch.rocm": "6.4",
        "torch.family": "bundled",
    }


def test_cpu_wheel_has_no_rocm() -> None:
    found = facts(torch_build, version_py("2.13.0+cpu"))
    assert found["torch.build"] == "cpu"
    assert found["torch.hip"] is None
    assert found["torch.rocm"] is None


def test_pypi_wheel_without_local_part_is_what_its_fields_say() -> None:
    assert facts(torch_build, version_py("2.7.1", cuda='"12.6"'))["torch.build"] == "cuda"
    assert facts(torch_build, version_py("2.7.1"))["torch.build"] == "cpu"


def test_old_file_without_annotations() -> None:
    text = "__version__ = '1.13.0+rocm5.2'\ndebug = False\ncuda = None\ngit_version = 'x'\nhip = '5.2.21151-afdc89f8'\n"
    found = facts(torch_build, ("py/torch/version.py", text))
    assert (found["torch.rocm"], found["torch.build"]) == ("5.2", "rocm")


@pytest.mark.parametrize(
    ("build", "rocm"),
    [
        (Build("2.9.1+rocm7.2.1.lw.git0123abcd", hip="7.2.53211"), "7.2.1"),
        (Build("2.11.0a0+rocm7.11.0a20260106", hip="7.2.53150"), "7.11.0a20260106"),
        (Build("2.13.0+rocm10.0.0", hip="7.15.26333"), "10.0.0"),
        (Build("2.13.0", hip="7.15.26333"), None),
        (Build("2.13.0", hip="7.15.26333", rocm="10.0.0"), "10.0.0"),
        (Build("2.5.0a0+git0123abc", hip="6.2.41133-dd7f95766"), None),
        (Build("2.9.0+rocmsdk20251116", hip="7.1.52802-561cc400e1"), None),
        (Build("2.9.0+devrocm7.10.0.dev0-efed3c"), "7.10.0.dev0"),
        (Build("2.6.0", hip="unreadable"), None),
    ],
)
def test_rocm_release_of_a_build(build: Build, rocm: str | None) -> None:
    assert build_rocm(build) == rocm


@pytest.mark.parametrize(
    ("build", "family"),
    [
        (Build("2.8.0+rocm6.4"), "bundled"),
        (Build("2.4.1+rocm6.1.3"), "bundled"),
        (Build("2.14.1+rocm7.14"), "rpath-packages"),
        (Build("2.14.1+rocm7.14", requires="rocm[libraries,device-all]==7.14.*"), "rpath-packages"),
        (Build("2.9.1+rocm7.2.0.lw.git7e1940d4"), "amd-listing"),
        (Build("2.12.0+rocm7.14.0"), "therock"),
        (Build("2.10.0a0+rocm7.11.0a20251209"), "therock"),
        (Build("2.9.0+rocmsdk20251116"), "therock"),
        (Build("2.9.0+rocm7.2.1", has_init=True), "therock"),
        (Build("2.9.0+rocm7.2.1", requires="rocm[libraries]==7.2.1"), "therock"),
        (Build("2.5.0a0+git0123abc", hip="6.2.41133"), "source"),
        (Build("", hip="6.2.41133"), None),
    ],
)
def test_wheel_family(build: Build, family: str | None) -> None:
    assert wheel_family(build) == family


def test_version_alone_does_not_tell_the_kind() -> None:
    assert build_kind(Build("2.6.0")) is None
    assert build_kind(Build("2.6.0+cu124")) == "cuda"


def test_metadata_and_start_up_file_decide() -> None:
    metadata = ("py/torch-2.9.0+rocm7.2.1.dist-info/METADATA", "Name: torch\nRequires-Dist: rocm[libraries]==7.2.1\n")
    version = version_py("2.9.0+rocm7.2.1", hip="'7.2.53211'")
    assert facts(torch_build, version)["torch.family"] == "bundled"
    assert facts(torch_build, version, metadata)["torch.family"] == "therock"
    assert facts(torch_build, version, ("py/torch/_rocm_init.py", "def initialize(): ..."))["torch.family"] == "therock"


def test_absent_torch_is_absent_and_not_asked_is_nothing() -> None:
    gone = Artifact("py/torch/version.py", "live", missing="absent-source", note="no torch in /x")
    found = torch_build.probe(Artifacts([gone])).facts
    assert {f.value for f in found.values()} == {None}
    assert "torch.version" in found
    assert torch_build.probe(Artifacts([])).facts == {}


def test_reading_names_the_line() -> None:
    reading = notes(torch_build, version_py("2.8.0+rocm6.4")).facts["torch.version"].readings[0]
    assert (reading.place, reading.quote) == ("line 4", "__version__ = '2.8.0+rocm6.4'")


def test_file_without_a_version_is_an_error_and_no_value() -> None:
    result = notes(torch_build, ("py/torch/version.py", "debug = False\n"))
    assert result.facts == {}
    assert len(result.errors) == 1


@given(st.text())
def test_any_text_gives_facts_or_nothing(text: str) -> None:
    notes(torch_build, ("py/torch/version.py", text), ("py/torch-1.dist-info/METADATA", text))


@given(st.text(max_size=30), st.none() | st.text(max_size=12), st.none() | st.text(max_size=12))
def test_any_build_is_judged_without_an_exception(version: str, hip: str | None, rocm: str | None) -> None:
    build = Build(version, hip, None, rocm)
    assert build_kind(build) in (None, "rocm", "cuda", "cpu")
    assert isinstance(build_rocm(build), (str, type(None)))
    assert isinstance(wheel_family(build), (str, type(None)))
