"""What pip really does: folders that it does not look into, packages that it takes anew, wheels that it refuses, and what goes with what."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.3"
IMAGE = "rocm/pytorch:rocm7.1.1_ubuntu22.04_py3.10_pytorch_release_2.9.1"
NOT_ROCM = "version.torch-not-rocm"
MISMATCH = "version.package-mismatch"
NO_PYTHON = "version.python-unsupported"


@pytest.mark.parametrize(("options", "replaced"), [
    ("--prefix=/install", True), ("--prefix /install", True), ("--root=/image", True), ("--target=/install", False),
    ("--prefix=/usr/local", False), ("--prefix=/opt/venv", False), ("", False),
])  # fmt: skip
def test_pip_does_not_look_into_a_prefix(tmp_path: Path, options: str, replaced: bool) -> None:
    text = f"FROM python:3.11-slim\nRUN pip install {options} --index-url {ROCM} torch\nRUN pip install {options} accelerate\n"
    found = said(report(tmp_path / "a", {"Dockerfile": text}))
    assert found == ([(NOT_ROCM, "error", "Dockerfile:3")] if replaced else [])
    seen = text.replace("RUN", "ENV PYTHONPATH=/install/lib/python3.11/site-packages:/image/usr\nRUN", 1)
    assert said(report(tmp_path / "b", {"Dockerfile": seen})) == []


def test_what_is_outside_of_a_prefix_is_seen(tmp_path: Path) -> None:
    text = f"FROM python:3.11-slim\nRUN pip install --index-url {ROCM} torch\nRUN pip install --prefix=/x accelerate\n"
    assert said(report(tmp_path, {"Dockerfile": text})) == []


@pytest.mark.parametrize(("base", "before", "options", "said_of_it"), [
    (IMAGE, "", "", False), (IMAGE, "", "--prefix=/install", False), (IMAGE, "", "-U", True), ("python:3.12-slim", "", "", True),
    ("python:3.12-slim", f"RUN pip install torch --index-url {ROCM}\n", "", False),
])  # fmt: skip
def test_an_open_range_that_the_torch_that_is_there_satisfies(
    tmp_path: Path, base: str, before: str, options: str, said_of_it: bool
) -> None:
    """Where an earlier step or the image brought torch, pip asks no index for another one."""
    newest = "https://download.pytorch.org/whl/rocm7.2"
    text = f"FROM {base}\n{before}RUN pip install {options} --extra-index-url {newest} 'torch>=2.2'\n"
    assert [i for i, _, _ in said(report(tmp_path, {"Dockerfile.rocm": text})) if i == NOT_ROCM] == [NOT_ROCM] * said_of_it


@pytest.mark.parametrize(("line", "said_of_it"), [("torch==2.14.1+rocm7.2", False), ("torch>=2.4", True)])
def test_an_open_range_beside_a_pin_of_the_same_list(tmp_path: Path, line: str, said_of_it: bool) -> None:
    files = {
        "requirements-rocm.txt": f"--extra-index-url https://download.pytorch.org/whl/rocm7.2\n-r common.txt\n{line}\n",
        "common.txt": "torch>=2.0\n",
    }
    assert bool(serious(report(tmp_path, files))) is said_of_it


@pytest.mark.parametrize(("base", "asked", "left_out"), [
    ("rocm/pytorch:rocm6.4.4_ubuntu24.04_py3.12_pytorch_release_2.7.1", "torch>=2.0 einops", 0),
    ("rocm/pytorch:rocm6.4.4_ubuntu24.04_py3.12_pytorch_release_2.7.1", "-U torch einops --index-url https://download.pytorch.org/whl/rocm6.2", 1),
])  # fmt: skip
def test_an_old_index_beside_a_torch_that_comes_with_the_image(tmp_path: Path, base: str, asked: str, left_out: int) -> None:
    text = f"FROM {base}\nRUN pip install --extra-index-url https://download.pytorch.org/whl/rocm6.2 {asked}\n"
    found = report(tmp_path, {"Dockerfile.rocm": text}, "gfx1151").findings
    assert len([f for f in found if f.id == "arch.not-in-build" and f.severity == "error"]) == left_out


PROJECT = "[project]\nname = 'x'\nversion = '1'\ndependencies = ['torch>=2.0']\n"


@pytest.mark.parametrize(("command", "replaced"), [
    ("pip install --force-reinstall accelerate", True), ("pip install -I accelerate", True), ("pip install --force-reinstall .", True),
    ("pip install --force-reinstall --no-deps accelerate", False), ("pip install -U accelerate", False),
    ("pip install --force-reinstall einops", False), ("pip install .", False),
])  # fmt: skip
def test_pip_takes_dependencies_anew(tmp_path: Path, command: str, replaced: bool) -> None:
    text = f"FROM python:3.11-slim\nWORKDIR /app\nCOPY . .\nRUN pip install --index-url {ROCM} torch\nRUN {command}\n"
    found = serious(report(tmp_path, {"Dockerfile": text, "pyproject.toml": PROJECT}))
    assert [f.id for f in found if f.severity == "error"] == ([NOT_ROCM] if replaced else [])


@pytest.mark.parametrize("made", [
    "uv venv --python 3.14", "uv venv -p python3.14", "python3.14 -m venv .venv", "PY=3.14\nuv venv --python $PY", "conda create -n x python=3.14 -y",
    'if type mamba; then\n  C=mamba\nelse\n  C=conda\nfi\n"$C" create -y -p e python=3.14', "$(which conda) create -y -p e python=3.14",
    'D=$(pwd)/env\nconda create -y -k --prefix "$D" python=3.14\nconda activate "$D"', 'if [ ! -d "env" ]; then\n  D=$(pwd)/env\n  conda create -y --prefix "$D" python=3.14\nfi',
    "if [ ! -d .venv ]; then\n  uv venv --python 3.14 .venv\nfi", 'V=.venv\nif [ ! -f "$V/bin/activate" ]; then\n  python3.14 -m venv "$V"\nfi',
])  # fmt: skip
def test_a_script_has_the_python_of_its_environment(tmp_path: Path, made: str) -> None:
    script = f"{made}\npip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"
    found = report(tmp_path / "a", {"setup.sh": script})
    assert said(found) == [(NO_PYTHON, "error", "setup.sh:" + str(script.count("\n")))]
    assert said(report(tmp_path / "b", {"setup.sh": script.replace("3.14", "3.12")}, python="3.14")) == []


@pytest.mark.parametrize(
    "made",
    [
        "uv venv --python $1",
        "if [ -n $X ]; then uv venv --python 3.14; fi",
        "if [ ! -d x ]; then uv venv --python 3.14 y; fi",
        "uv venv --python 3.14\nuv venv y --python 3.12",
    ],
)
def test_a_python_that_is_not_settled_is_not_taken(tmp_path: Path, made: str) -> None:
    script = f"{made}\npip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"
    assert said(report(tmp_path, {"setup.sh": script})) == []


WHEEL = "https://example.com/x/jaxlib-0.5.0-cp310-cp310-manylinux_2_28_x86_64.whl"


def test_a_wheel_for_another_python_or_system(tmp_path: Path) -> None:
    own = {"Dockerfile": f"FROM rocm/dev-ubuntu-24.04:6.4\nRUN python3.12 -m pip install {WHEEL}\n"}
    assert said(report(tmp_path / "own", own)) == [(NO_PYTHON, "error", "Dockerfile:2")]
    library = {
        "Dockerfile": f"FROM ubuntu:22.04\nRUN apt-get install -y python3 libpython3.8 rocm-dev\nRUN pip3 install {WHEEL}\n"
    }
    assert serious(report(tmp_path / "library", library)) == []
    asked = {"requirements-rocm.txt": WHEEL + "\n"}
    assert said(report(tmp_path / "asked", asked)) == [(NO_PYTHON, "warning", "requirements-rocm.txt:1")]
    assert said(report(tmp_path / "fits", asked, python="3.10")) == []
    branch = 'if [ "$C" = noble ]; then S=cp312-cp312; elif [ "$C" = jammy ]; then S=cp310-cp310; fi\npip install "https://x.com/torch-2.9.1-$S-linux_x86_64.whl"\n'
    assert said(report(tmp_path / "branch", {"install_rocm.sh": branch})) == []
    each = {"requirements-rocm.txt": f"{WHEEL}\n{WHEEL.replace('310', '312')}\n"}
    assert said(report(tmp_path / "each", each)) == []
    windows = {"requirements-rocm.txt": WHEEL.replace("manylinux_2_28_x86_64", "win_amd64") + "\n"}
    assert [f.title for f in serious(report(tmp_path / "windows", windows, python="3.10"))] == [
        "the wheel of jaxlib is for win_amd64"
    ]


def test_two_distributions_of_one_package(tmp_path: Path) -> None:
    both = f"FROM python:3.10\nRUN pip install torch==2.9.1+rocm6.3 --extra-index-url {ROCM}\nRUN pip install tensorflow-rocm==2.12.0.560 tensorflow==2.12.0\n"
    found = [f for f in serious(report(tmp_path / "a", {"Dockerfile": both})) if "same files" in f.title]
    assert [(f.id, f.severity) for f in found] == [(MISMATCH, "warning")]
    gone = both + "RUN pip uninstall -y tensorflow\n"
    assert not any("same files" in f.title for f in serious(report(tmp_path / "b", {"Dockerfile": gone})))


@pytest.mark.parametrize(("package", "wheels"), [
    ("ctranslate2", "CUDA"), ("faster-whisper==1.2.1", "CUDA"), ("wyoming-faster-whisper", "CUDA"),
])  # fmt: skip
def test_a_package_that_has_no_wheels_for_amd(tmp_path: Path, package: str, wheels: str) -> None:
    text = f"FROM {IMAGE}\nRUN pip install {package}\n"
    found = serious(report(tmp_path / "a", {"Dockerfile": text}))
    assert [(f.id, f.severity) for f in found] == [(MISMATCH, "warning")]
    assert found[0].title.endswith(f"ctranslate2{', which' if 'whisper' in package else ''} has {wheels} wheels only")
    built = text + "RUN pip install https://example.com/ctranslate2-4.7.1-cp310-cp310-linux_x86_64.whl\n"
    assert said(report(tmp_path / "b", {"Dockerfile": built})) == []


@pytest.mark.parametrize(("lines", "ids"), [
    ("jax==0.11.2\nflax\n", [MISMATCH]), ("jax\njax-rocm7-plugin\n", []), ("jax\ntorch==2.9.1+rocm6.4\n", []), ("tensorflow\n", [MISMATCH]),
])  # fmt: skip
def test_a_framework_that_runs_on_the_cpu(tmp_path: Path, lines: str, ids: list[str]) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/rocm6.4\n" + lines
    assert [f.id for f in serious(report(tmp_path, {"requirements-rocm.txt": text}))] == ids


@pytest.mark.parametrize(
    ("image", "ids"), [("rocm/dev-ubuntu-24.04:7.2", [MISMATCH]), ("ghcr.io/x/lab:rocm7-torch2.9", []), ("rocm/jax:rocm7", [])]
)
def test_an_image_of_others_may_have_a_torch(tmp_path: Path, image: str, ids: list[str]) -> None:
    found = serious(report(tmp_path, {"Dockerfile": f"FROM {image}\nRUN python3.12 -m pip install jax\n"}))
    assert [f.id for f in found] == ids


def test_numpy_that_torchvision_brings(tmp_path: Path) -> None:
    old = "https://download.pytorch.org/whl/rocm5.7"
    text = "FROM ubuntu:22.04\nRUN python3.10 -m pip install torch==2.2.2+rocm5.7 torchvision==0.17.2+rocm5.7 {} --extra-index-url {}\n"
    found = serious(report(tmp_path / "a", {"Dockerfile": text.format("", old)}))
    assert [(f.id, f.severity, f.title) for f in found] == [
        (MISMATCH, "warning", "torchvision takes NumPy 2, and torch 2.2.2 was built with NumPy 1")
    ]
    for n, more in enumerate(("'numpy<2'", "transformers==4.38.0")):
        assert serious(report(tmp_path / f"b{n}", {"Dockerfile": text.format(more, old)})) == []
    assert serious(report(tmp_path / "c", {"Dockerfile": text.format("", old).replace("--extra-index-url", "--index-url")})) == []


@pytest.mark.parametrize(("package", "replaced"), [("whisperx", True), ("pyannote.audio", False), ("chatterbox-tts", True)])
def test_what_requires_another_torch_than_the_image_has(tmp_path: Path, package: str, replaced: bool) -> None:
    found = said(report(tmp_path, {"Dockerfile": f"FROM {IMAGE}\nRUN pip install {package}\n"}))
    assert ((NOT_ROCM, "error", "Dockerfile:2") in found) is replaced


OLD = "rocm/pytorch:rocm6.0_ubuntu22.04_py3.10_pytorch_2.1.2"


@pytest.mark.parametrize(("image", "package", "replaced"), [
    (OLD, "bitsandbytes", True), (OLD, "'bitsandbytes>=0.44'", True), (OLD, "bitsandbytes==0.45.0", False), (OLD, "'bitsandbytes<0.46'", False),
    (OLD, "accelerate", False), (OLD.replace("py3.10", "py3.9"), "bitsandbytes", False), (IMAGE, "bitsandbytes", False),
    (OLD.replace("rocm/pytorch:", "rocm/pytorch-training:"), "bitsandbytes", False),
])  # fmt: skip
def test_the_newest_release_of_a_library_pulls_another_torch(tmp_path: Path, image: str, package: str, replaced: bool) -> None:
    found = said(report(tmp_path, {"Dockerfile": f"FROM {image}\nRUN pip install {package}\n"}))
    assert ((NOT_ROCM, "error", "Dockerfile:2") in found) is replaced


@pytest.mark.parametrize(("image", "packages", "advice"), [
    (OLD, "transformers", "transformers==4.55.4"), (OLD, "'transformers>=4.40'", "transformers==4.55.4"), (OLD, "transformers==4.51.3", ""),
    (OLD, "'transformers<5'", ""), (OLD, "transformers trl==0.9.6", ""), (OLD, "transformers gradio==4.0", "transformers==4.55.4"), (IMAGE, "transformers", ""),
    (OLD.replace("py3.10_", ""), "transformers", "transformers==4.55.4"), ("ghcr.io/x/y:rocm_pytorch_2.1.2", "transformers", ""),
])  # fmt: skip
def test_a_library_that_switches_an_older_torch_off(tmp_path: Path, image: str, packages: str, advice: str) -> None:
    found = serious(report(tmp_path, {"Dockerfile": f"FROM {image}\nRUN pip install {packages}\n"}))
    assert [(f.id, f.severity, f.advice) for f in found] == (
        [(MISMATCH, "warning", f"Write {advice} on line 2 of Dockerfile.")] if advice else []
    )


@pytest.mark.parametrize(("spec", "rocm", "said_"), [
    ("bitsandbytes>=0.44", "6.2", True), ("bitsandbytes", "6.2", True), ("bitsandbytes==0.49.2", "6.2", False), ("bitsandbytes<0.50", "6.2", False),
    ("bitsandbytes", "6.4", False),
])  # fmt: skip
def test_an_open_range_takes_the_newest_wheel(tmp_path: Path, spec: str, rocm: str, said_: bool) -> None:
    torch = {"6.2": "2.5.1", "6.4": "2.9.1"}[rocm]
    text = f"--extra-index-url https://download.pytorch.org/whl/rocm{rocm}\ntorch=={torch}+rocm{rocm}\n{spec}\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": text}))
    assert [(f.id, f.severity) for f in found] == ([("lib.bitsandbytes", "warning")] if said_ else [])


FIRST = "FROM python:3.12-slim\nRUN pip install torch==2.9.1+rocm6.4 {}--extra-index-url https://download.pytorch.org/whl/rocm6.4\nRUN {}\n"


@pytest.mark.parametrize(("beside", "command", "replaced"), [
    ("", "pip install timm", True), ("", "pip install 'open_clip_torch>=2.0'", True), ("torchvision ", "pip install timm", False),
    ("", "pip install timm torchvision==0.24.1", False), ("", "pip install timm==0.9.2", False),
    ("", "pip install timm --index-url https://download.pytorch.org/whl/rocm6.4", False), ("", "pip install --no-deps timm", False),
    ("", "uv pip install --system timm --extra-index-url https://download.pytorch.org/whl/rocm6.4", False),
])  # fmt: skip
def test_a_library_that_brings_the_newest_torchvision(tmp_path: Path, beside: str, command: str, replaced: bool) -> None:
    found = said(report(tmp_path, {"Dockerfile": FIRST.format(beside, command)}))
    assert ((NOT_ROCM, "error", "Dockerfile:3") in found) is replaced


def test_an_image_with_torchvision_keeps_its_torch(tmp_path: Path) -> None:
    assert said(report(tmp_path / "a", {"Dockerfile": f"FROM {IMAGE}\nRUN pip install timm ultralytics torchvision\n"})) == []
    newer = report(tmp_path / "b", {"Dockerfile": f"FROM {IMAGE}\nRUN pip install -U torchvision\n"})
    assert (NOT_ROCM, "error", "Dockerfile:2") in said(newer)


BY_IMAGE = """FROM ubuntu:22.04
RUN curl -O https://repo.anaconda.com/miniconda/Miniconda3-py{}_24.1.2-0-Linux-x86_64.sh && bash Miniconda3-py{}_24.1.2-0-Linux-x86_64.sh -b
RUN --mount=type=bind,source=rocm-setup.sh,target=/tmp/rocm-setup.sh bash /tmp/rocm-setup.sh
"""


@pytest.mark.parametrize(("image", "own", "found"), [
    ("310", "", []), ("312", "", [NO_PYTHON]), ("", "", [NO_PYTHON]), ("310", "uv venv --python 3.12\n", [NO_PYTHON]),
])  # fmt: skip
def test_a_script_that_an_image_runs_has_its_python(tmp_path: Path, image: str, own: str, found: list[str]) -> None:
    files = {"rocm-setup.sh": f"{own}pip install {WHEEL}\n"}
    files |= {"Dockerfile": BY_IMAGE.format(image, image)} if image else {}
    ids = [
        f.id
        for f in serious(report(tmp_path, files))
        if "the wheel of jaxlib" in f.title and "rocm-setup.sh" in f.evidence[0].artifact
    ]
    assert sorted(set(ids)) == found


# What the newest torchvision of the package index requires says nothing of the one on PyTorch's index for an older ROCm.
@pytest.mark.parametrize("names", ["torchvision", "torchaudio torchvision", "torchaudio"])
@pytest.mark.parametrize("before", ["", IMAGE])
def test_companions_of_an_index_that_is_asked_alone(tmp_path: Path, names: str, before: str) -> None:
    base = f"FROM {before or 'python:3.12-slim'}\n"
    alone = report(tmp_path / "a", {"Dockerfile.rocm": f"{base}RUN pip install --force-reinstall --index-url {ROCM} {names}\n"})
    assert said(alone) == []
    assert alone.snapshot.facts["torch.version"].value == "2.9.1+rocm6.3"
    more = f"RUN pip install {names} --extra-index-url {ROCM}\n"
    assert bool(said(report(tmp_path / "b", {"Dockerfile.rocm": base + more}))) is (not before and "torchvision" in names)


def test_wheels_for_one_other_python_are_one_finding(tmp_path: Path) -> None:
    at = "https://repo.radeon.com/rocm/manylinux/rocm-rel-6.4.2/{0}-2.6.0%2Brocm6.4.2-cp310-cp310-linux_x86_64.whl"
    names = ("torch", "torchvision", "torchaudio", "tensorflow_rocm")
    text = "".join(f"{name} @ {at.format(name)}\n" for name in names)
    (one,) = [f for f in report(tmp_path, {"requirements-rocm.txt": text}).findings if f.id == NO_PYTHON]
    assert one.title == "the wheels of torch, torchvision, torchaudio and 1 more are for CPython 3.10"
    assert {r.place for r in one.evidence} >= {f"line {n}" for n in (1, 2, 3, 4)}


@pytest.mark.parametrize(("pin", "severity"), [("grpcio==1.46.3", "error"), ("grpcio==1.59.0", ""), ("grpcio>=1.46", "")])
def test_an_archive_that_does_not_build_with_the_python(tmp_path: Path, pin: str, severity: str) -> None:
    listed = {
        "requirements-rocm.txt": f"--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\n{pin}\n"
    }
    assert [f.severity for f in serious(report(tmp_path, listed)) if "grpcio" in f.title] == ([severity] if severity else [])


@pytest.mark.parametrize(("then", "expected"), [
    (f"pip uninstall -y torch torchvision torchaudio\npip install torch torchvision torchaudio --index-url {ROCM}", []),
    (f"pip uninstall -y torch torchvision torchaudio\npip install torch --index-url {ROCM}", []),
    (f"pip install --force-reinstall torch torchvision torchaudio --index-url {ROCM}", []),
    (f"pip install -I torch==2.9.1 torchvision torchaudio --index-url {ROCM}", []),
    (f"pip uninstall -y torch torchaudio\npip install torch torchvision torchaudio --index-url {ROCM}", ["torchvision"]),
    (f"pip install --force-reinstall torch --index-url {ROCM}", ["torchvision"]),
    (f"pip uninstall -y torch torchvision torchaudio\npip install torch --index-url {ROCM}\npip install torchvision==0.20.1", ["torchvision"]),
])  # fmt: skip
@pytest.mark.parametrize("before", ["torch torchvision torchaudio", "torch==2.9.1 torchvision==0.24.1 torchaudio==2.9.1"])
def test_companions_that_are_removed_or_installed_anew(tmp_path: Path, before: str, then: str, expected: list[str]) -> None:
    found = serious(report(tmp_path, {"install_rocm.sh": f"pip install {before}\n{then}\n"}))
    assert [f.title.split()[0] for f in found if f.id == "version.companion-mismatch"] == expected


MIRROR = "https://pypi.tuna.tsinghua.edu.cn/simple"


@pytest.mark.parametrize(("listed", "command", "is_rocm"), [
    (f"--index-url {ROCM}\ntorch==2.7.1\n", f"pip install -r requirements-rocm.txt -i {MIRROR}", True),
    (f"\ufeff--index-url {ROCM}\ntorch==2.7.1\n", f"pip install -i {MIRROR} -r requirements-rocm.txt", True),
    (f"--index-url {ROCM}\ntorch==2.7.1\n", f"uv pip install -r requirements-rocm.txt --index-url {MIRROR}", False),
    (f"--index-url {MIRROR}\ntorch==2.7.1\n", f"pip install -r requirements-rocm.txt --index-url {ROCM}", False),
    (f"--index-url {MIRROR}\ntorch==2.7.1\n", f"uv pip install -r requirements-rocm.txt --index-url {ROCM}", True),
    ("torch==2.7.1\n", f"pip install -r requirements-rocm.txt --index-url {ROCM}", True),
    (f"--extra-index-url {ROCM}\n--index-url {MIRROR}\ntorch==2.7.1\n", "", False),
    (f"--index-url {MIRROR}\n--extra-index-url {ROCM}\ntorch==2.7.1\n", "", True),
])  # fmt: skip
def test_which_index_has_the_last_word(tmp_path: Path, listed: str, command: str, is_rocm: bool) -> None:
    """pip takes an --index-url of a list in place of all before it; uv that of the command (asked of pip 23.2 with indexes that are not there)."""
    files = {"requirements-rocm.txt": listed} | ({"install_rocm.sh": f"{command}\n"} if command else {})
    assert [i for i, severity, _ in said(report(tmp_path, files)) if severity == "error"] == ([] if is_rocm else [NOT_ROCM])
