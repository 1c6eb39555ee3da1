"""`rocm-doctor fit` as a user calls it; where torch is hidden, in a child process."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from called import called

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "rocm_doctor" / "workers" / "fit"
KEYS = {"peak_allocated_bytes", "peak_reserved_bytes", "breakdown", "error_bound", "verdict", "margin_bytes", "limits", "enough"}


def fit(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    full = [sys.executable, "-m", "rocm_doctor", "fit", *arguments]
    return subprocess.run(full, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **env}, timeout=120, check=False)


def answer(*arguments: str) -> dict[str, Any]:
    done = called("fit", "--fast", "--format", "json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_json_has_what_is_promised() -> None:
    found = answer("--model", "Qwen2.5-3B", "--gpu", "gfx906", "--vram", "32GiB", "--dtype", "float32")
    assert found.keys() >= KEYS
    assert found["how"] == "closed form"
    assert sum(found["breakdown"].values()) == found["peak_allocated_bytes"] <= found["peak_reserved_bytes"]
    assert found["margin_bytes"] == found["available_bytes"] - found["peak_allocated_bytes"]
    assert 0 < found["error_bound"]["allocated"] < found["error_bound"]["reserved"] < 1


def test_exit_code_says_whether_it_fits() -> None:
    arguments = ("--fast", "--model", "Llama-3.1-8B", "--gpu", "gfx1100", "--vram", "24GiB", "--seq", "2048")
    assert called("fit", *arguments).returncode == 0
    too_much = called("fit", *arguments, "--method", "full")
    assert too_much.returncode == 1
    assert too_much.stdout.startswith("It does not fit: about 74.9 GiB, at best ")
    assert "LoRA instead of training every weight  [--method lora]" in too_much.stdout


def test_math_attention_takes_more_than_fused() -> None:
    common = ("--model", "Qwen2.5-1.5B", "--no-checkpointing", "--seq", "4096", "--vram", "64")
    old, new = answer(*common, "--gpu", "gfx906"), answer(*common, "--gpu", "gfx942")
    assert old["peak_allocated_bytes"] > 1.5 * new["peak_allocated_bytes"]
    assert answer(*common, "--gpu", "gfx906", "--attention", "flash")["peak_allocated_bytes"] < old["peak_allocated_bytes"]


def test_without_a_named_gpu_fused_attention_is_assumed_and_said() -> None:
    common = ("--model", "Qwen2.5-7B", "--rank", "32", "--batch", "2", "--seq", "256", "--no-checkpointing", "--vram", "32")
    unnamed, named = answer(*common), answer(*common, "--gpu", "gfx1100")
    assert unnamed["breakdown"] == named["breakdown"]
    assert any("no GPU is named" in note for note in unnamed["notes"])


def test_targets_may_be_joined_as_in_the_table() -> None:
    found = answer("--model", "Qwen2.5-3B", "--targets", "q_proj+v_proj", "--method", "qlora", "--gpu", "gfx90a", "--vram", "64")
    assert found["job"]["targets"] == ["q_proj", "v_proj"]
    assert (found["job"]["method"], found["job"]["quant_bits"]) == ("qlora", 4)


def test_a_configuration_file(tmp_path: Path) -> None:
    path = tmp_path / "axolotl.yml"
    path.write_text(
        "base_model: Qwen/Qwen2.5-7B\nadapter: qlora\nsequence_len: 2048\nmicro_batch_size: 2\nlora_r: 8\n", encoding="utf-8"
    )
    found = answer("--config", str(path), "--gpu", "gfx1100", "--vram", "24")
    assert (found["job"]["method"], found["job"]["batch"], found["job"]["rank"]) == ("qlora", 2, 8)
    assert "read from axolotl.yml (axolotl)" in found["notes"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "no-such-model"), "no preset, file or folder of that name"),
        ((), "which model?"),
        (("--model", "Qwen2.5-3B", "--vram", "lots"), "write 24GiB"),
        (("--model", "Qwen2.5-3B", "--optimizer", "lion"), "--optimizer"),
    ],
)
def test_a_usage_error_says_what_to_give(arguments: tuple[str, ...], words: str) -> None:
    done = called("fit", "--fast", "--gpu", "gfx906", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_torch_arithmetic_takes_its_place(tmp_path: Path) -> None:
    """An interpreter that has no torch: the answer says so and gives the wider error."""
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n", encoding="utf-8")
    done = fit(
        "--model", "SmolLM2-135M", "--gpu", "gfx906", "--vram", "16", "--format", "json", env={"PYTHONPATH": str(tmp_path)}
    )
    found = json.loads(done.stdout)
    assert found["how"] == "closed form"
    assert any("not simulated: ImportError: no torch here" in note for note in found["notes"])


@pytest.mark.parametrize("path", sorted(WORKER.glob("*.py")), ids=lambda path: path.name)
def test_the_worker_is_stand_alone_python_38(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level]
    names += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert not [name for name in names if name.startswith("rocm_doctor")]
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Match)]


def test_a_page_goes_into_a_file(tmp_path: Path) -> None:
    """The same flags as everywhere: --format and -o."""
    arguments = ("fit", "--fast", "--model", "qwen2.5-7b", "--gpu", "gfx906", "--vram", "32GiB")
    for form, begins in (("json", "{"), ("text", "It fits: about ")):
        done = called(*arguments, "--format", form, "-o", str(tmp_path / form))
        assert (done.returncode, done.stdout) == (0, "")
        assert (tmp_path / form).read_text(encoding="utf-8").startswith(begins)
