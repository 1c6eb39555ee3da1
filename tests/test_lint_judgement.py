"""Private indexes, rebuilt packages, containers, images and packages that an independent reader of unknown repositories found to be judged
wrongly, or not at all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

from rocm_doctor.lint.coverage import on_gpu
from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.rules.addresses import is_pypi
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import load
from rocm_doctor.model import Report

WHEELS = "https://download.pytorch.org/whl/"
LIST = "requirements-rocm.txt"


def of_list(folder: Path, *lines: str, gpu: str = "gfx1100", python: str = "3.12") -> Report:
    return report(folder, {LIST: "\n".join(lines) + "\n"}, gpu, python=python)


def of_image(folder: Path, *lines: str, gpu: str = "gfx1100") -> Report:
    return report(folder, {"Dockerfile.rocm": "\n".join(lines) + "\n"}, gpu)


@pytest.mark.parametrize("url", [
    "https://pypi.org/simple", "https://pypi.tuna.example.edu.cn/simple/", "https://mirrors.example.com/pypi/web/simple",
    "https://user:word@nexus.example.com:8443/repository/pypi-proxy/simple", "https://example.com/artifactory/api/pypi/pypi-remote/simple",
])  # fmt: skip
def test_mirrors_of_the_package_index(url: str) -> None:
    assert is_pypi(url)


@pytest.mark.parametrize("url", [
    "https://example.com/api/pypi/rocm-local/simple/", "https://example.com/api/pypi/team/stack/3.5/rocm7.14-ubi9/simple/",
    "https://pypi.nvidia.com", "https://example.com/repository/pypi-internal/simple", "http://[::1", "https://example.com/rocm6.4/simple",
])  # fmt: skip
def test_an_index_of_others_is_not_known(tmp_path: Path, url: str) -> None:
    assert not is_pypi(url)
    found = of_list(tmp_path, f"--index-url {url}", "torch==2.9.1")
    assert said(found) == []
    assert found.verdict == "undetermined"


@pytest.mark.parametrize(("pin", "ids"), [("2026.6.9+site.2", []), ("2026.6.9", ["version.package-mismatch"])])
def test_a_rebuilt_package_has_metadata_of_its_own(tmp_path: Path, pin: str, ids: list[str]) -> None:
    found = of_list(tmp_path, f"--extra-index-url {WHEELS}rocm7.1", "torch==2.11.0+rocm7.1", f"unsloth=={pin}")
    assert [i for i, _, _ in said(found)] == ids


@pytest.mark.parametrize("package", ["vllm==0.11.0", "bitsandbytes==0.48.0", "flash-attn==2.8.3", "torch==2.9.1"])
def test_what_is_known_of_a_release_is_not_said_of_a_rebuilt_one(tmp_path: Path, package: str) -> None:
    assert said(of_list(tmp_path, "--extra-index-url https://example.com/simple", f"{package}+site.2", gpu="gfx1036")) == []


@pytest.mark.parametrize("given", ["-e NAME=9.0.0", "--env NAME=9.0.0", "--env=NAME=9.0.0"])
@pytest.mark.parametrize(("file", "around"), [("run-rocm.sh", "{}\n"), ("README.md", "# AMD GPU\n\n```bash\n{}\n```\n")])
def test_a_container_is_given_its_variables(tmp_path: Path, given: str, file: str, around: str) -> None:
    """They are judged as those of an image are, wherever the command is."""
    command = "docker run -it --device=/dev/kfd --device=/dev/dri OPTION rocm/pytorch:latest python train.py"
    wrong = command.replace("OPTION", given.replace("NAME", "HSA_OVERRIDE_GFX_VERSION"))
    assert [i for i, _, _ in said(report(tmp_path / "a", {file: around.format(wrong)}))] == ["arch.override-wrong"]
    assert said(report(tmp_path / "b", {file: around.format(wrong.replace("9.0.0", "11.0.0"))})) == []
    other = command.replace("OPTION", "-e HSA_OVERRIDE_GFX_VERSION")
    assert said(report(tmp_path / "c", {file: around.format(other)})) == []


def test_where_a_container_finds_packages_is_its_own_matter(tmp_path: Path) -> None:
    text = f"docker run -e PIP_INDEX_URL={WHEELS}cpu alpine true\npip install torch --extra-index-url {WHEELS}rocm7.2\n"
    assert [i for i, _, _ in said(report(tmp_path, {"install-rocm.sh": text}))] == [
        i for i, _, _ in said(report(tmp_path / "b", {"install-rocm.sh": text.split("\n", 1)[1]}))
    ]


ONLY = f"-i {WHEELS}rocm6.4"


@pytest.mark.parametrize(("lines", "expected"), [
    ((ONLY, "torch==2.9.1", "accelerate"), [("version.wheel-missing", "error", f"{LIST}:3")]),
    ((ONLY, "torch==2.9.1", "torchvision", "numpy", "triton-rocm"), []),
    ((ONLY, "--extra-index-url https://pypi.org/simple", "torch==2.9.1+rocm6.4", "accelerate"), []),
    ((f"--extra-index-url {WHEELS}rocm6.4", "torch==2.9.1+rocm6.4", "accelerate"), []),
    (("-i https://example.com/whl/rocm6.4", "torch==2.9.1", "accelerate"), []),
])  # fmt: skip
def test_torchs_index_alone_holds_few_packages(
    tmp_path: Path, lines: tuple[str, ...], expected: list[tuple[str, str, str]]
) -> None:
    assert said(of_list(tmp_path, *lines)) == expected


def test_what_was_installed_before_may_satisfy_an_index_without_it(tmp_path: Path) -> None:
    """A package of an earlier command is there; what that one brought with it is not known."""
    first = f"FROM ubuntu:24.04\nRUN pip install torch==2.9.1 --index-url {WHEELS}rocm6.4\n"
    again = f"{first}RUN pip install accelerate && pip install accelerate --index-url {WHEELS}rocm6.4\n"
    assert said(of_image(tmp_path / "a", again)) == []
    assert [
        s for _, s, _ in said(of_image(tmp_path / "b", again.replace("pip install accelerate &&", "pip install peft &&")))
    ] == ["warning"]


@pytest.mark.parametrize(("gpu", "image", "expected"), [
    ("gfx1100", "rocm/pytorch:rocm5.1.3_ubuntu20.04_py3.7_pytorch_1.11.0", [("arch.not-in-build", "error", "Dockerfile.rocm:1")]),
    ("gfx1100", "rocm/dev-ubuntu-22.04:5.1.3", [("arch.not-in-build", "warning", "Dockerfile.rocm:1")]),
    ("gfx90a", "rocm/pytorch:rocm5.1.3_ubuntu20.04_py3.7_pytorch_1.11.0", []),
    ("gfx1100", "rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0", []),
    ("gfx1031", "rocm/pytorch:rocm5.7_ubuntu22.04_py3.10_pytorch_2.0.1", []),  # runs code for gfx1030 by an override
])  # fmt: skip
def test_a_rocm_from_before_the_gpu(tmp_path: Path, gpu: str, image: str, expected: list[tuple[str, str, str]]) -> None:
    (tmp_path / "README.md").write_text("On AMD GPUs: `docker build -f Dockerfile.rocm .`\n")
    found = of_image(tmp_path, f"FROM {image}", "CMD python train.py", gpu=gpu)
    assert [one for one in said(found) if one[0] == "arch.not-in-build"] == expected


def test_an_old_rocm_under_a_torch_with_one_of_its_own(tmp_path: Path) -> None:
    brought = f"RUN pip install torch==2.9.1 --index-url {WHEELS}rocm6.4"
    assert said(of_image(tmp_path, "FROM rocm/dev-ubuntu-22.04:5.1.3", brought)) == []


OLD = "FROM rocm/pytorch:rocm5.7_ubuntu22.04_py3.10_pytorch_2.0.1"


@pytest.mark.parametrize(("image", "command", "ids"), [
    (OLD, "pip install -U 'numpy>=1.23.5'", ["version.package-mismatch"]),
    (OLD, "pip install -U 'numpy>=1.23.5,<2'", []),
    (OLD, "pip install 'numpy>=1.23.5'", []),  # the image has one
    (OLD, "pip install -U numpy numba==0.57.1", []),  # which bounds it
    (OLD.replace("py3.10", "py3.8"), "pip install -U numpy", []),  # NumPy 2 asks for Python 3.9
    ("FROM rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0", "pip install -U numpy", []),
])  # fmt: skip
def test_numpy_2_under_a_torch_built_with_numpy_1(tmp_path: Path, image: str, command: str, ids: list[str]) -> None:
    found = of_image(tmp_path, image, f"RUN {command}")
    assert [i for i, _, place in said(found) if place.endswith(":2")] == ids


STACK = (f"--extra-index-url {WHEELS}rocm6.4", "torch==2.9.1+rocm6.4")


@pytest.mark.parametrize(("line", "python", "severities"), [
    ("numpy==1.23.5", "3.12", ["error"]), ("numpy==1.23.5", "3.10", []), ("numpy==1.23.5", "", []), ("numpy>=1.23.5", "3.12", []),
    ("numpy>=1.26.1,<2", "3.12", []), ("numpy<1.26", "3.12", ["error"]), ("numpy~=1.24.0", "3.12", ["error"]), ("numpy==1.24.*", "3.12", ["error"]),
    ("mediapipe==0.10.11", "3.12", ["error"]), ("mediapipe==0.10.14", "3.12", []), ("tensorflow-rocm", "3.12", ["error"]),
    ("scipy==1.11.1", "3.12", ["warning"]), ("scipy==1.10.1", "3.12", ["error"]), ("scipy==1.9.3", "3.12", ["warning"]), ("transformers==4.30.2", "3.12", ["warning"]), ("transformers>=4.30.2", "3.12", []),
    ("numpy==1.23.5; python_version < '3.12'", "3.12", []), ("numpy==1.23.5+site.1", "3.12", []),
    ("scipy==1.16.3", "3.10", ["error"]), ("scipy==1.16.3", "3.11", []), ("scipy>=1.16", "3.10", ["error"]), ("scipy>=1.15", "3.10", []),
    ("scipy~=1.16.0", "3.10", ["error"]), ("scipy<2", "3.10", []), ("scipy!=1.16.3", "3.10", []), ("numpy==2.5.0", "3.11", ["error"]),
    ("scipy==1.16.3; python_version >= '3.11'", "3.10", []), ("contourpy==1.3.3", "3.10", ["error"]), ("scipy==1.16.3", "", []),
])  # fmt: skip
def test_no_wheel_for_the_python(tmp_path: Path, line: str, python: str, severities: list[str]) -> None:
    assert [
        s for i, s, _ in said(of_list(tmp_path, *STACK, line, python=python)) if i == "version.python-unsupported"
    ] == severities


def test_the_python_of_an_image_is_its_own(tmp_path: Path) -> None:
    """The one that is asked for on the command line is that of the machine."""
    command = "RUN pip install numpy==1.23.5"
    assert said(of_image(tmp_path / "a", "FROM rocm/pytorch:latest", command)) == []
    named = of_image(tmp_path / "b", "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0", command)
    assert [i for i, _, _ in said(named)] == ["version.python-unsupported"]


def test_an_older_python_than_the_pins_are_for(tmp_path: Path) -> None:
    """A list that was frozen with a later Python, in an image."""
    base = "FROM rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0"
    found = serious(of_image(tmp_path / "a", base, "RUN pip install scipy==1.16.3 numpy==2.5.0"))
    assert [(f.title, f.severity) for f in found] == [("not for Python 3.10: scipy==1.16.3, numpy==2.5.0", "error")]
    assert (
        found[0].advice == "Take an image with Python 3.12, for which there are releases, or ask for scipy<=1.15.3, numpy<=2.2.6."
    )
    assert said(of_image(tmp_path / "b", base.replace("22.04_py3.10", "24.04_py3.12"), "RUN pip install scipy==1.16.3")) == []


def test_another_index_may_have_a_wheel(tmp_path: Path) -> None:
    assert said(of_list(tmp_path, *STACK, "--extra-index-url https://example.com/simple", "numpy==1.23.5")) == []


def test_packages_without_a_wheel_are_one_finding(tmp_path: Path) -> None:
    found = of_list(tmp_path, *STACK, "numpy==1.23.5", "numba==0.56.4", "scipy==1.11.1")
    (one,) = [f for f in found.findings if f.id == "version.python-unsupported"]
    assert "Python 3.10" in one.advice
    assert "scipy" not in one.title


BUILT = ("FROM rocm/pytorch:latest", "RUN git clone https://github.com/ROCm/TransformerEngine && pip install ./TransformerEngine")


@pytest.mark.parametrize(("gpu", "value", "advice"), [
    ("gfx1100", "gfx942", "Leave TransformerEngine out"), ("gfx1100", "gfx1100", "Leave TransformerEngine out"),
    ("gfx950", "gfx942", "Set NVTE_ROCM_ARCH"), ("gfx942", "gfx942", ""),
])  # fmt: skip
def test_a_library_that_does_not_serve_the_gpu(tmp_path: Path, gpu: str, value: str, advice: str) -> None:
    found = of_image(tmp_path, BUILT[0], f"ENV NVTE_ROCM_ARCH={value}", BUILT[1], gpu=gpu)
    given = [f.advice for f in found.findings if f.id == "arch.not-in-build"]
    assert [one[: len(advice)] for one in given] == ([advice] if advice else [])
    assert found.verdict != "ready" or not advice


def test_a_library_of_an_environment_for_others(tmp_path: Path) -> None:
    line = "pip install torch==2.9.1 git+https://github.com/NVIDIA/TransformerEngine\n"
    assert "arch.not-in-build" not in [i for i, _, _ in said(report(tmp_path, {"install_all.sh": line}))]


INLINE = f"# AMD GPUs\n\n- Install it: `pip3 install torch --index-url {WHEELS}NAME --force-reinstall`\n"


def test_a_command_in_a_line_of_text(tmp_path: Path) -> None:
    wrong = said(report(tmp_path / "a", {"README.md": INLINE.replace("NAME", "rocm5.4.2")}))
    assert ("arch.not-in-build", "warning", "README.md:3") in wrong
    assert said(report(tmp_path / "b", {"README.md": INLINE.replace("NAME", "rocm6.4")})) == []
    other = "# Notes\n\n- For CUDA: `pip install torch --index-url https://download.pytorch.org/whl/cu126`. See `torch.version.hip`.\n"
    assert [i for i, _, _ in said(report(tmp_path / "c", {"README.md": other}))] == []


def test_one_of_several_ways_of_a_document(tmp_path: Path) -> None:
    """The reader takes the one for the GPU."""
    both = INLINE.replace("NAME", "rocm5.4.2") + INLINE.split("\n\n")[1].replace("NAME", "rocm6.4")
    assert said(report(tmp_path, {"README.md": both})) == []


LAUNCHER = f"""case "$(lspci)" in
  *"Navi 1"*) export TORCH_COMMAND="pip install torch==1.13.1+rocm5.2 --extra-index-url {WHEELS}rocm5.2" ;;
