"""Advice on torch names each place that decides, holds when it is followed, and gives the decision alone where it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from follow_advice import left
from lint_text import report, serious

from rocm_doctor.model import Finding

WHEELS = "https://download.pytorch.org/whl/rocm"
BUILD = "arch.not-in-build"
LISTED = f"--index-url {WHEELS}6.2\n--extra-index-url https://pypi.org/simple\ntorch==2.5.1+rocm6.2\ntorchvision==0.20.1+rocm6.2\npeft\n"
SCRIPT = f"pip install torch torchvision --index-url {WHEELS}6.2\npip install -r requirements-rocm.txt\npython train.py\n"
PROJECT = f"""[project]
name = "x"
version = "1"
requires-python = ">=3.11"
dependencies = ["timm"]

[tool.uv]
override-dependencies = [
  "torch==2.5.1+rocm6.2",
  "torchvision==0.20.1+rocm6.2",
]

[[tool.uv.index]]
name = "amd"
url = "{WHEELS}6.2"

[tool.uv.sources]
torch = {{ index = "amd" }}
torchvision = {{ index = "amd" }}
"""


def found_in(folder: Path, files: dict[str, str], gpu: str = "gfx1151", python: str = "3.12") -> Finding:
    """The one finding on torch that is more than a note."""
    (one,) = [f for f in serious(report(folder, files, gpu, python=python)) if f.id in (BUILD, "version.torch-not-rocm")]
    return one


@pytest.mark.parametrize(("files", "places"), [
    ({"setup_rocm.sh": SCRIPT, "requirements-rocm.txt": LISTED},
     ["line 1 of setup_rocm.sh", "line 3 of requirements-rocm.txt", "line 4 of requirements-rocm.txt", "line 1 of requirements-rocm.txt"]),
    ({"setup_rocm.sh": "cp pyproject.rocm.toml pyproject.toml\nuv sync\n", "pyproject.rocm.toml": PROJECT},
     ["line 9 of pyproject.rocm.toml", "line 10 of pyproject.rocm.toml", "line 15 of pyproject.rocm.toml"]),
    ({"requirements-rocm.txt": f"torch==2.5.1 --index-url {WHEELS}6.2\n"}, ["line 1 of requirements-rocm.txt"]),
    ({"requirements-rocm.txt": f"torch --index-url {WHEELS}6.2\ntorchvision --index-url {WHEELS}6.2\n"},
     ["line 1 of requirements-rocm.txt", "line 2 of requirements-rocm.txt"]),
    ({"setup_rocm.sh": 'TAG=${TAG:-rocm6.0}\nuv venv --python 3.12\n. .venv/bin/activate\n'
      'uv pip install torch==2.4.1 --index-url https://download.pytorch.org/whl/$TAG\n'}, ["line 4 of setup_rocm.sh"]),
    ({"setup_rocm.sh": f"pip install einops torch \\\n  torchaudio --index-url {WHEELS}6.0 && python x.py\n"}, ["line 1 of setup_rocm.sh"]),
    ({"setup_rocm.sh": f'INDEX="{WHEELS}6.0"\npip install "torch==2.4.1" --index-url "$INDEX" 2>&1 | tee log\n'}, ["line 2 of setup_rocm.sh"]),
    ({"setup_rocm.sh": f"pip install torch --index-url {WHEELS}6.0\npip install -r a.txt\n", "a.txt": "torch==2.4.1\ntorchvision\n"},
     ["line 1 of setup_rocm.sh", "line 1 of a.txt"]),
    ({"Dockerfile.rocm": f"FROM ubuntu:24.04\nRUN pip install torch==2.5.1 triton==3.1.0 --extra-index-url {WHEELS}6.2\n"}, ["line 2 of Dockerfile.rocm"]),
    ({"Makefile": f"PIP := pip\ninstall-rocm:\n\t@pip install torch --index-url {WHEELS}6.0\n"}, ["line 3 of Makefile"]),
    ({"setup_rocm.sh": f'python3.12 -m venv v\n"v/bin/pip" install torch --index-url {WHEELS}6.0\n'}, ["line 2 of setup_rocm.sh"]),
])  # fmt: skip
def test_each_place_that_decides_is_named_and_the_finding_is_gone(
    tmp_path: Path, files: dict[str, str], places: list[str]
) -> None:
    def again(folder: Path) -> list[Finding]:
        return serious(report(folder, {}, "gfx1151"))

    one = found_in(tmp_path, files)
    assert list(dict.fromkeys(re.findall(r"line \d+ of [\w./-]+\w", one.advice))) == places
    assert left(tmp_path, one, again(tmp_path), again) == "gone", one.advice


def test_the_other_words_of_a_command_stay(tmp_path: Path) -> None:
    """An index of PyTorch's has nothing but torch: beside other packages it is one more index."""
    script = f"pip install -q obsws-python torch torchvision --index-url {WHEELS}6.0\n"
    advice = found_in(tmp_path, {"setup_rocm.sh": script}).advice
    assert re.fullmatch(
        r"Change the command on line 1 of setup_rocm.sh to: pip install -q obsws-python torch==\S+ torchvision==\S+"
        r" --extra-index-url https://download.pytorch.org/whl/rocm[\d.]+\. From 2\.6 on torch loads checkpoints with weights_only=True .+",
        advice,
    )


