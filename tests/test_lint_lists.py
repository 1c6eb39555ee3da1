"""Lists, indexes and services as an independent reader of unknown repositories found them to be read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

WHEELS = "https://download.pytorch.org/whl/"
NOT_ROCM = "version.torch-not-rocm"
LIST = "requirements-rocm.txt"


def on_list(folder: Path, *lines: str, gpu: str = "gfx1100", python: str = "3.12") -> list[tuple[str, str, str]]:
    return said(report(folder, {LIST: "\n".join(lines) + "\n"}, gpu, python=python))


def test_one_wheel_that_was_seen_is_no_listing(tmp_path: Path) -> None:
    folder = "--find-links https://repo.radeon.com/rocm/manylinux/rocm-rel-7.0/"
    assert on_list(tmp_path, folder, "torch==2.8.0+rocm7.0.0.git64359f59", python="3.10") == []


@pytest.mark.parametrize(("spec", "ids"), [(">=2.4.0,<2.5.0", []), ("<2.7.0", []), (">=2.4", [NOT_ROCM])])
def test_a_range_that_ends_before_the_newest_release_is_settled(tmp_path: Path, spec: str, ids: list[str]) -> None:
    index = "rocm6.0" if "2.5.0" in spec else "rocm6.2.4"
    assert [i for i, _, _ in on_list(tmp_path, f"--extra-index-url {WHEELS}{index}", f"torch{spec}")] == ids


@pytest.mark.parametrize(("option", "address", "expected"), [
    ("--find-links", f"{WHEELS}rocm6.1", [(NOT_ROCM, "error", f"{LIST}:2")]), ("--extra-index-url", f"{WHEELS}rocm6.1", []),
])  # fmt: skip
def test_find_links_reads_one_page(tmp_path: Path, option: str, address: str, expected: list[tuple[str, str, str]]) -> None:
    assert on_list(tmp_path, f"{option} {address}", "torch==2.4.0") == expected


@pytest.mark.parametrize(("pin", "ids"), [
    ("2.6.0+rocm6.3", ["version.wheel-missing"]), ("2.7.0+rocm6.3", []), ("1.12.1+rocm6.3", []),
])  # fmt: skip
def test_a_build_that_its_index_does_not_have(tmp_path: Path, pin: str, ids: list[str]) -> None:
    assert [
        i for i, _, _ in on_list(tmp_path, f"--extra-index-url {WHEELS}rocm6.3", f"torch=={pin}") if i == "version.wheel-missing"
    ] == ids


def test_a_list_that_includes_what_is_not_there(tmp_path: Path) -> None:
    assert on_list(tmp_path / "a", "-r _rocm_72.txt") == [("repo.unreadable", "error", f"{LIST}:1")]
    amd = {LIST: f"--index-url {WHEELS}rocm6.4\ntorch==2.9.1\n", "requirements-nvidia.txt": "-r _nvidia_13.txt\n"}
    assert said(report(tmp_path / "b", amd)) == []


def test_one_of_several_lists_for_releases(tmp_path: Path) -> None:
    """Each of them is for those who have that release: that one leaves a GPU out is no error while another serves it."""
    lists = {f"requirements_rocm_{n}.txt": f"--index-url {WHEELS}rocm{n[0]}.{n[1]}\ntorch\n" for n in ("60", "72")}
    assert [s for i, s, _ in said(report(tmp_path / "a", lists, "gfx1151")) if i.startswith("arch.") and s == "error"] == []
    alone = {name: text for name, text in lists.items() if "60" in name}
    assert "error" in [s for _, s, _ in said(report(tmp_path / "b", alone, "gfx1151"))]


def test_a_build_that_only_a_string_names(tmp_path: Path) -> None:
    files = {"requirements.txt": "timm==0.9.2\n", "main.py": 'amd_torch_version = "2.1.0+rocm5.6"\n'}
    found = report(tmp_path, files)
    assert (serious(found), found.verdict) == ([], "undetermined")


SERVICE = "services:\n  train-rocm:\n    build: {{context: ., dockerfile: Dockerfile.rocm}}\n    command: torchrun train.py\n{}"
RESERVED = "    deploy: {{resources: {{reservations: {{devices: [{{driver: {}, count: all, capabilities: [gpu]}}]}}}}}}\n"


@pytest.mark.parametrize(("more", "ids"), [
    ("", ["access.container"]), (RESERVED.format("rocm"), ["access.container"]), ("    runtime: amd\n", []), (RESERVED.format("cdi"), []),
    ("    devices: [/dev/kfd, /dev/dri]\n", []), ("    devices: [amd.com/gpu=all]\n", []),
])  # fmt: skip
def test_a_service_that_is_built_gets_its_devices(tmp_path: Path, more: str, ids: list[str]) -> None:
    files = {"compose.yml": SERVICE.format(more), "Dockerfile.rocm": "FROM rocm/pytorch:latest\n"}
    found = report(tmp_path, files)
    assert [f.id for f in serious(found)] == ids
    assert all(f.severity == "error" for f in serious(found))
    assert all(("driver rocm" in f.advice) is ("driver: rocm" in more) for f in serious(found))


def test_a_script_that_takes_torch_out_of_the_lists(tmp_path: Path) -> None:
    image = "FROM rocm/vllm-dev:nightly\nWORKDIR /x\nCOPY . .\n{}RUN pip install -r requirements-build.txt\n"
    for line, ids in (("RUN python using_existing_torch.py\n", []), ("", [NOT_ROCM])):
        files = {"requirements-build.txt": "torch==2.9.1\n", "Dockerfile.rocm": image.format(line)}
        assert [i for i, _, _ in said(report(tmp_path / str(len(line)), files))] == ids


RADEON = "https://repo.radeon.com/rocm/"


@pytest.mark.parametrize(
    ("tag", "os", "left"), [("win_amd64", "linux", True), ("win_amd64", "windows", False), ("linux_x86_64", "linux", False)]
)
def test_a_list_whose_wheels_are_all_for_one_system_is_for_that_system(tmp_path: Path, tag: str, os: str, left: bool) -> None:
    wheels = f"{RADEON}x/torch-2.9.1%2Brocm7.2.1-cp312-cp312-{tag}.whl\n{RADEON}x/rocm_sdk_core-7.2.1-py3-none-{tag}.whl\n"
    files = {"requirements_rocm.txt": f"{RADEON}x/rocm-7.2.1.tar.gz\n{wheels}", "requirements.txt": "pillow\n"}
    found = report(tmp_path, files, os=os)
    assert {f.id for f in serious(found)} == ({"repo.no-amd-environment"} if left else set())
    assert ("1 for Windows" in found.summary) is left


ON_PYTORCH = "--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\n"


@pytest.mark.parametrize(("name", "lines", "stops", "left"), [
    ("requirements_amd.txt", "numpy==1.24.3\npywin32==306\n", False, "Windows"), ("requirements.txt", "torch\npywin32==306\n", False, "Windows"),
    ("requirements_amd.txt", "numpy==1.24.3\npywin32==306; os_name == 'nt'\n", False, ""), ("requirements_amd.txt", "torch\nonnxruntime-silicon\n", False, "macOS"),
    ("requirements_amd_linux.txt", "torch\npywin32==306\n", True, ""), ("linux/requirements-rocm.txt", "torch\npywin32==306\n", True, ""),
    ("requirements-rocm.txt", f"{ON_PYTORCH}pywin32==306\n", True, ""),
])  # fmt: skip
def test_a_list_with_packages_of_another_system_is_for_that_system(
    tmp_path: Path, name: str, lines: str, stops: bool, left: str
) -> None:
    found = report(tmp_path, {name: lines})
    assert any("wheels for" in f.title for f in serious(found)) is stops
    assert f"1 for {left}" in found.summary if left else "left out" not in found.summary


@pytest.mark.parametrize("file", ["install_rocm.sh", "Dockerfile.rocm"])
@pytest.mark.parametrize("asked", ["pywin32", "-r requirements_amd.txt"])
def test_what_installs_a_package_of_another_system_on_linux_stops(tmp_path: Path, file: str, asked: str) -> None:
    image = "FROM python:3.12-slim\nCOPY . .\nRUN " if file.startswith("Docker") else ""
    found = report(tmp_path, {file: f"{image}pip install {asked}\n", "requirements_amd.txt": "pywin32==306\n"})
    assert [f.severity for f in serious(found) if "wheels for" in f.title] == ["error"]


def test_a_wheel_that_pip_refuses_is_not_replaced_from_an_index(tmp_path: Path) -> None:
    wheel = f"{RADEON}manylinux/rocm-rel-6.0.2/torch-2.1.2+rocm6.0-cp310-cp310-linux_x86_64.whl"
    found = report(tmp_path, {"requirements_rocm.txt": f"{wheel}\naccelerate\n"})
    assert [f.id for f in serious(found)] == ["version.python-unsupported"]
    assert "version.python-unsupported" not in {
        f.id for f in serious(report(tmp_path / "b", {"requirements_rocm.txt": f"{wheel}\naccelerate\n"}, python="3.10"))
    }


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ("torch-directml\n", "other"),
        ("tensorflow-directml-plugin\n", "other"),
        ("", "amd"),
        (f"--extra-index-url {RADEON}\ntorch-directml\n", "amd"),
    ],
)
def test_a_list_with_directml_needs_no_rocm(tmp_path: Path, more: str, kind: str) -> None:
    made = repository(tmp_path, {"requirements-amd.txt": f"{more}torch==1.13.1\n"}).environments
    assert [e.purpose.kind for e in made] == [kind]


@pytest.mark.parametrize(
    ("name", "missing"), [("requirements-py311.txt", False), ("requirements-python3.12.txt", True), ("requirements.txt", True)]
)
def test_a_list_called_by_a_python_is_for_that_python(tmp_path: Path, name: str, missing: bool) -> None:
    found = report(tmp_path, {name: "numpy==1.24.3\ntorch\n"})
    assert ("version.python-unsupported" in {f.id for f in found.findings}) is missing


@pytest.mark.parametrize(
    "wheel", ["torch-1.7.0a0-cp310-cp310-linux_x86_64.whl", "./wheels/torch-2.6.0-cp310-cp310-linux_x86_64.whl"]
)
def test_a_wheel_that_lies_beside_is_of_an_unknown_build(tmp_path: Path, wheel: str) -> None:
    """It is not the release of the same number: who made it, and for what, its name does not say."""
    image = f"FROM rocm/dev-ubuntu-22.04:6.4\nRUN wget https://example.org/{wheel}\nRUN pip install {wheel}\n"
    assert NOT_ROCM not in [i for i, _, _ in said(report(tmp_path, {"Dockerfile.rocm": image}))]


@pytest.mark.parametrize("tool", ["list", "uv"])
@pytest.mark.parametrize(
    ("release", "torch"),
    [("6.2.4", "2.3.0"), ("6.4.1", "2.6.0"), ("7.0", "2.8.0"), ("7.1", "2.8.0"), ("7.2", "2.9.1"), ("7.2.4", "2.10.0")],
)
def test_amds_folder_of_wheels_is_not_pytorchs_index_of_that_number(tmp_path: Path, release: str, torch: str, tool: str) -> None:
    """PyTorch's index for ROCm 7.0 has no torch 2.8.0; AMD's folder for it has, with a local version that pip takes."""
    folder = f"https://repo.radeon.com/rocm/manylinux/rocm-rel-{release}/"
    files = {"requirements-rocm.txt": f"--find-links {folder}\ntorch=={torch}\n"}
    if tool == "uv":
        files = {"setup_rocm.sh": f"uv venv\nuv pip install torch=={torch} --find-links {folder}\n"}
    assert not serious(report(tmp_path, files))


@pytest.mark.parametrize(("channel", "torch", "severity"), [
    ("conda-forge", "pytorch", "error"), ("conda-forge", "pytorch=*=*rocm*", ""), ("https://repo.amd.com/conda", "pytorch", ""), ("https://conda.example.com/rocm", "pytorch", ""),
    ("conda-forge", "pytorch=*=*cuda*", "error"), ("conda-forge", "pytorch=2.9.1", "error"),
])  # fmt: skip
def test_a_channel_or_a_build_for_rocm_of_conda(tmp_path: Path, channel: str, torch: str, severity: str) -> None:
    files = {"environment-rocm.yml": f"channels: [{channel}]\ndependencies:\n  - python=3.12\n  - {torch}\n"}
    found = [f.severity for f in report(tmp_path, files).findings if f.id == NOT_ROCM and f.severity != "note"]
    assert found == ([severity] if severity else [])


def test_options_of_sudo_before_pip(tmp_path: Path) -> None:
    files = {"setup_rocm.sh": f"sudo -H pip install torch==2.5.1 --index-url {WHEELS}rocm6.2\n"}
    assert [f.id for f in serious(report(tmp_path, files, "gfx1151"))] == ["arch.not-in-build"]
