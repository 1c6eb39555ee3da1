"""A question gets its answer: the command that knows it, with the values of the question."""

from __future__ import annotations

import pytest

from rocm_doctor.matrix import load
from rocm_doctor.pipeline import judge
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.paste import cut

MATRIX = load()
ASKED = [
    ("Which torch and which ROCm do I need for a RX 9070 XT?", "rocm-doctor plan --gpu gfx1201"),
    (
        "Does QLoRA of a 7B model fit in 16 GB on my RX 7800 XT?",
        "rocm-doctor fit --model Qwen2.5-7B --method qlora --gpu gfx1101",
    ),
    ("How much VRAM do I need for LoRA of a 3B on a RX 6800?", "rocm-doctor fit --model Qwen2.5-3B --method lora --gpu gfx1030"),
    ("What size of model can I fine-tune on 24 GB?", "rocm-doctor fit --model MODEL"),
    ("Does Unsloth run on gfx1100?", "pip install --no-deps unsloth unsloth_zoo"),
    ("Does Unsloth work on AMD, and how do I install it?", "rocm-doctor explain unsloth-2025"),
    ("Is flash attention used on my RX 7900 XTX?", "rocm-doctor bench"),
    ("Training on my 7900 XTX is slow against a RTX 3090, is that expected?", "rocm-doctor bench"),
    ("How fast should a RX 7900 XTX be in bf16 matmul?", "rocm-doctor bench"),
    ("How do I hide the iGPU of my Ryzen 7950X so that training uses the RX 7900 XTX?", "export HIP_VISIBLE_DEVICES=0"),
    ("My Strix Halo with 128 GB sees only 62 GiB. How do I give it more memory?", "cat /sys/module/ttm/parameters/pages_limit"),
    ("Can I train with bf16 on a RX 6800?", "rocm-doctor explain gfx1030"),
    ("Does fp8 work on RX 9070 XT?", "rocm-doctor explain gfx1201"),
    ("Can I train on Windows with a RX 9070 XT?", "rocm-doctor plan --gpu gfx1201 --os windows"),
    ("Can I run ROCm in WSL2 with a RX 7800 XT?", "rocm-doctor plan --gpu gfx1101 --os wsl"),
    ("Which driver do I need for ROCm 7.2 on a MI210?", "rocm-doctor plan --gpu gfx90a"),
    ("Do I need amdgpu-dkms on Ubuntu 24.04 for a RX 7600?", "rocm-doctor plan --gpu gfx1102"),
    ("Does DeepSpeed ZeRO-3 work on MI250X?", "torchrun --nproc-per-node=2 train.py"),
    ("How do I use two RX 7900 XTX for one LoRA run?", "rocm-doctor smoke --stage collectives"),
    ("Is xformers supported on ROCm?", "pip uninstall -y xformers"),
    ("Does bitsandbytes support gfx1201?", "rocm-doctor plan --gpu gfx1201 --with bitsandbytes"),
    ("Does vLLM run on a RX 7900 XT?", "rocm-doctor plan --gpu gfx1100 --with vllm"),
    ("Is gfx906 still supported in ROCm 7?", "rocm-doctor explain gfx906"),
    ("Is the RX 6700 XT supported by ROCm 6.3?", "rocm-doctor plan --gpu gfx1031"),
    ("Should I upgrade to ROCm 10.1 on a W7900?", "rocm-doctor plan --gpu gfx1100 -v"),
    ("How do I check that PyTorch uses my GPU?", "rocm-doctor smoke"),
    ("Which docker image should I use for training on MI300X?", "docker run --device=/dev/kfd --device=/dev/dri"),
    ("Is HSA_OVERRIDE_GFX_VERSION needed for a RX 6700 XT?", "export HSA_OVERRIDE_GFX_VERSION=10.3.0"),
    ("Should I set HSA_OVERRIDE_GFX_VERSION=11.0.0 on a 780M?", "rocm-doctor explain gfx1103"),
    ("Is the Radeon 780M good enough for LoRA?", "rocm-doctor plan --gpu gfx1103 --train lora"),
    ("Does JAX run on gfx1100?", "rocm-doctor plan --gpu gfx1100"),
]


@pytest.mark.parametrize(("question", "command"), ASKED, ids=[question for question, _ in ASKED])
def test_a_question_is_answered_by_a_command_that_is_filled_in(question: str, command: str) -> None:
    report = judge(cut(question, "question.md"), MATRIX, source="question.md", kind="capture")
    assert report.reply is not None
    assert any(one.text.startswith(command) for one in report.reply.commands), [one.text for one in report.reply.commands]
    assert report.verdict == "undetermined"
    text = render("text", report, RenderOptions())
    assert question.split("?")[0].split(".")[-1].strip() in " ".join(text.split())
    assert "Also possible" not in text
    assert report.questions == ()


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: HIP error: invalid device function on my RX 6700 XT, torch 2.4.1+rocm6.1. Which torch do I need?",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nImportError: libamdhip64.so.6: cannot open shared object file\nWhat is it?",
        "gfx1100 trains well.",
        "My training ends with a crash now and then on a RX 6700 XT. Which torch do I need?",
    ],
)  # fmt: skip
def test_a_failure_is_no_question(text: str) -> None:
    assert judge(cut(text, "report.md"), MATRIX, kind="capture").reply is None