def test_a_list_for_all_hardware_is_left_as_it_is(tmp_path: Path) -> None:
    files = {"setup_rocm.sh": "pip install -r requirements.txt\n", "requirements.txt": "torch>=2.9.0\ntorchvision\n"}
    advice = found_in(tmp_path, files, "gfx942").advice
    assert advice.startswith("Change the command on line 1 of setup_rocm.sh to: pip install -r requirements.txt torch==")
    assert " torchvision==" in advice
    assert "requirements.txt." not in advice


@pytest.mark.parametrize(("files", "way"), [
    ({"Dockerfile.rocm": "FROM python:3.8\nCOPY rocm.txt .\nRUN pip install -r rocm.txt\n",
      "rocm.txt": f"--extra-index-url {WHEELS}5.4.2\ntorch==2.0.1\nhttps://x.org/onnxruntime_training-1.16.3%2Brocm542-cp38-cp38-linux_x86_64.whl\n"},
     "onnxruntime-training on line 3 of rocm.txt is built for another ROCm (rocm542)"),
    ({"Dockerfile.rocm": f"FROM python:3.8\nENV COMMAND=\"pip install torch==2.0.1 --extra-index-url {WHEELS}5.4.2\"\nRUN python -m $COMMAND\n"},
     "What decides is line 3 of Dockerfile.rocm (by COMMAND)."),
])  # fmt: skip
def test_advice_that_would_not_hold_is_the_decision_alone(tmp_path: Path, files: dict[str, str], way: str) -> None:
    advice = found_in(tmp_path, files, "gfx1100").advice
    assert "It needs a torch with code for gfx1100, such as torch==2.3.1+rocm6.0 of" in advice
    assert way in advice
    assert "pip install" not in advice


def test_what_is_found_once_torch_is_a_rocm_build_is_said(tmp_path: Path) -> None:
    files = {"setup_rocm.sh": "pip install torch bitsandbytes==0.42.0\n"}
    assert "What is left then: " in found_in(tmp_path, files, "gfx1100").advice


def test_a_lock_is_made_again_and_never_edited(tmp_path: Path) -> None:
    lock = 'version = 1\n[[package]]\nname = "torch"\nversion = "2.12.0"\nsource = { registry = "https://pypi.org/simple" }\n'
    lock += 'dependencies = [{ name = "triton" }]\n[[package]]\nname = "triton"\nversion = "3.7.0"\nsource = { registry = "https://pypi.org/simple" }\n'
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n'
    image = "FROM rocm/dev-ubuntu-24.04\nWORKDIR /app\nCOPY server/ .\nRUN uv sync --frozen --extra rocm\n"
    found = serious(
        report(tmp_path, {"server/uv.lock": lock, "server/pyproject.toml": project, "server/Dockerfile.rocm": image}, "gfx942")
    )
    advice = " ".join(f.advice for f in found)
    assert "of server/uv.lock" not in advice
    assert "in server/pyproject.toml: name torch==2.12.0" in advice
    assert advice.endswith("Then lock again.")


BRINGS = "because it brings its own torch."


