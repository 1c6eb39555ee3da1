"""What `rocm-doctor fit` says about a named card: which GPU is meant, what its wheels lack, how sure it is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli.fit import command
from rocm_doctor.facts.enrich import find_target
from rocm_doctor.fit import card
from rocm_doctor.fit.job import Job, Optimizer
from rocm_doctor.fit.quantised import find_support, needed_kernels
from rocm_doctor.matrix import load
from rocm_doctor.reports.lines import wrap

GIB = 1 << 30
MATRIX = load()
QLORA = ("--model", "Qwen2.5-7B", "--method", "qlora", "--vram", "16")


def fit(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["--fast", *arguments])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gfx906", "gfx906"), (" GFX1100 ", "gfx1100"), ("gfx90a:sramecc+:xnack-", "gfx90a"), ("RX 7900 XTX", "gfx1100"),
        ("AMD Radeon RX 9070 XT", "gfx1201"), ("MI300X", "gfx942"),
    ],
)  # fmt: skip
def test_a_target_by_any_of_its_names(text: str, found: str) -> None:
    assert find_target(text, MATRIX) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RDNA3", "gfx1100 or gfx1101 or gfx1102"),
        ("nonsense", "known are gfx"),
        ("", "known are gfx"),
        ("gfx9999", "known are gfx"),
    ],
)
def test_a_name_of_several_targets_or_of_none_says_which_it_may_be(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        find_target(text, MATRIX)


def test_a_product_is_its_target_and_its_memory() -> None:
    named = fit("--model", "Llama-3.1-8B", "--gpu", "RX 7900 XTX")
    assert "on gfx1100 RX 7900 XTX" in named.output
    assert "GPU   24.00 GiB" in named.output
    assert "no fused attention" not in named.output


@pytest.mark.parametrize(("name", "words"), [("nonsense", "known are gfx"), ("RDNA3", "it may be gfx")])
def test_a_gpu_that_nobody_knows_is_a_usage_error(name: str, words: str) -> None:
    done = fit("--model", "Llama-3.1-8B", "--gpu", name)
    assert done.exit_code == 2
    assert words in done.output


def test_a_gpu_to_compare_is_not_looked_up() -> None:
    assert fit("--model", "Llama-3.1-8B", "--gpu", "sm_90", "--vram", "141").exit_code == 0


@pytest.mark.parametrize(
    ("gfx", "torch", "state"),
    [
        ("gfx906", None, "missing"), ("gfx906", "2.9.1+rocm6.4", "missing"), ("gfx900", "2.11.0", "missing"),
        ("gfx1100", None, "held"), ("gfx942", "2.9.1+rocm6.4", "held"), ("gfx1030", None, "held"),
        ("gfx1031", None, "partly"), ("gfx1031", "2.9.1+rocm6.4", "missing"), ("gfx1031", "2.11.0+rocm7.14", "held"),
        ("sm_90", None, "held"), ("", None, "held"),
    ],
)  # fmt: skip
def test_what_the_wheels_of_bitsandbytes_hold(gfx: str, torch: str | None, state: str) -> None:
    support = find_support(gfx, torch, MATRIX)
    assert support.missing == (state == "missing")
    assert bool(support.words) == (state != "held")


@pytest.mark.parametrize(
    ("bits", "optimizer", "words"),
    [
        (4, "adamw", "4-bit layers"),
        (8, "adamw", "8-bit layers"),
        (0, "adamw_8bit", "the optimizer adamw_8bit"),
        (0, "paged_adamw", "the optimizer paged_adamw"),
        (0, "adafactor", ""),
    ],
)
def test_what_of_a_run_is_bitsandbytes(bits: int, optimizer: Optimizer, words: str) -> None:
    assert needed_kernels(Job(config={}, quant_bits=bits, optimizer=optimizer)) == words  # type: ignore[arg-type]


def test_four_bits_without_a_kernel_are_said_before_the_verdict() -> None:
    said = fit(*QLORA, "--gpu", "gfx906", "--torch", "2.9.1").output
    assert "No kernel for 4-bit layers: bitsandbytes' wheels have no code for gfx906" in " ".join(said.split())
    assert said.index("No kernel for 4-bit") < said.index("By memory alone: it fits")
    held = fit(*QLORA, "--gpu", "gfx1100", "--torch", "2.9.1").output
    assert "No kernel" not in held
    assert held.startswith("It fits")


def test_nothing_is_suggested_that_has_no_kernel() -> None:
    lora = ("--model", "Qwen2.5-7B", "--vram", "12")
    assert "--method qlora" in fit(*lora, "--gpu", "gfx1100").output
    assert "--method qlora" not in fit(*lora, "--gpu", "gfx906").output
    assert "for gfx1031 for ROCm 7.14, 7.15 only" in fit(*lora, "--gpu", "gfx1031").output
    assert json.loads(fit(*QLORA, "--gpu", "gfx906", "--format", "json").output)["bitsandbytes"]["missing"]


def test_a_wide_error_is_put_in_figures() -> None:
    found = json.loads(fit(*QLORA, "--gpu", "gfx1100", "--format", "json").output)
    most = found["peak_reserved_bytes"] * (1 + found["error_bound"]["reserved"]) / GIB
    assert f"± {found['error_bound']['reserved']:.0%}: at most {most:.2f} GiB" in fit(*QLORA, "--gpu", "gfx1100").output


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.cli.delivery.width", lambda to_file: width)
    said = fit(*QLORA, "--gpu", "gfx1031").output
    assert not [line for line in said.splitlines() if len(line) > width and " " in line.strip()]


def test_rows_hang_below_their_words_and_no_option_is_broken() -> None:
    rows = list(wrap("      1.07 GiB  fuse output head and loss  [--fused-loss]", 44))
    assert rows == ["      1.07 GiB  fuse output head and loss", " " * 16 + "[--fused-loss]"]


def test_progress_is_said_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who pipes the answer still learns why nothing comes."""
    import time

    from rocm_doctor.cli.inputs import notice_when_slow
    from rocm_doctor.fit import answer as answers

    at_once = answers.answer

    def slow(*given: object) -> object:
        time.sleep(0.3)
        return at_once(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("rocm_doctor.cli.fit.answers.answer", slow)
    monkeypatch.setattr("rocm_doctor.cli.fit.notice_when_slow", partial(notice_when_slow, after=0.1))
    assert "still tracing one training step" in fit(*QLORA, "--gpu", "gfx1100").stderr


def test_a_card_with_several_sizes_asks_and_names_what_it_is() -> None:
    found = card.declare_card("gfx906", None, MATRIX, "MI50")
    assert found.total is None
    assert found.notes[0] == "MI50 comes with 16 or 32 GiB: choose with --vram"
