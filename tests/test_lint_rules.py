"""Each rule on repositories: a case that it is for, and the nearest case that it must leave alone."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest
from lint_text import report

from rocm_doctor.lint import readers as declared
from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.judge import lint
from rocm_doctor.lint.rules.requires_torch import requires_torch
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding

TODAY = datetime.date(2026, 11, 21)
ROCM = "--index-url https://download.pytorch.org/whl/rocm6.3"


def judged(root: Path, gpu: str = "gfx1100", python: str = "3.12", **files: str) -> list[Finding]:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    target = Target("t", gpu, "6.3", python=python)
    return list(lint(declared.read(root), [target], load(), name="repository x", today=TODAY).findings)


def ids(found: list[Finding], *, notes: bool = False) -> set[str]:
    return {f.id for f in found if notes or f.severity != "note"}


@pytest.mark.parametrize(("line", "expected"), [
    ("bf16: true", {"numeric.bf16-or-fp16"}), ("bf16: auto", set()), ("bf16: false", set()), ("fp16: true", set()),
    ("mixed_precision: bf16", {"numeric.bf16-or-fp16"}), ("torch_dtype: bfloat16", {"numeric.bf16-or-fp16"}),
    ("dtype: float16", set()), ("some_bf16_note: true", set()),
])  # fmt: skip
def test_bf16(tmp_path: Path, line: str, expected: set[str]) -> None:
    text = f"base_model: x\n{line}\n"
    assert ids(judged(tmp_path, "gfx1031", train_DOT_yaml=text)) == expected
    assert ids(judged(tmp_path, "gfx1100", train_DOT_yaml=text)) == set()


QUANTISED = {"lib.bitsandbytes", "numeric.bf16-or-fp16"}


@pytest.mark.parametrize(("file", "text", "expected"), [
    ("torchtune.yaml", "optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\ndtype: bf16\n", QUANTISED),
    ("axolotl.yml", "base_model: x\nadapter: qlora\nload_in_4bit: true\nflash_attention: true\n", {"lib.bitsandbytes", "lib.flash-attn"}),
    ("llama-factory.yaml", "model_name_or_path: x\nfinetuning_type: lora\nquantization_bit: 4\nbf16: true\n", QUANTISED),
    ("trl.yaml", "model_name_or_path: x\noptim: paged_adamw_8bit\nattn_implementation: flash_attention_2\n", {"lib.bitsandbytes", "lib.flash-attn"}),
    ("kohya.toml", 'pretrained_model_name_or_path = "x"\noptimizer_type = "AdamW8bit"\nmixed_precision = "bf16"\n', QUANTISED),
    ("ai-toolkit.yaml", "process:\n  - type: sd_trainer\n    train:\n      optimizer: adamw8bit\n      dtype: bf16\n", QUANTISED),
    ("diffusers.sh", 'accelerate launch train_lora.py \\\n  --mixed_precision="bf16" --use_8bit_adam\n', QUANTISED),
    ("trl.sh", "trl sft --bf16 true --load_in_4bit --num 3\n", QUANTISED),
    ("deepspeed.json", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}', {"numeric.bf16-or-fp16"}),
    ("accelerate.yaml", "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\n", {"numeric.bf16-or-fp16"}),
    ("plain.sh", "python train.py --bf16 false --optim adamw_torch --use_8bit_adam_not\n", set()),
])  # fmt: skip
def test_what_each_trainer_asks_of_the_gpu(tmp_path: Path, file: str, text: str, expected: set[str]) -> None:
    found = report(tmp_path, {file: text}, gpu="gfx906").findings
    assert {f.id for f in found if f.severity == "warning"} == expected
    assert all(f.evidence[0].artifact == file for f in found if f.severity == "warning")
    assert not [f for f in report(tmp_path, {file: text}, gpu="gfx942").findings if f.severity != "note"]


@pytest.mark.parametrize(("line", "gpu", "expected"), [
    ("flash_attention: true", "gfx906", "warning"), ("attn_implementation: flash_attention_2", "gfx908", "warning"),
    ("flash_attn: fa2", "gfx1201", "note"), ("flash_attn: fa2", "gfx942", ""), ("flash_attn: sdpa", "gfx906", ""),
    ("flash_attention: false", "gfx906", ""), ("flash_attn: auto", "gfx906", ""),
])  # fmt: skip
def test_flash_attention(tmp_path: Path, line: str, gpu: str, expected: str) -> None:
    found = judged(tmp_path, gpu, train_DOT_yaml=f"base_model: x\n{line}\n")
    assert [f.severity for f in found if f.id == "lib.flash-attn"] == ([expected] if expected else [])


@pytest.mark.parametrize(("line", "hit"), [
    ("load_in_4bit: true", True), ("load_in_4bit: false", False), ("adapter: qlora", True), ("adapter: lora", False),
    ("quantization_bit: 4", True), ("optim: paged_adamw_8bit", True), ("optimizer: adamw_bnb_8bit", True),
    ("optimizer: adamw_torch_8bit", False), ("optim: adamw_torch", False), ("quantization_method: hqq", False),
])  # fmt: skip
def test_what_needs_bitsandbytes(tmp_path: Path, line: str, hit: bool) -> None:
    found = judged(tmp_path, "gfx906", train_DOT_yaml=f"base_model: x\n{line}\n")
    assert ("lib.bitsandbytes" in ids(found)) is hit
    assert "lib.bitsandbytes" not in ids(judged(tmp_path, "gfx1100"))


def test_a_deepspeed_file_is_read_with_its_lines(tmp_path: Path) -> None:
    found = judged(
        tmp_path, "gfx1030", ds_DOT_json='{\n "zero_optimization": {"stage": 2},\n "bf16": {\n  "enabled": true\n }\n}\n'
    )
    assert [(f.id, f.evidence[0].place) for f in found] == [("numeric.bf16-or-fp16", "line 4")]


RUN = "docker run --rm {} rocm/pytorch:latest python train.py\n"


@pytest.mark.parametrize(("options", "expected"), [
    ("", "does not get /dev/kfd and /dev/dri"), ("--device=/dev/kfd", "does not get /dev/dri"),
    ("--device /dev/kfd --device /dev/dri --ipc=host", ""), ("--privileged", ""), ("--gpus all", "asks for its GPU by --gpus"), ("--runtime nvidia", "asks for an NVIDIA GPU"),
    ("--device=/dev/kfd --device=/dev/dri/renderD128 --shm-size 16G", ""),
    ("--device=/dev/kfd --device=/dev/dri", "64 MB of shared memory"),
])  # fmt: skip
def test_a_container_that_a_script_starts(tmp_path: Path, options: str, expected: str) -> None:
    found = [f.title for f in judged(tmp_path, run_DOT_sh=RUN.format(options)) if f.id == "access.container"]
    assert len(found) == bool(expected)
    assert not expected or expected in found[0]


def test_a_container_without_a_gpu_in_mind_is_left_alone(tmp_path: Path) -> None:
    text = "services:\n  web:\n    image: nginx:1.27\n  db:\n    image: postgres:17\n"
    assert judged(tmp_path, compose_DOT_yaml=text) == []


def test_a_dropped_target_in_the_base_image(tmp_path: Path) -> None:
    old = "FROM rocm/pytorch:rocm{}_ubuntu22.04_py3.10_pytorch_release_2.3.0\n"
    assert "arch.dropped-by-rocm" in ids(judged(tmp_path, "gfx906", Dockerfile=old.format("7.0")))
    assert "arch.dropped-by-rocm" not in ids(judged(tmp_path, "gfx942", Dockerfile=old.format("7.0")))


def test_a_python_without_a_wheel(tmp_path: Path) -> None:
    text = ROCM.replace("rocm6.3", "rocm6.0").replace("rocm6.4", "rocm6.0") + "\ntorch==2.4.1+rocm6.0\n"
    assert "version.python-unsupported" in ids(judged(tmp_path, python="3.13", requirements_DOT_txt=text))
    assert "version.python-unsupported" not in ids(judged(tmp_path, python="3.11", requirements_DOT_txt=text))


def test_a_companion_from_another_index(tmp_path: Path) -> None:
    text = f"pip install torch==2.9.1 {ROCM}\npip install torchvision=={{}}\n"
    assert ids(judged(tmp_path, setup_DOT_sh=text.format("0.24.1"))) == {"version.companion-mismatch"}
    assert ids(judged(tmp_path, setup_DOT_sh=text.format(f"0.24.1 {ROCM}"))) == set()


def test_an_override_of_another_family(tmp_path: Path) -> None:
    text = "export HSA_OVERRIDE_GFX_VERSION={}\npython train.py\n"
    assert "arch.override-wrong" in ids(judged(tmp_path, "gfx1100", run_DOT_sh=text.format("10.3.0")))
    assert "arch.override-wrong" not in ids(judged(tmp_path, "gfx1100", run_DOT_sh=text.format("11.0.0")))


def test_code_objects_that_the_wheel_lacks(tmp_path: Path) -> None:
    text = "--index-url https://download.pytorch.org/whl/rocm{}\ntorch=={}\n"
    assert ids(judged(tmp_path, "gfx1201", requirements_DOT_txt=text.format("6.2", "2.5.1"))) & {"arch.not-in-build"}
    assert not ids(judged(tmp_path, "gfx1201", requirements_DOT_txt=text.format("6.4", "2.9.1"))) & {"arch.not-in-build"}
    assert "arch.blas-missing" in ids(judged(tmp_path, "gfx906", requirements_DOT_txt=text.format("6.4", "2.9.1")))


JOB = """
jobs:
  a:
    runs-on: {}
    steps:
      - run: |
          echo hello
          pip install torch