@pytest.mark.parametrize(("files", "title", "words"), [
    ({"requirements-rocm.txt": f"--extra-index-url {WHEELS}6.2\nvllm>=0.6\nopenai\nsglang\n"}, "torch resolves to",
     ["Do not install vllm and sglang from", " sglang on ROCm: ", "Each belongs in an environment of its own"]),
    ({"setup_rocm.sh": f"pip install torch==2.5.1+rocm6.2 --index-url {WHEELS}6.2\npip install vllm\npip install sglang\n"},
     "the ROCm torch is replaced by", ["Do not install vllm and sglang from"]),
    ({"setup_rocm.sh": f"pip install torch==2.5.1+rocm6.2 --index-url {WHEELS}6.2\npip install vllm peft\n"},
     "the ROCm torch is replaced by", ["Do not install vllm from", "in an environment of its own, " + BRINGS]),
    ({"setup_rocm.sh": "pip install torch vllm\n"}, "torch resolves to", ["In the way of that: vllm on line 1 of setup_rocm.sh requires a torch of its own"]),
])  # fmt: skip
def test_all_packages_that_bring_a_torch_of_their_own_are_named(
    tmp_path: Path, files: dict[str, str], title: str, words: list[str]
) -> None:
    """Which torch the newest release of such a package requires is not known: no number is said."""
    one = found_in(tmp_path, files, "gfx942")
    assert one.title == f"{title} a CUDA build, that of vllm's newest release"
    assert [word for word in words if word not in one.advice] == []
    brings = "setup_rocm.sh" if "setup_rocm.sh" in files else "requirements-rocm.txt"
    assert one.evidence[0].artifact == brings


def test_a_long_list_of_pins_is_changed_where_it_asks_for_torch(tmp_path: Path) -> None:
    frozen = "".join(f"package{n}==1.{n}\n" for n in range(30))
    one = found_in(tmp_path, {"requirements-rocm.txt": f"--extra-index-url {WHEELS}6.2\ntorch==2.5.1+rocm6.2\n{frozen}"})
    assert "Write torch==2.11.0+rocm7.2 on line 2 of requirements-rocm.txt." in one.advice


