"""`fit` where a run does not fit: what is enough, and GPUs that come with several sizes of memory."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.fit import advice
from rocm_doctor.fit.shape import ShapeError


def fit(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["fit", "--fast", *arguments], catch_exceptions=False)


def test_the_verdict_is_the_first_line() -> None:
    assert fit("--model", "qwen2.5-7b", "--gpu", "RX 7900 XTX").output.startswith("It fits")


def test_a_product_with_two_sizes_is_not_taken_for_the_larger() -> None:
    done = fit("--model", "qwen2.5-7b", "--method", "qlora", "--gpu", "RX 9060 XT", "--seq", "512")
    assert re.match(r"Unknown: give the GPU's memory with --vram\. It takes about 9\.\d GiB, at worst ", done.output)
    assert "RX 9060 XT comes with 8 or 16 GiB" in done.output
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "gpu"),
    [
        (("--model", "qwen2.5-7b", "--method", "full"), "RX 7900 XTX"),
        (("--model", "llama-3.1-8b", "--batch", "8", "--seq", "4096"), "RX 9070 XT"),
        (("--model", "llama-3.1-70b", "--method", "full"), "MI300X"),
        (("--model", "llama-3.1-70b", "--method", "qlora"), "RX 9070 XT"),
    ],
)
def test_each_way_that_is_named_is_enough(arguments: tuple[str, ...], gpu: str) -> None:
    """Asked again with its options, `fit` does not say any more that it does not fit."""
    done = fit(*arguments, "--gpu", gpu, "--format", "json")
    ways = json.loads(done.output)["enough"]
    assert done.exit_code == 1
    assert ways
    for way in ways:
        options = way["options"].split()
        given = [*arguments, "--gpu", gpu]
        for name, value in itertools.pairwise(options):
            if name in given and name.startswith("--") and not value.startswith("--"):
                at = given.index(name)
                del given[at : at + 2]
        again = fit(*given, *options)
        assert again.exit_code == 0, (way, again.output[:600])


def test_a_single_change_is_preferred_to_two() -> None:
    ways = json.loads(fit("--model", "qwen2.5-7b", "--gpu", "RX 9070 XT", "--format", "json").output)["enough"]
    assert ways[0]["options"] == "--method qlora"


def test_why_nothing_was_simulated_is_said_in_words() -> None:
    from rocm_doctor.fit.answer import _explain_failure

    assert "ModuleNotFoundError" not in _explain_failure(ValueError("ModuleNotFoundError: No module named 'torch'"))


def test_where_the_closed_form_does_not_cover_the_model_nothing_is_said_to_have_been_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ShapeError("attention with sinks")

    arguments = ("--model", "llama-3.1-70b", "--method", "full", "--gpu", "gfx1100", "--vram", "4GiB")
    assert "Other settings were not tried" not in fit(*arguments).output
    monkeypatch.setattr(advice, "scale_estimate", refuse)
    done = fit(*arguments)
    assert "Other settings were not tried" in done.output
    assert "No set of changes" not in done.output
    assert done.exit_code == 1
