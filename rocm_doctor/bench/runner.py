"""Runs the measurements, one GPU after the other, in the smoke test's isolation, and makes one report of what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from rocm_doctor import pipeline
from rocm_doctor._version import __version__
from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.figures import peaks
from rocm_doctor.figures.types import BenchReport, Conditions, Device, Figure, NotMeasured
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact
from rocm_doctor.smoke.runner import count_gpus, run_smoke, stage_details
from rocm_doctor.smoke.state import Record
from rocm_doctor.workers.smoke.table import RATES, STAGES, Stage


def run(
    matrix: Matrix,
    python: str | None = None,
    *,
    device: str = "auto",
    gpu: int | None = None,
    prelude: str | None = None,
    environment: dict[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> BenchReport:
    """The report on every GPU, or on that index; on the CPU where torch has no GPU support. It is not judged yet."""
    results: list[list[Record]] = []
    interrupted = False
    while not interrupted and (gpu is None or not results) and len(results) < (count_gpus(results[0]) if results else 1):
        artifacts = run_smoke(
            python,
            plan=plan(),
            device=device if gpu is None and not results else "cuda",
            gpu=gpu if gpu is not None else len(results) if device != "cpu" and results else None if device != "cuda" else 0,
            prelude=prelude,
            environment=environment,
            on_progress=on_progress,
        )
        interrupted = any(artifact.note == "interrupted" for artifact in artifacts)
        results.append(list(_records(artifacts)))
    return report(results, matrix, interrupted)


def plan() -> list[Stage]:
    """torch and the device, then the measurements."""
    return [stage for stage in STAGES if stage.name in ("import", "device")] + list(RATES)


def _records(artifacts: list[Artifact]) -> Iterator[Record]:
    for artifact in artifacts:
        for line in artifact.text.splitlines() if artifact.name.endswith(".jsonl") else ():
            try:
                yield jsons.decode(line, dict[str, Any])
            except Unreadable:
                continue


def report(results: list[list[Record]], matrix: Matrix, interrupted: bool) -> BenchReport:
    """The report from the records of each GPU's run."""
    header = next((r for records in results for r in records if r.get("kind") == "header"), {})
    return BenchReport(
        tool_version=__version__,
        matrix_version=matrix.version,
        gpus=tuple(_device(records, matrix) for records in results),
        figures=tuple(figure for records in results for figure in _figures(_index(records), records)),
        torch=str(header.get("torch") or ""),
        not_measured=tuple(stage for records in results for stage in _not_measured(_index(records), records)),
        interrupted=interrupted,
    )


def _index(records: list[Record]) -> int:
    return int(next((r.get("index") or 0 for r in records if r.get("kind") == "header"), 0))


def _device(records: list[Record], matrix: Matrix) -> Device:
    about, limits = stage_details(records, "device"), stage_details(records, "idle").get("limits") or {}
    kind = about.get("kind") if about.get("kind") in ("hip", "cuda") else "cpu"
    name = str(about.get("name") or "CPU")
    product = peaks.find_product(name, matrix) if kind != "cpu" else None
    sensed = {key: limits[key] for key in Device.__struct_fields__ if key in limits}
    device = msgspec.convert(
        {
            "index": _index(records),
            "kind": kind,
            "name": name,
            "gfx": str(about.get("architecture") or "").partition(":")[0],
            "product": product.product if product else "",
            "total_bytes": int(about.get("total_bytes") or 0),
            "pci": str(about.get("pci") or ""),
            **sensed,
        },
        Device,
        strict=False,
    )
    return msgspec.structs.replace(
        device, facts={**_facts(records), **derive_facts(device, list(_figures(device.index, records)))}
    )


def _facts(records: list[Record]) -> dict[str, Any]:
    stages = (r.get("details") or {} for r in records if r.get("kind") == "result")
    return {key: value for details in stages for key, value in (details.get("facts") or {}).items()}


LOADED = ("matmul-bf16-sustained", "matmul-bf16-training", "matmul-fp32")
"""Figures whose sensors tell of the GPU under load, best first."""


def derive_facts(device: Device, figures: list[Figure]) -> dict[str, Any]:
    """Facts that follow from the sensors and the figures: speed.clock-share, power-share, cap-share, link-share, peer-share, ..."""
    loaded = next((f.conditions for name in LOADED for f in figures if f.name == name and f.conditions.clock_mhz), Conditions())
    values = {f.name: f.value for f in figures}
    used, possible = peaks.link(device), peaks.slot(device)
    facts = {
        "speed.clock-share": _ratio(loaded.clock_mhz, loaded.clock_max_mhz),
        "speed.power-share": _ratio(loaded.power_watts, device.power_cap_watts),
        "speed.cap-share": _ratio(device.power_cap_watts, device.power_default_watts),
        "speed.temperature": loaded.temperature_c,
        "speed.link-share": _ratio(used.value, possible.value) if used and possible else None,
        "speed.peer-share": _ratio(values.get("peer-copy"), values.get("host-to-device-pinned")),
        "speed.profile": device.profile or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _ratio(one: float | None, other: float | None) -> float | None:
    return round(one / other, 4) if one and other else None


def _figures(gpu: int, records: list[Record]) -> Iterator[Figure]:
    for record in records:
        for plain in (record.get("details") or {}).get("figures") or ():
            try:
                yield msgspec.convert({**plain, "gpu": gpu}, Figure, strict=False)
            except msgspec.ValidationError:
                continue


def _not_measured(gpu: int, records: list[Record]) -> Iterator[NotMeasured]:
    for record in (r for r in records if r.get("kind") == "result"):
        if record.get("status") != "passed":
            reason = ": ".join(str(record[key]) for key in ("reason", "message") if record.get(key))
            yield NotMeasured(gpu, str(record["stage"]), str(record["status"]), reason)
        for name, why in ((record.get("details") or {}).get("missing") or {}).items():
            yield NotMeasured(gpu, str(name), "skipped", str(why))


def busy_words(report: BenchReport) -> str:
    """The words of a refusal because of other programs on a GPU; empty if there was none."""
    return next(
        (n.reason.partition(": ")[2] for n in report.not_measured if n.stage == "idle" and n.reason.startswith("busy")), ""
    )


def add_causes(report: BenchReport, matrix: Matrix, beside: Sequence[Artifact] = ()) -> BenchReport:
    """The report with what `check` finds in it about speed; `beside` are the machine's own artifacts."""
    text = msgspec.json.encode(report).decode()
    judged = pipeline.judge([Artifact("bench/1.json", "smoke", text), *beside], matrix, source="this benchmark", kind="smoke")
    return msgspec.structs.replace(report, causes=tuple(f for f in judged.findings if f.row and f.id.startswith("speed.")))
