"""HSA_OVERRIDE_GFX_VERSION in a repository: what it makes of a build, and what the build holds for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, said, serious

ROCM = "https://download.pytorch.org/whl/rocm"
NEEDED = {"Dockerfile.rocm": f"FROM ubuntu:22.04\nRUN pip install torch==2.9.1 --index-url {ROCM}6.4\n"}
COMPILED = "FROM rocm/dev-ubuntu-22.04:6.1.2\n{env}RUN cmake -B build -DAMDGPU_TARGETS=gfx1030 && make\n"
OVERRIDE = "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n"


@pytest.mark.parametrize(("env", "gpu", "expected"), [
    ("", "gfx1032", {"arch.not-in-build"}), (OVERRIDE, "gfx1032", set()), (OVERRIDE, "gfx1030", set()),
    (OVERRIDE, "gfx1100", {"arch.override-wrong", "arch.not-in-build"}),
])  # fmt: skip
def test_a_build_for_the_gpu_that_the_override_names_serves_it(tmp_path: Path, env: str, gpu: str, expected: set[str]) -> None:
    found = report(tmp_path, {"Dockerfile": COMPILED.format(env=env)}, gpu=gpu)
    assert {f.id for f in serious(found)} == expected


@pytest.mark.parametrize(("value", "expected"), [("11.0.0", []), ("11.0.3", [("arch.override-wrong", "error")])])
def test_an_override_names_a_gpu_that_the_torch_has_code_for(tmp_path: Path, value: str, expected: list[tuple[str, str]]) -> None:
    image = f"FROM python:3.12-slim\nRUN pip install torch --index-url {ROCM}6.2\nENV HSA_OVERRIDE_GFX_VERSION={value}\n"
    found = report(tmp_path, {"Dockerfile": image}, gpu="gfx1100")
    assert [(f.id, f.severity) for f in serious(found)] == expected


@pytest.mark.parametrize(("gpu", "expected"), [("gfx1032", "warning"), ("gfx1201", "error")])
def test_an_old_index_with_code_that_the_gpu_runs_by_an_override_is_no_error(tmp_path: Path, gpu: str, expected: str) -> None:
    image = f"FROM ubuntu:22.04\nRUN pip install --pre torch --index-url {ROCM.replace('whl', 'whl/nightly')}5.6\n"
    found = report(tmp_path, {"Dockerfile": image}, gpu=gpu)
    assert [(i, s) for i, s, _ in said(found)] == [("arch.not-in-build", expected)]
    assert ("HSA_OVERRIDE_GFX_VERSION=10.3.0" in serious(found)[0].advice) is (gpu == "gfx1032")
    assert serious(report(tmp_path / "b", {"Dockerfile": image + OVERRIDE}, gpu="gfx1032")) == []


def test_an_override_that_the_repository_has_its_user_set_is_not_asked_for(tmp_path: Path) -> None:
    assert [f.id for f in serious(report(tmp_path, NEEDED, gpu="gfx1032"))] == ["arch.override-needed"]
    compose = (
        "services:\n  app:\n    image: app:rocm\n    devices: [/dev/kfd, /dev/dri]\n"
        "    environment:\n      HSA_OVERRIDE_GFX_VERSION: {value}\n"
    )
    for value, asked in (("10.3.0", False), ("11.0.0", True)):
        found = serious(report(tmp_path / value, NEEDED | {"docker-compose.yml": compose.format(value=value)}, gpu="gfx1032"))
        assert ("arch.override-needed" in {f.id for f in found}) is asked
    other = {"Dockerfile": COMPILED.format(env=""), "docker-compose.yml": compose.format(value="10.3.0")}
    assert serious(report(tmp_path / "built", other, gpu="gfx1032")) == []
    assert [f.id for f in serious(report(tmp_path / "built", other, gpu="gfx1201")) if f.id == "arch.not-in-build"]
    told = f"# Cards of the RX 6600 series\n\n```bash\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n```\n\n# AMD\n\n```bash\npip install torch==2.9.1 --index-url {ROCM}6.4\n```\n"
    assert serious(report(tmp_path / "readme", {"README.md": told}, gpu="gfx1032")) == []


AMD = "https://rocm.nightlies.amd.com/v2/{}/"
INSTALLS = "uv venv\nuv pip install --pre torch --index-url {}\n"
STARTS = 'if [ -z "$HSA_OVERRIDE_GFX_VERSION" ]; then\n  export HSA_OVERRIDE_GFX_VERSION=11.0.0\n  echo "HSA_OVERRIDE_GFX_VERSION=11.0.0"\nfi\npython train.py\n'
SERVICE = "services:\n  a-rocm:\n    build: .\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    environment: [HSA_OVERRIDE_GFX_VERSION=11.0.0]\n"
WRONG = ("arch.override-wrong", "warning")


@pytest.mark.parametrize(("files", "expected"), [
    ({"setup_rocm.sh": INSTALLS.format(AMD.format("gfx1151")), "start.sh": STARTS}, [(*WRONG, "start.sh:2")]),
    ({"setup_rocm.sh": INSTALLS.format(AMD.format("gfx110X-all")), "start.sh": STARTS}, [("arch.not-in-build", "warning", "setup_rocm.sh:2")]),
    ({"setup_rocm.sh": INSTALLS.format(f"{ROCM}7.1"), "start.sh": STARTS}, []),
    ({"setup_rocm.sh": INSTALLS.format("https://example.com/whl"), "start.sh": STARTS}, None),
    ({"setup_rocm.sh": INSTALLS.format(AMD.format("gfx1151")), "b.rocm.sh": INSTALLS.format(f"{ROCM}7.1"), "start.sh": STARTS}, []),
    ({"Dockerfile": f"FROM python:3.12-slim\nRUN pip install --pre torch --index-url {AMD}\n".format("gfx1151"), "compose.yaml": SERVICE}, [(WRONG[0], "error", "compose.yaml:6")]),
])  # fmt: skip
def test_an_override_of_a_start_script_meets_the_torch_that_another_file_installs(
    tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str, str]] | None
) -> None:
    found = report(tmp_path, files, gpu="gfx1151")
    assert [f.id for f in serious(found) if f.id == "arch.override-wrong"] == [
        one[0] for one in expected or () if one[0] == WRONG[0]
    ]
    if expected is not None:
        assert said(found) == expected
    assert all("echo" not in f.advice and "as well" not in f.advice for f in serious(found))


def test_an_index_for_one_gpu_has_code_for_that_one_alone(tmp_path: Path) -> None:
    script = INSTALLS.format(AMD.format("gfx1151")) + "export HSA_OVERRIDE_GFX_VERSION=11.0.0\npython train.py\n"
    assert said(report(tmp_path, {"run_rocm.sh": script, "README.md": "Run `bash run_rocm.sh`.\n"}, gpu="gfx1151")) == [
        ("arch.override-wrong", "error", "run_rocm.sh:3")
    ]


@pytest.mark.parametrize("line", [
    "echo 'export HSA_OVERRIDE_GFX_VERSION=10.3.0' >> ~/.bashrc", 'echo "HSA_OVERRIDE_GFX_VERSION=10.3.0" | sudo tee -a /etc/environment',
    "printf 'export ROCM_HOME=/opt/rocm\\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\\n' >> $HOME/.profile",
])  # fmt: skip
def test_an_override_that_a_script_writes_for_later_shells_is_one(tmp_path: Path, line: str) -> None:
    """What it is told on the screen is none."""
    setup = f"pip install torch==2.9.1 --index-url {ROCM}6.4\n"
    found = report(tmp_path, {"setup_rocm.sh": f"{setup}{line}\n"}, gpu="gfx1100")
    assert [(i, s) for i, s, _ in said(found)] == [("arch.override-wrong", "warning")]
    assert (
        serious(report(tmp_path / "b", {"setup_rocm.sh": f"{setup}{line.split(' >> ')[0].split(' | ')[0]}\n"}, gpu="gfx1100"))
        == []
    )


@pytest.mark.parametrize(("more", "advice"), [
    ("", ""), ("uv pip install git+https://github.com/x/kernels\n", " Add gfx1100 to PYTORCH_ROCM_ARCH."),
])  # fmt: skip
def test_an_index_for_another_gpu_comes_before_what_is_built_beside_it(tmp_path: Path, more: str, advice: str) -> None:
    script = "export PYTORCH_ROCM_ARCH=gfx1151\n" + INSTALLS.format(AMD.format("gfx1151")) + more
    found = report(tmp_path, {"setup_rocm.sh": script})
    assert [one[:2] for one in said(found)] == [("arch.not-in-build", "warning")]
    first, install, rest = re.split(
        r"( Change the command on line 3 of setup_rocm.sh to: .* --index-url \S+/?\.)", serious(found)[0].advice
    )
    assert (first, rest) == ("Take an index that serves gfx1100.", advice)
    followed = script.replace(script.splitlines()[2], install.partition(" to: ")[2].removesuffix(".")).replace(
        "gfx1151", "gfx1100"
    )
    assert said(report(tmp_path, {"setup_rocm.sh": followed})) == []


BY_ARGUMENT = (
    'ARCH="${1:-gfx1151}"\nINDEX="https://rocm.nightlies.amd.com/v2/${ARCH}/"\npip install --pre torch --index-url "$INDEX"\n'
)
TARGETED = f"{{}}\npip install torch==2.9.1 --index-url {ROCM}6.4\ncmake -DGPU_TARGETS=$ARCH .\nmake\n"


@pytest.mark.parametrize(("script", "begins", "ends"), [
    (BY_ARGUMENT, "Take an index that serves gfx1100. Change the command on line 3 of build-rocm.sh to: pip install --pre ", "--index-url https://download.pytorch.org/whl/rocm7.1."),
    (TARGETED.format('ARCH="${1:-gfx1151}"'), "It is the default of argument 1 of build-rocm.sh: give gfx1100 as that", " argument."),
    (TARGETED.format("ARCH=gfx1151"), "Set ARCH to gfx1100", " for this GPU."),
])  # fmt: skip
def test_a_variable_that_an_argument_or_an_index_decides_is_not_to_be_set(
    tmp_path: Path, script: str, begins: str, ends: str
) -> None:
    """The index of a family is called by another name than that of its GPU: none is made up."""
    found = serious(report(tmp_path, {"build-rocm.sh": script}))
    assert [f.id for f in found] == ["arch.not-in-build"]
    assert found[0].advice.startswith(begins)
    assert found[0].advice.endswith(ends)


MAKE = "include gpu.mk\nrun:\n\tdocker run --device=/dev/kfd --device=/dev/dri -e HSA_OVERRIDE_GFX_VERSION=$(HSA_OVERRIDE_GFX_VERSION) rocm/pytorch:latest\n"
BY_GPU = "HSA_OVERRIDE_GFX_VERSION := 9.0.0\nifneq (,$(findstring RX 7900,$(shell lspci)))\n  HSA_OVERRIDE_GFX_VERSION := 11.0.0\nendif\n"


@pytest.mark.parametrize(("more", "expected"), [
    ({"gpu.mk": BY_GPU}, []), ({}, []), ({"gpu.mk": "HSA_OVERRIDE_GFX_VERSION := 9.0.0\n"}, ["arch.override-wrong"]), ({"gpu.mk": "A := 1\n"}, ["arch.override-wrong"]),
])  # fmt: skip
def test_an_override_that_another_makefile_sets_is_not_empty(tmp_path: Path, more: dict[str, str], expected: list[str]) -> None:
    """One that only the machine decides is not known, nor one of a file that is not there; without any it is empty, which hides the GPU."""
    found = report(tmp_path, {"Makefile": MAKE} | more, gpu="gfx1100")
    assert [f.id for f in serious(found)] == expected


@pytest.mark.parametrize(("index", "expected"), [("https://repo.amd.com/rocm/whl/gfx1151/", "warning"), (f"{ROCM}6.4", "error")])
def test_an_override_beside_the_index_of_its_gpu_is_a_choice(tmp_path: Path, index: str, expected: str) -> None:
    image = f"FROM ubuntu:24.04\nRUN pip install --break-system-packages --index-url {index} torch\nENV HSA_OVERRIDE_GFX_VERSION=11.5.1\n"
    found = report(tmp_path, {"Dockerfile": image}, gpu="gfx1100")
    assert {f.severity for f in serious(found) if f.id == "arch.override-wrong"} == {expected}


def test_what_was_reported_of_a_sibling_is_no_certain_stop(tmp_path: Path) -> None:
    image = f"FROM ubuntu:22.04\nRUN pip install torch --index-url {ROCM}6.2\nENV HSA_OVERRIDE_GFX_VERSION=11.0.0\n"
    assert ("arch.override-wrong", "warning") in [
        (i, s) for i, s, _ in said(report(tmp_path, {"Dockerfile": image}, gpu="gfx1103"))
    ]


def test_an_override_with_reports_against_it_is_no_way_out(tmp_path: Path) -> None:
    """One finding says to take it out, so the other one does not say that the GPU runs with it."""
    files = {"Dockerfile.rocm": NEEDED["Dockerfile.rocm"] + "ENV HSA_OVERRIDE_GFX_VERSION=11.0.0\n"}
    found = {f.id: f for f in serious(report(tmp_path, files, "gfx1103"))}
    assert "Delete line 3 of Dockerfile.rocm." in found["arch.override-wrong"].advice
    assert "page faults and hard hangs" in found["arch.not-in-build"].advice
    assert "the GPU runs this torch" not in found["arch.not-in-build"].advice


def test_what_the_override_of_a_service_hides_in_its_image_is_a_warning(tmp_path: Path) -> None:
    """The runtime takes the GPU for gfx1030, for which the torch has code: the override is what stops."""
    service = "services:\n  x:\n    build: .\n    devices: [/dev/kfd, /dev/dri]\n{}"
    image = f"FROM rocm/dev-ubuntu-22.04\nRUN pip install torch --index-url {ROCM}6.4\nCOPY x.py .\nCMD python3 x.py\n"
    sets = "    environment:\n      - HSA_OVERRIDE_GFX_VERSION={}\n"
    files = {"Dockerfile": image, "x.py": "import torch\ntorch.ones(1).cuda()\n"}
    found = serious(report(tmp_path, files | {"compose.yml": service.format(sets.format("10.3.0"))}, gpu="gfx1151"))
    assert {(f.id, f.severity) for f in found} >= {("arch.override-wrong", "error"), ("arch.not-in-build", "warning")}
    hidden = next(f for f in found if f.id == "arch.not-in-build")
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0 on line 6 of compose.yml hides this" in hidden.advice
    without = serious(report(tmp_path / "without", files | {"compose.yml": service.format("")}, gpu="gfx1151"))
    assert ("arch.not-in-build", "error") in {(f.id, f.severity) for f in without}


@pytest.mark.parametrize(("lines", "name"), [
    ("      HSA_OVERRIDE_GFX_VERSION: ''\n", "HSA_OVERRIDE_GFX_VERSION: without a value"),
    ("      - HSA_OVERRIDE_GFX_VERSION=\n", "HSA_OVERRIDE_GFX_VERSION without a value"),
])  # fmt: skip
def test_how_a_variable_is_passed_on_in_a_compose_file(tmp_path: Path, lines: str, name: str) -> None:
    service = f"services:\n  app:\n    image: rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0\n    devices: [/dev/kfd, /dev/dri]\n    environment:\n{lines}"
    found = [f for f in serious(report(tmp_path, {"compose.yaml": service})) if f.id == "arch.override-wrong"]
    assert [f"the name alone, {name}" in f.advice for f in found] == [True]


@pytest.mark.parametrize(("more", "severity"), [
    ('PYTORCH_ROCM_ARCH="gfx1036" ', "warning"), ('PYTORCH_ROCM_ARCH="gfx1036;gfx1100" ', "error"), ("", "error"), ("ARCH=gfx1036 ", "error"),
])  # fmt: skip
def test_an_override_beside_the_gpu_that_a_command_is_for(tmp_path: Path, more: str, severity: str) -> None:
    script = f"#!/bin/bash\nHSA_OVERRIDE_GFX_VERSION=10.3.0 {more}python app.py\n"
    files = {
        "start_rocm.sh": script,
        "README.md": "Run `bash start_rocm.sh`.\n",
        "app.py": "import torch\n\ntorch.ones(1).cuda()\n",
    }
    found = [f for f in serious(report(tmp_path, files)) if f.id == "arch.override-wrong"]
    assert [f.severity for f in found] == [severity]


RUNS_ON = 'FROM {base}\n{line}\nCOPY . .\nCMD ["python", "app.py"]\n'
PYTORCH = "rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0"


@pytest.mark.parametrize(("base", "line", "severity"), [
    (PYTORCH, "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0", ["error"]),
    (PYTORCH, "RUN HSA_OVERRIDE_GFX_VERSION=10.3.0 pip install peft", []),
    (PYTORCH, "RUN export HSA_OVERRIDE_GFX_VERSION=10.3.0 && pip install peft", []),
    (PYTORCH, "RUN echo 'export HSA_OVERRIDE_GFX_VERSION=10.3.0' >> ~/.bashrc", ["warning"]),
    ("rocm/rocm-terminal:6.2.2", "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0\nRUN apt-get update && apt-get install -y rocminfo", ["warning"]),
    ("rocm/dev-ubuntu-22.04:6.2.2", "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0\nRUN cmake -DGGML_HIP=ON . && make", ["error"]),
    ("rocm/dev-ubuntu-22.04:6.2.2", "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0\nRUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.4", ["error"]),
])  # fmt: skip
def test_an_override_of_an_image(tmp_path: Path, base: str, line: str, severity: list[str]) -> None:
    files = {"Dockerfile.rocm": RUNS_ON.format(base=base, line=line), "app.py": "import torch\n\ntorch.ones(1).cuda()\n"}
    found = [f.severity for f in serious(report(tmp_path, files)) if f.id == "arch.override-wrong"]
    assert found == severity


@pytest.mark.parametrize(("files", "severity"), [
    ({"app/requirements.txt": "fastapi\n"}, "warning"), ({"app/requirements.txt": f"--index-url {ROCM}6.4\ntorch\n"}, "error"),
    ({"compose.llm.yml": "services:\n  llm:\n    image: ollama/ollama:rocm\n"}, "error"), ({"build.sh": "cmake -DGGML_HIP=ON -DAMDGPU_TARGETS=gfx942 .\n"}, "error"),
])  # fmt: skip
def test_an_override_where_nothing_is_known_to_use_a_gpu(tmp_path: Path, files: dict[str, str], severity: str) -> None:
    service = (
        "services:\n  backend:\n    devices: [/dev/kfd, /dev/dri]\n    environment:\n      - HSA_OVERRIDE_GFX_VERSION=11.0.0\n"
    )
    image = {"app/Dockerfile": "FROM python:3.12-slim\nCOPY . .\nRUN pip install -r requirements.txt\nCMD uvicorn main:app\n"}
    found = said(report(tmp_path, {"docker-compose.amd.yml": service, **image, **files}, gpu="gfx942"))
    assert [s for i, s, _ in found if i == "arch.override-wrong"] == [severity]


def test_who_needs_the_override_of_a_script_still_has_it(tmp_path: Path) -> None:
    files = {
        "start_rocm.sh": f"pip install torch --index-url {ROCM}6.4\nexport HSA_OVERRIDE_GFX_VERSION=11.0.0\npython run.py\n",
        "run.py": "import torch\n",
    }
    (found,) = [f for f in serious(report(tmp_path, files, gpu="gfx942")) if f.id == "arch.override-wrong"]
    assert "exports it before" in found.advice


@pytest.mark.parametrize(("more", "severity"), [
    ({}, "warning"), ({"README.md": "Run `bash start_rocm.sh`.\n"}, "error"), ({"README.md": "x\n\u251c\u2500\u2500 start_rocm.sh  # starts it\n"}, "warning"),
    ({"README.md": "x\n|-- start_rocm.sh\n"}, "warning"), ({"Dockerfile": "FROM ubuntu:24.04\nCMD ./start_rocm.sh\n"}, "error"),
])  # fmt: skip
def test_an_override_of_a_script_that_no_other_text_names(tmp_path: Path, more: dict[str, str], severity: str) -> None:
    """Its writer may start it on one machine alone."""
    files = {
        "start_rocm.sh": "#!/bin/sh\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\npython app.py\n",
        "app.py": "import torch\n\ntorch.ones(1).cuda()\n",
    }
    found = [
        f
        for f in serious(report(tmp_path, files | more))
        if f.id == "arch.override-wrong" and f.evidence[0].artifact == "start_rocm.sh"
    ]
    assert [f.severity for f in found] == [severity]
    assert ("Nothing in the repository names start_rocm.sh" in found[0].advice) is (severity == "warning")


@pytest.mark.parametrize(("gpu", "condition", "then", "severity"), [
    ("gfx1201", "! rocminfo | grep -q gfx1100", True, "error"), ("gfx1201", '[ "$GFX" != "gfx1100" ]', True, "error"), ("gfx1201", "rocminfo | grep -q gfx1100", True, ""),
    ("gfx1201", "rocminfo | grep -q gfx1100", False, "warning"), ("gfx1201", "! rocminfo | grep -q gfx1100", False, ""), ("gfx1201", '[ "$GFX" != "gfx1201" ]', True, ""),
    ("gfx1201", '[ "$GFX" = "gfx1201" ]', False, ""),
])  # fmt: skip
def test_a_test_that_denies_a_gpu_is_for_the_others(tmp_path: Path, gpu: str, condition: str, then: bool, severity: str) -> None:
    set_ = "export HSA_OVERRIDE_GFX_VERSION=11.0.0"
    script = f"if {condition}; then {set_ if then else 'echo'}; {'' if then else f'else {set_}; '}fi\npython train.py\n"
    files = {
        "start_rocm.sh": f"pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n{script}",
        "train.py": "import torch\ntorch.ones(1).cuda()\n",
        "README.md": "# X\n\nRun start_rocm.sh.\n",
    }
    found = [f.severity for f in report(tmp_path, files, gpu=gpu).findings if f.id == "arch.override-wrong"]
    assert found == ([severity] if severity else [])