def test_a_python_that_has_no_torch_for_the_gpu(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": f"FROM python:3.8\nRUN pip install torch==2.4.1 --index-url {WHEELS}6.0\n"}
    assert re.match(
        r"No ROCm build of torch for Python 3.8 in the range that is asked for is known to serve gfx1151; Python 3\.\d+ has one, torch==\S+ of https://",
        found_in(tmp_path, files).advice,
    )


@pytest.mark.parametrize(("more", "way"), [("xformers==0.0.32.post2", True), ("einops==0.8.1", False)])
def test_a_package_whose_release_requires_one_torch_is_in_the_way(tmp_path: Path, more: str, way: bool) -> None:
    """Installed after the torch that is advised, it would put the torch of its release in its place."""
    index = f"--index-url {WHEELS}6.4"
    one = found_in(tmp_path, {"setup_rocm.sh": f"pip install torch {index}\npip install {more} {index}\n"})
    assert (f"In the way of that: {more} on line 2 of setup_rocm.sh requires the torch of its release." in one.advice) is way


@pytest.mark.parametrize(("asked", "said"), [
    ("torch torchaudio", True), ("torch torchaudio torchcodec", False), ("torch", False),
])  # fmt: skip
def test_what_the_advised_companions_need_beside_them_is_said(tmp_path: Path, asked: str, said: bool) -> None:
    one = found_in(tmp_path, {"setup_rocm.sh": f"pip install {asked} --index-url {WHEELS}6.2\n"})
    assert ("From 2.9 on torchaudio loads and saves audio by torchcodec" in one.advice) is said


@pytest.mark.parametrize(
    ("pin", "way"), [("sympy==1.12", True), ("sympy==1.13.3", False), ("typing-extensions==4.9.0", True), ("sympy", False)]
)
def test_a_pin_that_the_advised_torch_does_not_admit_is_changed_with_it(tmp_path: Path, pin: str, way: bool) -> None:
    listed = f"--extra-index-url {WHEELS}6.0\ntorch==2.3.1+rocm6.0\n{pin}\n"
    advice = found_in(tmp_path, {"requirements-rocm.txt": listed}).advice
    name, needed = pin.partition("=")[0], "1.13.3" if pin.startswith("sympy") else "4.10.0"
    assert (f"Write {name}>={needed} on line 3 of requirements-rocm.txt: torch 2.11.0 requires that." in advice) is way


@pytest.mark.parametrize(("torch", "rocm", "said"), [("2.5.1", "6.2", True), ("2.7.1", "6.3", False)])
def test_a_breaking_change_that_the_advice_goes_past_is_said(tmp_path: Path, torch: str, rocm: str, said: bool) -> None:
    one = found_in(tmp_path, {"requirements-rocm.txt": f"--extra-index-url {WHEELS}{rocm}\ntorch=={torch}+rocm{rocm}\n"})
    assert ("write torch.load(..., weights_only=False)" in one.advice) is said


def test_a_release_that_every_kernel_runs_comes_before_a_nearer_one(tmp_path: Path) -> None:
    """ROCm 7.0 and 7.1 do not run on gfx1151 with newer kernels; a pin of one is met all the same."""
    one = found_in(tmp_path, {"requirements-rocm.txt": f"--extra-index-url {WHEELS}6.4\ntorch==2.9.1+rocm6.4\n"})
    assert "2.11.0 is the nearest" in one.advice
    assert "torch==2.11.0+rocm7.2" in one.advice
    pinned = {"requirements-rocm.txt": f"--index-url {WHEELS}7.1\ntorch==2.10.0+rocm7.1\n"}
    assert "not every kernel runs ROCm 7.1 on gfx1151" in report(tmp_path / "b", pinned, "gfx1151").summary
    assert report(tmp_path / "c", pinned, "gfx942").verdict == "ready"


def test_an_override_goes_with_the_torch_that_it_was_for(tmp_path: Path) -> None:
    files = {"setup_rocm.sh": f"export HSA_OVERRIDE_GFX_VERSION=10.3.0\npip install torch --index-url {WHEELS}5.7\n"}
    one = found_in(tmp_path, files)
    assert "Take HSA_OVERRIDE_GFX_VERSION out of line 1 of setup_rocm.sh then" in one.advice


def test_a_later_rocm_torch_is_to_be_installed_first(tmp_path: Path) -> None:
    """One command for all hardware brings a torch that the branch for AMD finds installed."""
    image = f"FROM ubuntu:24.04\nRUN pip install torch\nRUN pip install torch --index-url {WHEELS}7.2\n"
    one = found_in(tmp_path, {"Dockerfile.rocm": image})
    assert (
        one.advice
        == "Run the command on line 3 of Dockerfile.rocm before the one on line 2 of Dockerfile.rocm: pip leaves a torch that is there."
    )


def test_a_range_that_no_build_serves_is_told_what_serves_outside_of_it(tmp_path: Path) -> None:
    listed = f"--index-url {WHEELS}6.4\n--extra-index-url https://pypi.org/simple\ntorch~=2.9.0\n"
    advice = found_in(tmp_path, {"requirements-rocm.txt": listed}).advice
    assert re.search(r"outside of that range torch==2\.1\d\.\d\+rocm7\.\d+ of https://\S+ does\.$", advice), advice


SHARED = {
    "requirements_linux_rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch>=2.1.0\nnumpy\n",
    "run_rocm.sh": "pip install -r requirements_linux_rocm.txt\npython train.py\n",
}
IMAGE = "FROM {image}\nCOPY . .\nRUN pip install -r requirements_linux_rocm.txt\n"


@pytest.mark.parametrize(("image", "line"), [
    ("rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0", False), ("python:3.12", True),
])  # fmt: skip
def test_a_list_that_an_image_with_a_torch_installs_as_well(tmp_path: Path, image: str, line: bool) -> None:
    files = {**SHARED, "Dockerfile.rocm": IMAGE.format(image=image)}
    found = [f for f in serious(report(tmp_path, files)) if f.evidence[0].artifact == "requirements_linux_rocm.txt"]
    advice = " ".join(f.advice for f in found)
    assert ("on line 2 of requirements_linux_rocm.txt" in advice) is line
    assert ("Change the command on line 1 of run_rocm.sh" in advice) is not line


def test_a_package_of_the_release_of_rocm_goes_with_that_of_the_machine(tmp_path: Path) -> None:
    text = "--index-url https://download.pytorch.org/whl/rocm6.3\ntorch==2.7.1\namdsmi=={}\n"
    for version, way in (("6.3.4", True), ("7.2.0", False)):
        found = serious(report(tmp_path / version, {"requirements-rocm.txt": text.format(version)}, gpu="gfx1151"))
        assert ("amdsmi==6.3.4 on line 3 of requirements-rocm.txt is of ROCm 6.3" in found[0].advice) is way


UV = """[project]
name = "x"
version = "1"
dependencies = ["torch>=2.6.0", "{triton}>=3.2.0"]
[tool.uv.sources]
torch = [{{ index = "rocm" }}]
{triton} = [{{ index = "rocm" }}]
[[tool.uv.index]]
name = "rocm"
url = "https://download.pytorch.org/whl/rocm6.2.4"
explicit = true
"""
LOCKED = """[[package]]
name = "x"
version = "1"
source = {{ virtual = "." }}
dependencies = [{{ name = "torch" }}, {{ name = "{triton}" }}]
[[package]]
name = "torch"
version = "2.6.0+rocm6.2.4"
source = {{ registry = "https://download.pytorch.org/whl/rocm6.2.4" }}
[[package]]
name = "{triton}"
version = "3.2.0"
source = {{ registry = "https://download.pytorch.org/whl/rocm6.2.4" }}
"""


@pytest.mark.parametrize(("triton", "gone"), [("pytorch-triton-rocm", True), ("triton-rocm", False)])
def test_the_triton_of_another_torch_goes(tmp_path: Path, triton: str, gone: bool) -> None:
    files = {"pyproject.toml": UV.format(triton=triton), "uv.lock": LOCKED.format(triton=triton)}
    found = [f for f in serious(report(tmp_path, files, gpu="gfx1151")) if f.id == "arch.not-in-build"]
    assert [f"Take {triton} out" in f.advice for f in found] == [gone]


GROUP = """[project]
name = "x"
version = "1"
[dependency-groups]
rocm = ["torch>=2.0", "pytorch-triton-rocm"]
cpu = ["torch>=2.0"]
[tool.uv]
conflicts = [[{ group = "cpu" }, { group = "rocm" }]]
[tool.uv.sources]
torch = [{ index = "rocm", group = "rocm" }, { index = "cpu", group = "cpu" }]
pytorch-triton-rocm = [{ index = "rocm", group = "rocm" }]
[[tool.uv.index]]
name = "rocm"
url = "https://download.pytorch.org/whl/rocm6.2.4"
explicit = true
[[tool.uv.index]]
name = "cpu"
url = "https://download.pytorch.org/whl/cpu"
explicit = true
"""


def test_a_group_of_uv_is_bound_as_a_group(tmp_path: Path) -> None:
    files = {"pyproject.toml": GROUP, "Dockerfile.rocm": "FROM python:3.12\nWORKDIR /x\nCOPY . .\nRUN uv sync --group rocm\n"}
    advice = " ".join(f.advice for f in serious(report(tmp_path, files, gpu="gfx1151")) if f.id == "arch.not-in-build")
    assert "among the dependencies of the group rocm" in advice
    assert 'group = "rocm" }]' in advice
    assert 'extra = "rocm"' not in advice
    assert "Take pytorch-triton-rocm out" in advice


@pytest.mark.parametrize(("more", "said"), [("coqui-tts", True), ("coqui-tts[codec]\ntorchcodec", False), ("peft", False)])
def test_what_a_newer_torch_stops(tmp_path: Path, more: str, said: bool) -> None:
    text = f"--index-url https://download.pytorch.org/whl/rocm6.2.4\ntorch==2.6.0+rocm6.2.4\n{more}\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": text}, gpu="gfx1151"))
    assert ("ask for coqui-tts[codec]" in " ".join(f.advice for f in found)) is said


