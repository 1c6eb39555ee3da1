"""A slow figure gets its cause: by rows, from what the benchmark read beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.bench import runner, text
from rocm_doctor.cli import cli
from rocm_doctor.figures import judge
from rocm_doctor.figures.types import BenchReport, Conditions, Device, Figure
from rocm_doctor.matrix import load

MATRIX = load()
GPU = "AMD Radeon RX 7900 XTX"
SOUND: dict[str, tuple[float, str]] = {
    "matmul-fp32": (28.0, "TFLOP/s"),
    "matmul-fp16": (95.0, "TFLOP/s"),
    "matmul-bf16": (88.0, "TFLOP/s"),
    "matmul-bf16-sustained": (80.0, "TFLOP/s"),
    "matmul-bf16-training": (75.0, "TFLOP/s"),
    "memory-triad": (820.0, "GB/s"),
    "host-to-device-pinned": (26.0, "GB/s"),
    "device-to-host-pinned": (26.5, "GB/s"),
    "attention-forward": (40.0, "TFLOP/s"),
    "attention-backward": (35.0, "TFLOP/s"),
}
FACTS: dict[str, Any] = {
    "speed.attention": "flash",
    "speed.attention-gain": 1.0,
    "speed.bf16-gain": 3.1,
    "speed.blas": "hipblaslt",
    "speed.blas-fastest": "hipblaslt",
    "speed.blas-gain": 1.01,
    "speed.cap-share": 1.0,
    "speed.clock-share": 0.92,
    "speed.link-share": 1.0,
    "speed.pinned-gain": 3.0,
    "speed.power-share": 0.95,
    "speed.profile": "auto",
    "speed.shape-gain": 1.2,
    "speed.temperature": 80.0,
    "speed.tunable-gain": 1.02,
}


def report(
    values: dict[str, float] | None = None, facts: dict[str, Any] | None = None, name: str = GPU, kind: str = "hip"
) -> BenchReport:
    """A judged report on a sound GPU with these figures and facts in place of its own."""
    figures = tuple(
        Figure(0, key, (values or {}).get(key, value), unit, 0.01, samples=(value,) * 5, conditions=Conditions(power_watts=300.0))
        for key, (value, unit) in SOUND.items()
    )
    device = Device(0, kind, name, facts={**FACTS, **(facts or {})})  # type: ignore[arg-type]
    return judge.judge_figures(BenchReport("1", "1", (device,), figures, torch="2.9.1+rocm6.4"), MATRIX)


def explained(values: dict[str, float] | None = None, facts: dict[str, Any] | None = None) -> BenchReport:
    return runner.add_causes(report(values, facts), MATRIX)


def test_a_sound_gpu_has_no_slow_figure_and_no_cause() -> None:
    found = explained()
    assert [f.name for f in found.figures if f.verdict == "slow"] == []
    assert found.causes == ()


SLOW_PRODUCTS = {"matmul-fp16": 20.0, "matmul-bf16": 18.0, "matmul-bf16-sustained": 17.0}
SLOW_COPIES = {"host-to-device-pinned": 6.4, "device-to-host-pinned": 6.6}


@pytest.mark.parametrize(
    ("row", "values", "facts", "slowed"),
    [
        ("speed-link", SLOW_COPIES, {"speed.link-share": 0.25}, "host-to-device-pinned"),
        ("speed-power-cap", SLOW_PRODUCTS, {"speed.cap-share": 0.4}, "matmul-bf16"),
        ("speed-clock-stuck", SLOW_PRODUCTS, {"speed.clock-share": 0.1, "speed.power-share": 0.2}, "matmul-bf16"),
        ("speed-profile", SLOW_PRODUCTS, {"speed.profile": "low"}, "matmul-bf16"),
        ("speed-hot", SLOW_PRODUCTS, {"speed.temperature": 108.0, "speed.clock-share": 0.7}, "matmul-bf16"),
        ("speed-prefer-hipblaslt", {}, {"speed.blas-gain": 7.2}, ""),
        ("speed-prefer-rocblas", {}, {"speed.blas-fastest": "rocblas", "speed.blas-gain": 1.7}, ""),
        ("speed-bf16-emulated", {}, {"speed.bf16-gain": 0.5}, ""),
        ("speed-attention-math", {"attention-forward": 2.0}, {"speed.attention": "math"}, "attention-forward"),
        ("speed-attention-path", {}, {"speed.attention": "efficient", "speed.attention-gain": 1.6}, ""),
        ("speed-tunableop", {}, {"speed.tunable-gain": 1.3}, ""),
        ("speed-pinning-off", SLOW_COPIES, {"speed.pinned-gain": 1.0}, "host-to-device-pinned"),
        ("speed-small-shapes", {"matmul-bf16-training": 9.0}, {"speed.shape-gain": 9.0}, "matmul-bf16-training"),
    ],
)
def test_a_planted_cause_is_named_alone_with_what_was_read(
    row: str, values: dict[str, float], facts: dict[str, Any], slowed: str
) -> None:
    found = explained(values, facts)
    assert [cause.row for cause in found.causes] == [row]
    cause = found.causes[0]
    assert cause.evidence
    assert cause.advice
    assert not slowed or next(f for f in found.figures if f.name == slowed).verdict == "slow"


def between(value: float, access: bool) -> BenchReport:
    """A sound GPU's report with a copy to the next GPU."""
    sound = report(facts={"speed.peer-access": access})
    copy = Figure(0, "peer-copy", value, "GB/s", 0.01, samples=(value,) * 5, detail={"to": 1, "access": access})
    return runner.add_causes(judge.judge_figures(msgspec.structs.replace(sound, figures=(*sound.figures, copy)), MATRIX), MATRIX)


