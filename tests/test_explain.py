"""`explain`: what people type into a search box is answered on one screen, and every command that it prints works."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import msgspec
import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.explain import explain, search
from rocm_doctor.explain.index import index, key
from rocm_doctor.matrix import load
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.page import MOST, Page, render

TYPED = (
    # 58 words of an earlier reading, and what else stands in the titles of issues: words, and how the answer begins
    ("RX 9070 XT", "RX 9070 XT: gfx1201"), ("RX 7900 XTX", "RX 7900 XTX: gfx1100"), ("7900xtx", "7900xtx: gfx1100"), ("MI50", "MI50: gfx906"),
    ("R9700", "R9700: gfx1201"), ("Strix Halo", "Strix Halo: gfx1151"), ("Radeon VII", "Radeon VII: gfx906"),
    ("W7900", "W7900: gfx1100"), ("RX 580", "RX 580: gfx803"), ("Ryzen AI Max+ 395", "Ryzen AI Max+ 395: gfx1151"), ("MI300X", "MI300X: gfx942"),
    ("9070", "Radeon RX 9070 XT: gfx1201"),
    ("RDNA3", "`RDNA3` may be one of"), ("Navi 31", "Navi 31: gfx1100"),
    ("gfx1100", "gfx1100: Radeon RX 7900 XTX"), ("GFX90A", "GFX90A: Instinct MI210"), ("gfx906:xnack-", "gfx906"), ("gfx11", "`gfx11` may be one of"),
    ("bitsandbytes", "bitsandbytes: 4-bit"), ("bitsandbytes==0.45", "bitsandbytes 0.45"), ("unsloth", "unsloth:"), ("triton", "Triton:"),
    ("flash-attn", "flash-attn:"), ("flash_attn 2.8", "flash-attn 2.8"), ("flash attention", "flash attention:"), ("xformers", "xformers:"),
    ("deepspeed", "deepspeed:"), ("vllm", "vllm: inference server"), ("sglang", "sglang:"), ("torchao", "torchao:"), ("torchtune", "torchtune:"),
    ("aiter", "aiter:"), ("axolotl", "axolotl:"), ("llama.cpp", "llama.cpp:"), ("ollama", "Ollama:"), ("ComfyUI", "comfyui:"), ("jax", "jax: its wheels on the package index are for CPU"),
    ("tensorflow", "tensorflow:"), ("peft", "peft:"), ("onnxruntime-rocm", "onnxruntime-rocm:"), ("auto-gptq", "auto-gptq: its wheels on the package index are for CUDA"),
    ("hipBLASLt", "hipBLASLt:"), ("RCCL", "RCCL:"), ("MIOpen", "MIOpen:"), ("rocminfo", "rocminfo:"), ("rocm-smi", "rocm-smi:"),
    ("torch 2.9.1", "torch 2.9.1:"), ("torch==2.9.1+rocm6.4", "torch 2.9.1+rocm6.4:"), ("pytorch 2.6", "torch 2.6:"), ("PyTorch", "torch: PyTorch"),
    ("ROCm 6.2", "ROCm 6.2:"), ("rocm6.4", "ROCm 6.4:"), ("6.2", "ROCm 6.2:"), ("rocm 10", "ROCm 10:"), ("Python 3.14", "Python 3.14:"), ("3.12", "Python 3.12:"),
    ("WSL", "WSL:"), ("wsl2", "WSL2:"), ("Windows 11", "Windows 11:"), ("Ubuntu 24.04", "Ubuntu 24.04:"), ("Fedora", "Fedora:"), ("RHEL 9", "RHEL 9:"),
    ("amdgpu", "amdgpu driver"), ("HSA_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION: read by"), ("HSA_OVERRIDE_GFX_VERSION=10.3.0", "HSA_OVERRIDE_GFX_VERSION"),
    ("hip_visible_devices", "HIP_VISIBLE_DEVICES"), ("PYTORCH_ROCM_ARCH", "PYTORCH_ROCM_ARCH"), ("expandable_segments", "expandable_segments"),
    ("HIP error: invalid device function", "arch.not-in-build"), ("Torch not compiled with CUDA enabled", "version.torch-not-rocm"),
    ("Memory access fault by GPU node-1", "hw.gpu-reset-or-hang"),
    ("Memory access fault by GPU node-1 (Agent handle: 0x5581) on address 0x7f. Reason: Page not present or supervisor privilege.", "hw.gpu-reset-or-hang"),
    ("nan", "`nan` may be one of"), ("loss is nan", "`loss is nan` may be one of"), ("MI300", "MI300: gfx942"), ("hipErrorNoBinaryForGpu", "arch.not-in-build"), ("HIP out of memory", "memory.oom"),
    ("torch.cuda.is_available() returns False", "version.torch-not-rocm"), ("Unable to open /dev/kfd", "access."),
    ("rocBLAS error: Cannot read TensileLibrary.dat", "arch.blas-missing"), ("No HIP GPUs are available", "access.permission"),
    ("vllm MI50", "vllm on gfx906"), ("bitsandbytes RX 7900 XTX", "bitsandbytes on gfx1100"), ("arch.not-in-build", "arch.not-in-build:"),
    ("Steam Deck", "Steam Deck: gfx1033"), ("Ryzen 7 8700G", "Ryzen 7 8700G: gfx1103"), ("TheRock nightlies", "TheRock:"), ("QLoRA", "bitsandbytes:"),
    ("FlashAttention", "flash attention:"), ("RX6700XT", "RX6700XT: gfx1031"), ("LM Studio", "LM Studio:"), ("A1111", "a1111:"), ("Docker", "access.container:"),
    ("9060 xt 16gb", "9060 xt: gfx1200"), ("debian 13 rocm", "Debian 13:"), ("bitsandbytes windows", "bitsandbytes:"), ("amdgpu: [gfxhub] page fault", "hw.gpu"),
    ("vllm 0.14 gfx1100", "vllm 0.14 on gfx1100"), ("axolotl rocm", "axolotl:"), ("torch 2.10 rocm7.1", "torch 2.10+rocm7.1:"), ("Gentoo", "Linux:"),
    ("GTT", "memory.gtt-limit:"), ("SDXL", "comfyui:"), ("Proxmox", "platform.vm-passthrough:"), ("macOS", "macOS:"), ("eGPU", "`eGPU` may be one of"),
    ("RX 7600M XT laptop", "gfx1102: "), ("max_split_size_mb:128", "max_split_size_mb 128:"), ("Python 3.14t", "Python 3.14t:"),
    ("gfx906-rocblas-6.4", "gfx906-rocblas-6.4: "),
)  # fmt: skip


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["explain", *words])


@pytest.mark.parametrize(("typed", "begins"), TYPED, ids=[typed for typed, _ in TYPED])
def test_what_people_type_is_answered_on_one_screen(typed: str, begins: str) -> None:
    done = run(typed)
    assert done.exit_code == 0, done.output
    assert done.stdout.casefold().startswith(begins.casefold()), done.stdout[:200]
    assert done.stdout.count("\n") <= MOST


def test_words_that_name_nothing_get_the_nearest_three_and_what_reads_a_log() -> None:
    done = run("xyzzyq")
    assert done.exit_code == 2
    assert done.stderr.count("`") == 8
    assert "rocm-doctor check FILE" in done.stderr


def test_a_line_without_a_known_failure_is_said_to_be_one_and_gets_no_names() -> None:
    done = run("undefined symbol: cget_col_row_stats")
    assert done.exit_code == 2
    assert "no known failure" in done.stderr
    assert "nearest" not in done.stderr
    assert "rocm-doctor check FILE" in done.stderr


def test_a_line_that_check_calls_a_possible_case_is_answered_as_a_guess() -> None:
    said = run("ImportError: cannot import name flash_attn_2_cuda from flash_attn").stdout
    assert said.startswith("lib.flash-attn")
    assert "This is a guess" in said


def suggested(page: Page) -> Iterator[list[str]]:
    """The arguments of every command of ours on a page."""
    for section in page.sections:
        for line in section.lines:
            found = getattr(line, "text", "") or next(iter(re.findall(r"^rocm-doctor explain [^:]*", str(line))), "")
            if found.startswith("rocm-doctor explain "):
                yield shlex.split(found)[1:]


def test_every_suggested_explanation_can_be_typed_as_it_is_printed() -> None:
    matrix = load()
    for typed, _ in TYPED[::5]:
        page = explain(typed, matrix)
        assert page, typed
        for arguments in suggested(page):
            text = " ".join(one for one in arguments[1:] if not one.startswith("-"))
            assert explain(text, matrix), f"{typed}: {arguments}"


@pytest.mark.slow
def test_every_name_of_the_catalog_is_answered_on_one_screen() -> None:
    matrix = load()
    for name, entries in list(index(matrix).by_name.items())[::10]:
        page = explain(entries[0].name, matrix)
        assert page, name
        assert render("text", page, RenderOptions()).count("\n") <= MOST, name


def test_a_name_finds_itself_whatever_its_dashes_and_case() -> None:
    matrix = load()
    for one in index(matrix).entries[::23]:
        same = {entry[:2] for entry in index(matrix).by_name[key(one.name)]}
        assert same <= {found.entry[:2] for found in search(one.name.upper().replace("-", "_"), matrix)}, one


@pytest.mark.slow
def test_no_candidate_leads_back_to_the_list_that_offers_it() -> None:
    matrix = load()
    names = [entries[0].name for entries in index(matrix).by_name.values()]
    for text in list(dict.fromkeys((*names, *(name.split()[0] for name in names))))[::10]:
        offered = [one.query for one in search(text, matrix)]
        assert len(offered) == len(set(offered)), text
        for typed in offered if len(offered) > 1 else ():
            assert [one.query for one in search(shlex.split(typed)[0], matrix)] != offered, f"{text}: {typed}"


@pytest.mark.parametrize(
    "typed", ["gfx1100 vs gfx1101", "RX 9070 XT or MI50", "bitsandbytes versus torchao", "linux or windows for training"]
)
def test_two_names_get_one_command_each(typed: str) -> None:
    page = explain(typed, load())
    assert page
    assert len(list(suggested(page))) == 2


def test_a_whole_page_does_not_recommend_itself_and_has_the_product_that_was_typed() -> None:
    whole = run("MI50", "-v").stdout
    assert " -v\n" not in whole
    assert "fit --gpu MI50 " in whole
    assert "comes with 16 or 32 GiB" in whole


def test_a_size_of_another_product_is_not_taken_for_the_size_of_one_without() -> None:
    target = load().gfx["gfx1102"]
    assert (target.sizes("RX 7600"), target.sizes("AMD Radeon RX 7600 XT"), target.sizes()) == ([8.0], [], [8.0])


@pytest.mark.parametrize(
    ("typed", "printed", "absent"),
    [
        ("gfx950", "fit --gpu gfx950", "--os windows"), ("gfx1100", "plan --gpu gfx1100 --os windows", "--vram 16"),
        ("RX 580", "fit --gpu 'RX 580' --vram 16GiB", "fit --gpu 'RX 580' --model"), ("Python 3.14t", "--python 3.14 ", "--python 3.14t"),
    ],
)  # fmt: skip
def test_a_page_prints_commands_that_have_an_answer(typed: str, printed: str, absent: str) -> None:
    said = " ".join(run(typed).stdout.split())
    assert printed in said
    assert absent not in said


def test_a_system_without_statements_is_said_to_be_unknown() -> None:
    said = run("arch linux").stdout
    assert "is not known" in said
    assert "rocm-doctor explain Linux" in said


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("gfx906", "works-unofficially (field, and another source says otherwise)"), ("gfx906", "torch 2.9.1+rocm6.4: "), ("gfx906", "rocBLAS kernels NO"), ("gfx1100", "Serving: vLLM, attention"),
        ("RX 7900 XTX", "110000"), ("gfx1036", "disputed"), ("torch 2.9.1", "pytorch-triton-rocm==3.5.1"), ("torch 2.9.1", "AOTriton 0.11b"),
        ("rocm 7.2.4", "Tensile 4.45.0"), ("driver", "6.16.13-2278356"), ("bitsandbytes", "bnb-gfx906"), ("HIP_DISABLE_IPC", "nothing"),
        ("transformers", "switches torch off"),
    ],
)  # fmt: skip
def test_a_whole_page_has_every_statement_with_its_source(typed: str, words: str) -> None:
    whole = run(typed, "-v").stdout
    assert words in " ".join(whole.split())
    assert "more with -v" not in whole
    found = json.loads(run(typed, "-v", "--format", "json").stdout)
    stated = [line for section in found["sections"] for line in section["lines"] if "source" in line]
    assert all(line["words"] and line["source"] for line in stated)


def test_a_synonym_is_no_name_of_the_catalog_and_leads_to_one() -> None:
    """Two homes for one name would hide one of them."""
    matrix = load()
    bare = index(msgspec.structs.replace(matrix, raw={**matrix.raw, "synonyms": b"[]"})).by_name
    for synonym in matrix.synonyms:
        assert all(key(name) in bare for name in synonym.see), synonym
    own = {key(name) for synonym in matrix.synonyms for name in synonym.names} & bare.keys()
    assert not own


def test_a_known_fault_names_the_releases_that_have_it() -> None:
    assert "(torch >=" in run("gfx906").stdout or "ROCm 6.4" in run("gfx906").stdout
    assert "[gfx906-rocblas-6.4] (ROCm 6.4 to 7.2.x, broken" in " ".join(run("gfx906").stdout.split())


def test_the_remedy_of_one_report_is_called_one() -> None:
    matrix = load()
    row = next(one for one in matrix.rows if one.advice and (one.remedy_grade or one.grade) == "field")
    other = next(one for one in matrix.rows if one.advice and (one.remedy_grade or one.grade) == "official")
    assert "One report says: " in run(row.key).stdout
    assert "One report says: " not in run(other.key).stdout


def test_the_install_command_is_for_the_python_that_plan_takes() -> None:
    import sys

    assert f"python{sys.version_info.major}.{sys.version_info.minor} -m venv" in run("RX 7900 XTX").stdout


def test_a_version_that_the_catalog_lacks_is_said_to_be_unknown() -> None:
    assert "1.99 is not in the catalog" in run("bitsandbytes==1.99").stdout