@pytest.mark.parametrize("spec", [">=2.5,<2.6", ">=2.6,<2.7"])
def test_what_a_release_outside_of_the_range_changes(tmp_path: Path, spec: str) -> None:
    script = f'pip install "torch{spec}" --index-url https://download.pytorch.org/whl/rocm6.2\n'
    found = serious(report(tmp_path, {"install_rocm.sh": script}, gpu="gfx1151"))
    assert ("weights_only" in " ".join(f.advice for f in found)) is ("<2.6" in spec)


@pytest.mark.parametrize(("release", "fits"), [("==0.1.2", True), ("==0.1.99", False)])
def test_a_package_whose_release_requires_the_advised_torch_is_not_in_its_way(tmp_path: Path, release: str, fits: bool) -> None:
    wheel = (
        "https://repo.radeon.com/rocm/manylinux/rocm-rel-6.4.1/torch-2.6.0%2Brocm6.4.1.git1ded221d-cp310-cp310-linux_x86_64.whl"
    )
    listed = f"chatterbox-tts{release}\ntorch @ {wheel}\n"
    found = report(tmp_path, {"requirements-rocm.txt": listed}, "gfx906", python="3.10")
    (one,) = (f for f in found.findings if f.id == "arch.blas-missing")
    assert ("Write torch==2.6.0+rocm6.2.4 on line 2 of requirements-rocm.txt." in one.advice) is fits
    assert ("In the way of that" in one.advice) is not fits