def test_copies_between_gpus_without_access_are_slow_and_staged() -> None:
    found = between(10.4, access=False)
    copy = found.figures[-1]
    assert copy.verdict == "slow"
    assert copy.why == "0.4 times a copy from the host's pinned memory, and the GPUs have no access to each other"
    assert [one.row for one in found.causes] == ["speed-peer-staged"]


@pytest.mark.parametrize(("value", "access"), [(10.4, True), (24.0, False), (380.0, True)])
def test_copies_between_gpus_that_may_be_as_the_slots_allow_are_not_called_slow(value: float, access: bool) -> None:
    found = between(value, access)
    assert found.figures[-1].verdict == "cannot tell"
    assert found.causes == ()


def test_slow_products_without_a_reading_that_explains_them_get_no_cause() -> None:
    found = explained(SLOW_PRODUCTS)
    assert {f.name for f in found.figures if f.verdict == "slow"} == set(SLOW_PRODUCTS)
    assert found.causes == ()


def test_low_clocks_at_full_power_are_not_called_stuck() -> None:
    """An MI300X multiplies at 1207 of 2100 MHz (AMD's own measurement): dense products draw all the power there is."""
    assert explained(SLOW_PRODUCTS, {"speed.clock-share": 0.57, "speed.power-share": 0.99}).causes == ()


def test_check_names_the_same_causes_from_the_file(tmp_path: Path) -> None:
    made = explained(SLOW_COPIES, {"speed.link-share": 0.25})
    path = tmp_path / "bench.json"
    path.write_bytes(msgspec.json.encode(made))
    checked = pipeline.judge(pipeline.read_paths([path]), MATRIX)
    assert [f.row for f in checked.findings] == [cause.row for cause in made.causes] == ["speed-link"]
    assert checked.snapshot.get("speed.gpu").value == GPU
    shown = CliRunner().invoke(cli, ["check", str(path)])
    assert "speed-link" in shown.output
    assert "lspci" in shown.output


def test_check_names_a_field_reports_cause_in_its_verdict(tmp_path: Path) -> None:
    """A row of grade `field` is a note; the sentence of the verdict may not say beside it that no cause is known."""
    path = tmp_path / "bench.json"
    path.write_bytes(msgspec.json.encode(explained(SLOW_PRODUCTS, {"speed.clock-share": 0.17, "speed.power-share": 0.2})))
    shown = " ".join(CliRunner().invoke(cli, ["check", str(path)]).output.split())
    assert "slow, possibly: the GPU stays at a low clock" in shown
    assert "no cause known" not in shown
    path.write_bytes(msgspec.json.encode(explained(SLOW_PRODUCTS)))
    assert "slow, no cause known" in " ".join(CliRunner().invoke(cli, ["check", str(path)]).output.split())


def test_check_of_a_sound_report_says_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_bytes(msgspec.json.encode(explained()))
    shown = CliRunner().invoke(cli, ["check", str(path)])
    assert f"{len(SOUND)} figures measured on {GPU}, none is slow" in shown.output


@pytest.mark.parametrize(
    "broken",
    [
        '{"kind": "bench", "tool_version": "1", "figures": 3, "gpus": []}',
        '{"kind": "bench", "tool_version": 1, "figures": [{}], "gpus": [{}]}',
    ],
)
def test_a_damaged_report_is_an_error_and_no_crash(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(broken)
    checked = pipeline.judge(pipeline.read_paths([path]), MATRIX)
    assert any("not a report of `rocm-doctor bench`" in e.quote for e in checked.snapshot.errors)


def test_the_page_shows_figures_causes_and_commands() -> None:
    page = text.page(explained(SLOW_COPIES, {"speed.link-share": 0.25}), 80)
    assert all(word in page for word in ("host-to-device-pinned", "speed-link", "lspci"))
    assert max(map(len, page.splitlines())) <= 80 or "lspci" in max(page.splitlines(), key=len)


def test_two_reports_of_one_state_are_the_same_text() -> None:
    one, other = (msgspec.json.format(msgspec.json.encode(explained())).decode() for _ in range(2))
    assert one == other
    assert [f["name"] for f in json.loads(one)["figures"]] == list(SOUND)
