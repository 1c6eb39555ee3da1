"""A report of `rocm-doctor bench` (figures/types.py): its figures, its verdicts and what was read beside them.

`rate.<figure>` and `speed.<figure>` are those of the GPU with the most slow figures, which `speed.gpu` names.

    ==> bench/bench.json <==
    {"kind": "bench", "tool_version": "1", "matrix_version": "1", "torch": "2.9.1+rocm6.4",
     "gpus": [{"index": 0, "kind": "hip", "name": "AMD Radeon RX 7900 XTX", "facts": {"speed.attention": "math"}}],
     "figures": [{"gpu": 0, "name": "attention-forward", "value": 2.5, "unit": "TFLOP/s", "spread": 0.01,
                  "verdict": "slow", "why": "2 % of 122.88"}]}

>>> print(probe(sample))
speed.kind = hip
speed.gpu = AMD Radeon RX 7900 XTX
speed.attention = math
rate.attention-forward = 2.5
speed.attention-forward = slow
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.coords import coord
from rocm_doctor.model import Artifact, Reading, Value
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

Record = dict[str, Any]
_KINDS = ("hip", "cuda", "cpu")
_VERDICTS = ("as expected", "slow", "cannot tell")


def probe(artifacts: Artifacts) -> ProbeResult:
    """Facts of the first readable `bench/*.json`; several reports are several machines."""
    result = ProbeResult()
    for artifact in artifacts.like("bench/*.json"):
        try:
            report = jsons.decode(artifact.text, Record)
            _record_facts(result, artifact, report)
        except (Unreadable, KeyError, TypeError, ValueError, AttributeError) as error:
            result.fail(artifact.name, f"not a report of `rocm-doctor bench`: {type(error).__name__}: {error}")
            continue
        break
    return result


def _record_facts(result: ProbeResult, artifact: Artifact, report: Record) -> None:
    figures = [(n, one) for n, one in enumerate(report["figures"])]
    slow = Counter(one["gpu"] for _, one in figures if one.get("verdict") == "slow")
    number = slow.most_common(1)[0][0] if slow else 0
    at, gpu = next(((n, one) for n, one in enumerate(report["gpus"]) if one["index"] == number), (0, report["gpus"][0]))
    where = Reading(artifact.name, f"gpus[{at}]", f"{gpu['name']} ({gpu['kind']})")
    if gpu["kind"] in _KINDS:
        result.record("speed.kind", gpu["kind"], where)
    result.record("speed.gpu", str(gpu["name"]), where)
    for name, value in gpu.get("facts", {}).items():
        _record(result, artifact, f"gpus[{at}].facts", str(name), value)
    for place, one in figures:
        if one["gpu"] == gpu["index"]:
            _record_figure(result, Reading(artifact.name, f"figures[{place}]", _words(one)), one)


def _record(result: ProbeResult, artifact: Artifact, place: str, name: str, value: Any) -> None:
    """A fact that coords.py has, with a value of its kind; others are of another version and left out."""
    made = _matching_facts(name, value)
    if made is not None:
        result.record(name, made, Reading(artifact.name, f"{place}[{name}]", f"{name} {value}"))


def _matching_facts(name: str, value: Any) -> Value:
    known = coord(name)
    if known is None or not name.startswith("speed."):
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {"number": number, "flag": isinstance(value, bool), "word": isinstance(value, str), "list": isinstance(value, list)}
    if not fits.get(known.kind):
        return None
    made: Value = tuple(map(str, value)) if isinstance(value, list) else value
    return made


def _record_figure(result: ProbeResult, reading: Reading, one: Record) -> None:
    result.record(f"rate.{one['name']}", float(one["value"]), reading)
    if one.get("verdict") in _VERDICTS:
        result.record(f"speed.{one['name']}", str(one["verdict"]).replace(" ", "-"), reading)


def _words(one: Record) -> str:
    words = f"{one['name']} {one['value']:g} {one['unit']} on GPU {one['gpu']}"
    return f"{words}: {one['verdict']}, {one.get('why', '')}"[:300] if one.get("verdict") else words