esac
if lspci | grep -q AMD && [[ -z "${{TORCH_COMMAND}}" ]]; then
  export TORCH_COMMAND="pip install torch==2.9.1 --index-url {WHEELS}rocm6.4"
fi
python3 -m venv venv && source venv/bin/activate
python launch.py
"""


@pytest.mark.parametrize(("gpu", "torch"), [("gfx1100", "2.9.1"), ("gfx1010", "1.13.1")])
def test_the_command_of_a_launcher(tmp_path: Path, gpu: str, torch: str) -> None:
    """It is run at the end, in the new environment; what asks for an unset variable is for the GPUs that set none."""
    one = next(e for e in repository(tmp_path, {"webui.sh": LAUNCHER}).environments if e.purpose.kind == "amd")
    target = Target("t", gpu)
    state = last_state(on_gpu(one, target), load(), target)
    assert state is not None
    assert state[2].version == torch


def test_what_tests_use_is_a_note(tmp_path: Path) -> None:
    text = f"--index-url {WHEELS}rocm6.1\ntorch==2.4.0\n"
    assert said(report(tmp_path / "a", {"tests/jobs/requirements-rocm.txt": text}, "gfx1151")) == []
    assert said(report(tmp_path / "b", {"jobs/requirements-rocm.txt": text}, "gfx1151")) != []


@pytest.mark.parametrize(("folder", "severities"), [("images/runtime/examples", ["warning"]), ("examples/images", [])])
def test_an_image_that_is_an_example_of_images(tmp_path: Path, folder: str, severities: list[str]) -> None:
    text = "FROM rocm/pytorch:latest\nENV PYTORCH_ROCM_ARCH=gfx942\nRUN pip install flash-attn --no-build-isolation\n"
    found = report(tmp_path, {f"{folder}/Dockerfile": text})
    assert [s for i, s, _ in said(found) if i == "arch.not-in-build"] == severities


def test_a_word_of_a_vocabulary_is_no_evidence(tmp_path: Path) -> None:
    files = {"requirements.txt": "torch==2.6.0\nnvidia-cublas-cu12\n", "assets/vocab.json": '{"radeon": 1, "the": 2}\n'}
    (one,) = report(tmp_path / "a", files).findings
    assert all(r.artifact != "assets/vocab.json" for r in one.evidence)
    addressed = {**files, "assets/vocab.json": '{"index": "https://download.pytorch.org/whl/rocm6.4"}\n'}
    assert report(tmp_path / "b", addressed).verdict == "undetermined"


def test_two_causes_in_one_environment_are_two_findings(tmp_path: Path) -> None:
    """Each has a remedy of its own."""
    lines = ("FROM rocm/pytorch:latest", "ENV NVTE_ROCM_ARCH=gfx942 GPU_ARCHS=gfx942", BUILT[1])
    titles = [f.title for f in of_image(tmp_path, *lines).findings if f.id == "arch.not-in-build"]
    assert sorted(title.split()[0] for title in titles) == ["GPU_ARCHS=gfx942", "TransformerEngine"]


@pytest.mark.parametrize(("script", "ids"), [
    ('case "$1" in\n  5.1) add https://repo.radeon.com/rocm/apt/5.1 ;;\n  6.4) add https://repo.radeon.com/rocm/apt/6.4 ;;\nesac\n', []),
    ("add https://repo.radeon.com/rocm/apt/5.1\n", ["arch.not-in-build"]),
])  # fmt: skip
def test_a_rocm_that_an_argument_chooses(tmp_path: Path, script: str, ids: list[str]) -> None:
    text = f'add() {{ echo "deb $1 jammy main" > /etc/apt/sources.list.d/rocm.list; }}\n{script}pip install numpy\n'
    assert [i for i, _, _ in said(report(tmp_path, {"install-rocm.sh": text}))] == ids


@pytest.mark.parametrize(
    "option", ["--root-user-action ignore", "--upgrade-strategy eager", "--exists-action=w", "--log pip.txt"]
)
def test_the_value_of_an_option_is_no_package(tmp_path: Path, option: str) -> None:
    text = f"pip install {option} torch==2.9.1 --index-url {WHEELS}rocm6.4\n"
    assert said(report(tmp_path, {"install-rocm.sh": text})) == []
