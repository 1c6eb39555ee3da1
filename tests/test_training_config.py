"""Training configurations and scripts, read literally. The examples are public ones, retold; what each of them means was written down from
its framework's documentation before it was read here."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor import training
from rocm_doctor.bounded import yamls
from rocm_doctor.matrix import load

MATRIX = load()
EXAMPLES = Path(__file__).parent / "training"
EXPECTED: list[dict[str, Any]] = yamls.values((EXAMPLES / "expected.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: str(case["file"]))
def test_an_example_is_read_as_its_framework_runs_it(case: dict[str, Any]) -> None:
    run = training.read(EXAMPLES / case["file"], MATRIX)
    assert run.framework == case["framework"]
    assert {name: listed(run.value(name)) for name in case["run"]} == case["run"]
    assert sorted(one.key for one in run.unread) == sorted(case.get("unread", []))
    assert sorted(one.key for one in run.unmodelled) == sorted(case.get("unmodelled", []))


def listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def test_the_line_of_a_setting_is_that_of_the_file() -> None:
    run = training.read_text("base_model: a/b\n\nmicro_batch_size: 3  # each\n", "a.yml", MATRIX)
    assert (run.settings["batch"].value, run.settings["batch"].line, run.settings["batch"].key) == (3, 3, "micro_batch_size")
    assert run.settings["optimizer"].line == 0


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ("TrainingArguments(bf16=torch.cuda.is_bf16_supported())", "bf16", "a call"),
        ("TrainingArguments(bf16=not FP16)", "bf16", "an expression"),
        ("for n in (1, 2):\n    TrainingArguments(per_device_train_batch_size=n)", "per_device_train_batch_size", "a variable"),
        ("N = 2\nN = 3\nTrainingArguments(per_device_train_batch_size=N)", "per_device_train_batch_size", "a variable"),
        ("TrainingArguments(optim='x')\nTrainingArguments(optim='adafactor')", "optim", "another value on line 1"),
    ],
)
def test_what_is_not_literal_is_named_with_its_line(text: str, key: str, why: str) -> None:
    run = training.read_text(text, "train.py", MATRIX)
    (one,) = [one for one in run.unread if one.key == key]
    assert (one.why, one.line) == (why, text.count("\n") + 1)


def test_a_constant_of_the_module_is_a_literal_and_dead_code_is_not_read() -> None:
    text = "LENGTH: int = 512\nSFTConfig(max_length=LENGTH)\nif False:\n    SFTConfig(max_length=9)\n"
    run = training.read_text(text, "train.py", MATRIX)
    assert run.value("seq") == 512
    assert not [one for one in run.unread if one.field == "seq"]


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("- a list", "a.yml", "expected keys and values"),
        ("a: [", "a.yml", ":1: no YAML"),
        ("services: {}", "compose.yml", "no training configuration that is known"),
        ("print(1)", "a.py", "no training configuration in this script"),
        ("def f(:", "a.py", ":1: no Python"),
    ],
)
def test_what_is_no_configuration_is_an_error_with_the_file(text: str, name: str, words: str) -> None:
    with pytest.raises(training.ConfigError, match=name) as caught:
        training.read_text(text, name, MATRIX)
    assert words in str(caught.value)


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), st.lists, max_leaves=4)
KEYS = sorted({key for entry in MATRIX.plain("training") for key in entry.get("keys", {})} - {"0"})


@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_no_values_raise_anything_else(data: dict[str, Any]) -> None:
    with contextlib.suppress(training.ConfigError):
        training.read_text(yaml.safe_dump({"base_model": "a/b", **data}), "train.yml", MATRIX)
    calls = ", ".join(f"{key}={value!r}" for key, value in data.items() if key.isidentifier())
    with contextlib.suppress(training.ConfigError):
        training.read_text(f"SFTConfig({calls})", "train.py", MATRIX)