"""


def test_a_job_is_judged_by_where_it_runs(tmp_path: Path) -> None:
    name = "_DOT_github__workflows__ci_DOT_yml"
    own = judged(tmp_path, **{name: JOB.format("[self-hosted, rocm]")})
    assert [(f.id, f.severity, f.evidence[0].place) for f in own] == [("version.torch-not-rocm", "warning", "line 8")]
    named = judged(tmp_path, "gfx942", **{name: JOB.format("[self-hosted, mi300]")})
    assert [f.severity for f in named] == ["error"]
    hosted = judged(tmp_path, **{name: JOB.format("ubuntu-24.04")})
    assert hosted == []


def test_a_general_list_beside_one_for_rocm_only_gets_notes(tmp_path: Path) -> None:
    files = {"requirements_DOT_txt": "torch==2.9.1\n", "requirements-rocm_DOT_txt": ROCM + "\ntorch==2.9.1\n"}
    assert ids(judged(tmp_path, **files)) == set()


def test_a_list_that_names_no_torch_is_a_warning(tmp_path: Path) -> None:
    found = judged(tmp_path, requirements_DOT_txt="peft\ntransformers\n")
    assert [(f.id, f.severity) for f in found] == [("repo.no-amd-environment", "warning")]


def test_what_a_later_stage_inherits_and_what_it_does_not(tmp_path: Path) -> None:
    text = f"FROM rocm/dev-ubuntu-22.04:6.3 AS a\nRUN pip install torch==2.9.1 {ROCM}\nFROM {{}}\nRUN pip install torch>=2.5\n"
    assert ids(judged(tmp_path, Dockerfile=text.format("a"))) == set()
    assert ids(judged(tmp_path, Dockerfile=text.format("ubuntu:24.04"))) == {"version.torch-not-rocm"}


def test_a_fingerprint_outlives_moved_lines_but_not_another_file(tmp_path: Path) -> None:
    def prints(**files: str) -> set[str]:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        return {f.fingerprint for f in judged(root, **files)}

    first = prints(requirements_DOT_txt="torch\n")
    assert first == prints(requirements_DOT_txt="# moved\n\n\ntorch\n")
    assert not first & prints(**{"requirements-train_DOT_txt": "torch\n"})


def test_several_targets_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n")
    (tmp_path / "rocm-doctor.yaml").write_text("targets:\n  old: {gpu: gfx906}\n  new: {gpu: gfx1201}\n")
    repository = declared.read(tmp_path)
    found = lint(repository, repository.policy.targets, load(), name="repository x", today=TODAY).findings
    assert {f.subject for f in found if f.severity == "error"} == {"requirements.txt for old"}


INDEX = "https://download.pytorch.org/whl/rocm{}"
STACK = "--{}index-url " + INDEX + "\ntorch=={}\n{}\n"


@pytest.mark.parametrize(("line", "url", "expected"), [
    ("bitsandbytes==0.45.0", "", "lib.bitsandbytes"), ("bitsandbytes==0.50.2", "", ""), ("bitsandbytes", "", ""),
    ("bitsandbytes==0.45.0", "extra-", "lib.bitsandbytes"),
    ("bitsandbytes @ git+https://github.com/bitsandbytes-foundation/bitsandbytes@0.45.0", "", ""),
    ("xformers==0.0.29", "", "lib.xformers"), ("xformers==0.0.33", "", ""), ("xformers==0.0.33", "extra-", ""),
])  # fmt: skip
def test_wheels_without_code_for_amd_are_judged_by_their_version(tmp_path: Path, line: str, url: str, expected: str) -> None:
    found = judged(tmp_path, requirements_DOT_txt=STACK.format(url, "6.4", "2.9.1+rocm6.4", line))
    told = [f for f in found if f.id in ("lib.bitsandbytes", "lib.xformers") and f.severity != "note"]
    assert [f.id for f in told] == ([expected] if expected else [])
    assert all(f.confidence == "medium" and f.sources and line in f.evidence[0].quote + f.evidence[1].quote for f in told)
    assert not any("installed" in f.title for f in told)


def test_an_xformers_from_the_default_index_beside_a_rocm_torch(tmp_path: Path) -> None:
    text = f"RUN pip install torch==2.9.1 --index-url {INDEX.format('6.4')}\nRUN pip install --no-deps xformers==0.0.33\n"
    found = [f for f in judged(tmp_path, Dockerfile="FROM ubuntu:24.04\n" + text) if f.id == "lib.xformers"]
    assert [(f.severity, f.row, f.commands) for f in found] == [("warning", "xformers-without-amd-code", ())]
    assert found[0].advice.startswith("Take xformers out of line 3 of Dockerfile.")


def test_a_private_index_may_hold_another_build(tmp_path: Path) -> None:
    text = "--index-url https://wheels.example.org/simple\ntorch==2.9.1+rocm6.4\nbitsandbytes==0.45.0\n"
    assert "lib.bitsandbytes" not in ids(judged(tmp_path, requirements_DOT_txt=text))


def test_an_index_that_nobody_knows(tmp_path: Path) -> None:
    line = "FROM ubuntu:24.04\nRUN pip install torch --index-url {}\n"
    found = judged(tmp_path, Dockerfile=line.format(INDEX.format("6.9")))
    assert [(f.id, f.severity, f.evidence[0].place) for f in found] == [("version.wheel-missing", "warning", "line 2")]
    assert "no such index is known" in found[0].title
    assert "rocm6.4, rocm7.0" in found[0].cause
    assert judged(tmp_path, Dockerfile=line.format(INDEX.format("6.4"))) == []
    assert judged(tmp_path, Dockerfile=line.format("https://download.pytorch.org/whl/nightly/rocm7.9")) == []


def test_the_remedy_of_a_file_is_a_line_of_it(tmp_path: Path) -> None:
    text = (
        "FROM ubuntu:24.04\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
        + "RUN pip install {} --index-url "
        + INDEX.format("6.4")
        + "\n"
    )
    one = judged(tmp_path, Dockerfile=text.format("torch==2.9.1"))[0]
    assert (one.id, one.commands) == ("arch.override-wrong", ())
    assert one.advice.startswith("Delete line 2 of Dockerfile.")
    both = judged(tmp_path, Dockerfile=text.replace("ENV ", "ENV A=1 ").format("torch==2.9.1"))[0]
    assert both.advice.startswith("Take HSA_OVERRIDE_GFX_VERSION out of line 2 of Dockerfile.")
    pair = judged(tmp_path, Dockerfile=text.format("torch==2.9.1 torchvision==0.23.0"))
    said = next(f for f in pair if f.id == "version.companion-mismatch")
    assert said.commands == ()
    assert "Write torchvision==0.24.1 on line 3 of Dockerfile. Take it from the index of torch, https://" in said.advice


def test_a_long_line_is_quoted_with_a_mark_where_it_was_cut(tmp_path: Path) -> None:
    names = " ".join(f"package-{n}" for n in range(40))
    quote = judged(tmp_path, Dockerfile=f"FROM ubuntu:24.04\nRUN pip install torch {names}\n")[0].evidence[0].quote
    assert len(quote) == 200
    assert quote.endswith("…")


@pytest.mark.parametrize("line", [
    'RUN echo "deb [arch=amd64] https://repo.radeon.com/rocm/apt/7.2 noble main" > /etc/apt/sources.list.d/rocm.list',
    "RUN wget https://repo.radeon.com/amdgpu-install/7.2/ubuntu/noble/amdgpu-install_7.2.70200-1_all.deb",
    "RUN apt-get install -y ./amdgpu-install_7.2.70200-1_all.deb", "RUN amdgpu-install -y --usecase=rocm --rocmrelease=7.2.0",
    "ARG R=7.2\nRUN curl -O https://repo.radeon.com/rocm/yum/${R}/main",
])  # fmt: skip
def test_a_rocm_of_the_system_that_dropped_the_target(tmp_path: Path, line: str) -> None:
    text = f"FROM ubuntu:24.04\n{line}\n"
    at = f"Dockerfile:{len(text.splitlines())}"
    found = judged(tmp_path, gpu="gfx906", Dockerfile=text)
    serious = [f for f in found if f.severity != "note"]
    assert [(f.id, f"{f.evidence[0].artifact}:{f.evidence[0].place.split()[-1]}") for f in serious] == [
        ("arch.dropped-by-rocm", at)
    ]
    assert ids(judged(tmp_path, gpu="gfx1100", Dockerfile=text)) == set()
    assert ids(judged(tmp_path, gpu="gfx906", Dockerfile=text.replace("7.2", "6.2"))) == set()


def test_a_python_that_the_project_refuses(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.9,<3.12"\ndependencies = ["numpy"]\n'
    found = judged(tmp_path, pyproject_DOT_toml=text)
    assert [(f.id, f.severity, f.evidence[0].place) for f in found] == [("version.python-unsupported", "warning", "line 4")]
    assert ids(judged(tmp_path, pyproject_DOT_toml=text.replace("<3.12", "<3.13"))) == set()


def test_a_command_of_a_python_installer_is_more_than_a_note(tmp_path: Path) -> None:
    command = "pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/rocm6.4"
    files = {"installer_DOT_py": f'ROCM = "{command}"\n', "requirements-rocm_DOT_txt": ROCM + "\ntorch==2.9.1\n"}
    assert ids(judged(tmp_path, gpu="gfx1151", **files)) == {"arch.not-in-build"}
    assert ids(judged(tmp_path, gpu="gfx1100", **files)) == set()


@pytest.mark.parametrize(("index", "expected"), [
    ("", {"version.package-mismatch"}), ("--extra-index-url https://huggingface.github.io/autogptq-index/whl/rocm571/\n", set()),
    ("--extra-index-url https://download.pytorch.org/whl/rocm6.3\n", {"version.package-mismatch"}),
])  # fmt: skip
def test_a_package_with_cuda_wheels_only_may_come_from_another_index(tmp_path: Path, index: str, expected: set[str]) -> None:
    assert ids(judged(tmp_path, **{"requirements-rocm_DOT_txt": f"{index}auto-gptq\n"})) == expected


@pytest.mark.parametrize(("line", "expected"), [
    ("torch==2.5.0.dev20240726", {"version.wheel-missing"}), ("torch==2.15.0.dev20261115", set()), ("torchaudio", set()),
])  # fmt: skip
def test_a_nightly_build_that_its_index_no_longer_has(tmp_path: Path, line: str, expected: set[str]) -> None:
    text = f"FROM ubuntu:24.04\nRUN pip install --pre {line} --index-url https://download.pytorch.org/whl/nightly/rocm7.2\n"
    assert ids(judged(tmp_path, **{"Dockerfile.rocm": text})) == expected


def test_a_driver_release_is_no_rocm_and_a_cuda_image_may_be_given_rocm(tmp_path: Path) -> None:
    get = "RUN wget https://repo.radeon.com/amdgpu-install/{}/ubuntu/noble/amdgpu-install.deb\n"
    assert ids(judged(tmp_path, gpu="gfx906", Dockerfile="FROM ubuntu:24.04\n" + get.format("22.10"))) == set()
    (tmp_path / "Dockerfile").unlink()
    image = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
    assert ids(judged(tmp_path, **{"Dockerfile_DOT_rocm": image + get.format("6.4")})) == set()
    assert ids(judged(tmp_path, **{"Dockerfile_DOT_rocm": image})) == {"version.torch-not-rocm"}


def test_a_name_in_lower_case_is_of_the_script_itself(tmp_path: Path) -> None:
    for line, severity in (("arch=gfx900", "note"), ("export GPU_ARCHS=gfx900", "error")):
        found = report(tmp_path, {"rocm.sh": f"{line}\nmake\n"}, declared=True).findings
        assert {f.severity for f in found if f.id == "arch.not-in-build"} == {severity}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("jax[cuda12]==0.11.2", {"version.package-mismatch"}),
        ("jax-cuda12-plugin==0.11.2", {"version.package-mismatch"}),
        ("tensorflow[and-cuda]", {"version.package-mismatch"}),
        ("jax==0.11.2", {"version.package-mismatch"}),
        ("jax[rocm7-local]==0.11.2", set()),
        ("jax-rocm7-plugin==0.11.2", set()),
        ("tensorflow-rocm", {"version.python-unsupported"}),  # no wheel for 3.12 on the package index
    ],
)
def test_an_extra_can_be_what_brings_cuda(tmp_path: Path, line: str, expected: set[str]) -> None:
    assert ids(judged(tmp_path, **{"requirements-rocm_DOT_txt": line + "\n"})) == expected


@pytest.mark.parametrize(("package", "brings"), [
    ("timm", True), ("torchvision", True), ("vllm", True), ("transformers[torch]", True), ("transformers", False), ("torchao", False),
])  # fmt: skip
def test_packages_that_bring_torch(tmp_path: Path, package: str, brings: bool) -> None:
    text = f"FROM rocm/dev-ubuntu-22.04:6.3\nRUN pip install {package}\n"
    found = ids(judged(tmp_path, Dockerfile=text), notes=True)
    assert ("version.torch-not-rocm" in found) == brings


def test_the_catalog_says_which_packages_bring_torch() -> None:
    matrix = load()
    bare = msgspec.structs.replace(matrix, raw={k: v for k, v in matrix.raw.items() if k != "requires_torch"})
    assert "timm" in requires_torch(matrix).range
    assert "vllm" in requires_torch(matrix).exact
    assert requires_torch(bare) == (frozenset(), frozenset(), {}, {}, {}, {}, {})
