"""`tune`: the search on recorded speeds, the worker, and the command on a tiny model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rocm_doctor.cli import cli
from rocm_doctor.fit import card as cards
from rocm_doctor.fit import presets
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import AOTRITON, Job
from rocm_doctor.fit.runner import WorkerError
from rocm_doctor.matrix import load
from rocm_doctor.tune import runner, text
from rocm_doctor.tune.search import Measured, NothingFits, TuneSearch
from rocm_doctor.tune.space import TuneChoice, changes, choice_job, is_predicted_to_fit, job_choice, list_numerics, list_shapes
from rocm_doctor.workers import child

MATRIX = load()
TINY = {
    "model_type": "llama", "vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2,
}  # fmt: skip


def base(model: str = "Qwen2.5-0.5B", **settings: Any) -> Job:
    fields, _ = presets.load_model_config(model, MATRIX)
    return Job(fields, **{"kernels": AOTRITON, "seq": 1024, "batch": 2, "grad_accum": 8, "optimizer": "adamw_fused", **settings})


def card(gib: float) -> Card:
    return cards.measured_card("gfx1100", "AMD Radeon RX 7900 XTX", int(gib * GIB), GIB // 2, MATRIX)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY), encoding="utf-8")
    return path


def speed(choice: TuneChoice) -> float:
    """A made-up GPU: large micro-batches pay, checkpointing and a fused loss cost, 16-bit adapters gain a fifth."""
    found = 60_000 * choice.batch / (choice.batch + 2) * (0.7 if choice.checkpointing else 1) * (0.9 if choice.fused_loss else 1)
    found *= 0.5 if choice.implementation == "eager" else 1.0
    return found * {"bfloat16": 1.2}.get(choice.adapter_dtype, 1.0) * (0.8 if choice.dtype == "float32" else 1.0)


def recorded(choice: TuneChoice, steps: int) -> Measured:
    return Measured(choice, steps, speed(choice), (speed(choice),))


@pytest.mark.parametrize("gib", [4, 6, 8, 16, 48, 192])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_search_finds_the_best_of_the_own_numerics_and_names_faster_ones(method: str, gib: float) -> None:
    job = base(method=method, checkpointing=True)
    able = list(list_shapes(job, card(gib)))
    if not able:
        with pytest.raises(NothingFits):
            TuneSearch(job, card(gib), "bfloat16", recorded, 60).search()
        return
    hunt = TuneSearch(job, card(gib), "bfloat16", recorded, 60)
    hunt.search()
    found = hunt.outcome(True)
    assert found.baseline.choice == job_choice(job)
    assert found.best.tokens_s >= 0.97 * max(map(speed, able))
    assert found.best.choice.numerics == job_choice(job).numerics
    if method == "lora":
        assert found.faster
        assert found.faster.choice.adapter_dtype == "bfloat16"


def test_the_own_run_is_measured_first_and_the_same_sequences_make_a_step() -> None:
    asked: list[TuneChoice] = []

    def run(choice: TuneChoice, steps: Any) -> Any:
        asked.append(choice)
        return recorded(choice, steps)

    hunt = TuneSearch(base(), card(24), "bfloat16", run, 60)
    hunt.search()
    assert asked[1] == job_choice(base())  # the first is not counted: it warms the process up
    assert {one.batch * one.grad_accum for one in asked} == {16}
    assert hunt.runs[0].choice == job_choice(base())


def test_nothing_that_saves_memory_is_tried_where_the_run_fits_for_sure_without_it() -> None:
    roomy = list(list_shapes(base(), card(192)))
    assert not any(one.checkpointing or one.fused_loss for one in roomy)
    tight = list(list_shapes(base(), card(8)))
    assert tight[0].batch == 16
    assert tight[0].checkpointing
    assert all(is_predicted_to_fit(choice_job(one, base()), card(8)) for one in tight)


def test_a_gpu_without_bfloat16_is_tried_in_float16_and_float32() -> None:
    kinds = [(one["dtype"], one["autocast"]) for one in list_numerics(base(method="full"), "float16")]
    assert kinds == [("float32", "float16"), ("float32", None)]
    assert ("bfloat16", None) in [(one["dtype"], one["autocast"]) for one in list_numerics(base(method="full"), "bfloat16")]


def test_out_of_memory_is_a_result_and_all_failing_an_error() -> None:
    def ask(choice: TuneChoice, steps: int) -> Measured:
        return Measured(choice, steps, error="out of memory") if choice.batch > 4 else recorded(choice, steps)

    hunt = TuneSearch(base(), card(192), "bfloat16", ask, 60)
    hunt.search()
    assert hunt.outcome(True).best.choice.batch == 4
    with pytest.raises(RuntimeError, match="out of memory"):
        TuneSearch(base(), card(192), "bfloat16", lambda c, n: Measured(c, n, error="out of memory"), 60).search()


@pytest.mark.parametrize("seconds", [25, 55, 90, 600])
def test_slow_steps_end_in_time_and_the_answer_lists_what_was_not_measured(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def ask(choice: TuneChoice, steps: int) -> Measured:
        rate = speed(choice) / 8  # about six seconds a step
        now[0] += steps * 16 * 1024 / rate
        if now[0] > seconds:  # the worker's own limit
            now[0] = seconds
            return Measured(choice, steps, error="the worker took too long")
        return Measured(choice, steps, rate, (rate,) * steps)

    hunt = TuneSearch(base(checkpointing=True), card(48), "bfloat16", ask, seconds)
    hunt.search()
    outcome = hunt.outcome(True)
    assert now[0] <= seconds
    skipped = [run for run in outcome.runs if not run.steps]
    assert bool(skipped) == (seconds < 600)
    assert not any(run.error for run in outcome.runs if run.steps)
    page = text.page(text.TuneAnswer(outcome, "preset x", "a GPU", now[0]))
    assert (f"the time was over before {len(skipped)} of the runs below" in page) == bool(skipped)
    assert all(f"{run.choice.words}: {run.error}" in page for run in skipped)
    if seconds > 25:
        assert outcome.best.tokens_s > outcome.baseline.tokens_s  # one finalist's long run alone does not decide


def test_the_page_says_the_gain_first_and_what_changes_the_numbers() -> None:
    hunt = TuneSearch(base(checkpointing=True), card(48), "bfloat16", recorded, 60)
    hunt.search()
    found = hunt.outcome(True)
    page = text.page(text.TuneAnswer(found, "preset x", "a GPU", 9.0, 3 << 30, ("  line 3, micro_batch_size: 8",)))
    assert re.match(r"preset x: \d\.\d\d x yours, with the same numerics", page)
    assert "in your file\n  line 3, micro_batch_size: 8" in page
    assert "with other numerics (the numbers change" in page
    assert "(3.0 GiB predicted)" in page
    assert changes(found.baseline.choice, found.best.choice)["batch"] == found.best.choice.batch


@pytest.mark.torch
def test_the_command_tunes_the_persons_file_and_names_the_lines_to_change(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    config = tmp_path / "train.yml"
    config.write_text(
        f"base_model: {tiny}\nsequence_len: 16\nmicro_batch_size: 1\ngradient_accumulation_steps: 8  # keep\nbf16: full\n",
        encoding="utf-8",
    )
    argv = ["tune", "--config", str(config), "--minutes", "1", "--format", "json", "--device", "cpu"]
    done = CliRunner().invoke(cli, argv, env={"OMP_NUM_THREADS": "1"})
    assert done.exit_code == 0, done.output
    body: dict[str, Any] = json.loads(done.stdout)
    best = body["tuned"]["best"]["choice"]
    assert body["tuned"]["baseline"]["choice"]["batch"] == 1
    if best["batch"] != 1:
        assert f"  line 3, micro_batch_size: {best['batch']}" in body["edits"]


@pytest.mark.torch
@pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")
def test_ctrl_c_shows_the_best_so_far(tiny: Path) -> None:
    pytest.importorskip("torch")
    argv = [
        sys.executable,
        "-m",
        "rocm_doctor",
        "tune",
        "--model",
        str(tiny),
        "--method",
        "full",
        "--seq",
        "16",
        "--device",
        "cpu",
        "--minutes",
        "9",
    ]
    child = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert child.stderr
    told = [child.stderr.readline() for _ in range(3)]
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert "tokens/s" in told[-1]
    assert out.startswith("ended early: the best so far")


@pytest.mark.torch
def test_without_a_gpu_nothing_is_measured_unless_asked(tiny: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = CliRunner().invoke(cli, ["tune", "--model", str(tiny), "--seq", "8", "--method", "full"])
    assert done.exit_code == 2
    assert "has no GPU here" in done.output


@pytest.mark.torch
def test_a_configuration_that_kills_the_worker_is_an_error_and_the_next_one_runs(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setattr(runner, "RUN_LIMIT", 30.0)
    with runner.worker(None) as one:
        one.start()
        one.base = Job(TINY, method="full", seq=8)
        good = one.measure(job_choice(one.base), 1)
        assert one.child
        assert one.child.proc
        one.child.proc.kill()
        dead = one.measure(job_choice(one.base), 1)
        again = one.measure(job_choice(one.base), 1)
    assert good.tokens_s > 0
    assert dead.error.startswith("the worker died")
    assert again.tokens_s > 0


def dying(tmp_path: Path, how: str) -> str:
    """A worker that greets and dies."""
    fake = tmp_path / "python"
    hello = '{"hello": {"torch": "2.11.0", "device": "cuda"}}'
    fake.write_text(f'#!/bin/sh\necho \'{hello}\' > "$4"\nwhile [ ! -s "$3" ]; do sleep 0.05; done\n{how}\n')
    fake.chmod(0o755)
    return str(fake)


@pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("kill -SEGV $$", "died: SIGSEGV, twice"),
        ("echo 'HIP error: invalid device function' >&2; exit 3", "ended with 3 (HIP error: inv"),
    ],
)
def test_tune_stops_at_the_second_death_of_one_kind(tmp_path: Path, how: str, words: str) -> None:
    asked: list[TuneChoice] = []
    with runner.worker(dying(tmp_path, how)) as one:
        one.start()
        one.base = base()

        def ask(choice: TuneChoice, steps: int) -> Measured:
            asked.append(choice)
            return one.measure(choice, steps)

        with pytest.raises(WorkerError, match=re.escape(words)):
            TuneSearch(base(), card(24), "bfloat16", ask, 60).search()
    assert len(asked) == 2


def test_a_limit_of_memory_needs_no_second_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/argv\necho \'{{"hello": {{"torch": "2", "device": "cpu"}}}}\' > "$4"\nsleep 5\n'
    )
    fake.chmod(0o755)
    monkeypatch.setattr("rocm_doctor.cli.tune.interpreter", lambda _: str(fake))
    assert CliRunner().invoke(cli, ["tune", "--model", "qwen2.5-0.5b", "--vram", "12GiB"]).exit_code == 2
    starts = (tmp_path / "argv").read_text().splitlines()
    assert len(starts) == 1
    assert starts[0].endswith(f" {12 << 30} transformers peft")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("autocast", [True, False])
def test_the_chunked_loss_is_the_loss(dtype: str, frozen: bool, autocast: bool) -> None:
    torch = pytest.importorskip("torch")
    from rocm_doctor.workers.fit import loss

    made = torch.Generator().manual_seed(1)
    hidden, weight = (torch.randn(*shape, generator=made).to(getattr(torch, dtype)) for shape in ((1000, 16), (500, 16)))
    labels = torch.randint(0, 500, (4, 250), generator=made)
    found = []
    functions: list[Any] = [lambda h, w: torch.nn.functional.cross_entropy((h @ w.t()).float(), labels.flatten())]
    job = {"fused_loss": True, "device": "cpu", "dtype": dtype, "autocast": "bfloat16" if autocast else None}
    for function in (loss.fused_loss(labels, job), *functions):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_(not frozen)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            value = function(h, w)
        (3 * value).backward()
        found.append((value.detach().float(), h.grad.float(), None if frozen else w.grad.float()))
    exact = dtype == "float32" and not autocast
    for ours, theirs in zip(*found):
        if theirs is not None:
            assert torch.nn.functional.cosine_similarity(ours.flatten(), theirs.flatten(), 0) > (0.99999 if exact else 0.995)
            assert torch.allclose(ours.norm(), theirs.norm(), rtol=1e-4 if exact else 0.03)
    assert len(loss.slices((1000, 16), 500)) == 4


def test_a_worker_without_torch_says_so(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    fake.chmod(0o755)
    with runner.worker(str(fake)) as one, pytest.raises(WorkerError, match="No module named 'torch'"):
        one.start()
