"""A changed configuration reads back as what was asked for, and keeps every other line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rocm_doctor import training
from rocm_doctor.matrix import load
from rocm_doctor.training import edit

MATRIX = load()
EXAMPLES = Path(__file__).parent / "training"
FILES = [case["file"] for case in yaml.safe_load((EXAMPLES / "expected.yaml").read_text(encoding="utf-8"))]
WANTED: dict[str, Any] = {"batch": 16, "grad_accum": 1, "checkpointing": False, "optimizer": "adamw"}


@pytest.mark.parametrize("file", FILES)
def test_each_example_is_changed_in_few_lines_and_read_back(file: str) -> None:
    before = (EXAMPLES / file).read_text(encoding="utf-8")
    made = edit.edit(before, training.read_text(before, file, MATRIX), WANTED, MATRIX)
    again = training.read_text(made.text, file, MATRIX)
    assert {name: again.value(name) for name in WANTED if name not in made.left} == {
        k: v for k, v in WANTED.items() if k not in made.left
    }
    changed = [line for line in made.diff.splitlines()[2:] if line.startswith("-")]
    assert len(changed) <= len(WANTED) + 1
    if file not in ("transformers_peft_loop.py", "unsloth_pretraining.py"):  # a loop without a trainer; two trainers
        assert made.left == ()


def test_a_framework_without_a_key_is_said() -> None:
    text = (EXAMPLES / "torchtune_full_qwen.yaml").read_text(encoding="utf-8")
    made = edit.edit(text, training.read_text(text, "a.yaml", MATRIX), {"fused_loss": True}, MATRIX)
    assert made.left == ("fused_loss",)
    assert made.text == text
