"""The smoke test's results as facts, from its JSON lines (documented in smoke/runner.py); the same live and from a bundle.

`smoke.<stage>` is `passed`, `failed:<reason>`, `died:<signal or reason>`, `timeout`, `timeout:unkillable`, `skipped:<reason>` or
`not-run:<reason>`; the worst of all GPUs counts. On a CPU a pass is `passed-on-cpu`: it proves the packages, not the GPU.
`smoke.kind` is hip, cuda, cpu or unknown; `smoke.torch` and `smoke.jax` are the versions that ran; `smoke.masked`: a *_VISIBLE_DEVICES was set;
`smoke.integrated-first`: an integrated GPU is listed before a discrete one. `smoke.first` is the first stage in order of blame that
failed, died or hung; `smoke.first-how` is how.

Stages have the same names for every framework, and `smoke.<stage>` is the worst of all that were tested on such a device; where
JAX was tested, `smoke.jax.<stage>` is what JAX alone gave.

    ==> smoke/0.jsonl <==
    {"kind": "header", "device": "hip", "name": "AMD Radeon RX 7900 XTX", "torch": "2.9.1+rocm6.4"}
    {"kind": "result", "stage": "device", "status": "passed", "seconds": 1.9}
    {"kind": "result", "stage": "matmul-bf16", "status": "died", "reason": "SIGABRT", "doing": "matmul 4096"}

>>> print(probe(sample))
smoke.kind = hip
smoke.card = AMD Radeon RX 7900 XTX
smoke.torch = 2.9.1+rocm6.4
smoke.device = passed
smoke.matmul-bf16 = died:SIGABRT
smoke.first = matmul-bf16
smoke.first-how = died:SIGABRT
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

Record = dict[str, Any]

# Worst first. A stage that was skipped or not run on one GPU and passed on another has passed as far as it could.
_WORST = ("died", "timeout", "failed", "passed", "passed-on-cpu", "skipped", "not-run")
_FAULTS = ("died", "timeout", "failed")
_QUOTE = 300
FRAMEWORKS = ("torch", "jax")
_HEADER = {"device": "smoke.kind", "name": "smoke.card"}
_HEADER |= {framework: f"smoke.{framework}" for framework in FRAMEWORKS}
Worst = dict[str, tuple[str, Reading]]


class _Tested(NamedTuple):
    """An artifact as records, the framework that it is of, and the kind of its device."""

    artifact: Artifact
    records: list[tuple[int, Record]]
    framework: str
    kind: str


def probe(artifacts: Artifacts) -> ProbeResult:
    """The smoke.* facts of all `smoke/*.jsonl`: the worst result of each stage over the GPUs. The CPU's results count only if
    there are no others."""
    result = ProbeResult()
    tests = [_read_test(artifact, result) for artifact in artifacts.like("smoke/*.jsonl")]
    gpu = any(test.kind not in ("cpu", "") for test in tests)
    judged = [test for test in tests if test.kind != "cpu" or not gpu]
    for test in [*judged, *(test for test in tests if test not in judged)]:
        _read_header(result, test)
    worst = _worst_results(judged)
    for stage, (value, reading) in worst.items():
        result.facts[f"smoke.{stage}"] = Fact(value, (reading,))
    several = any(test.framework != "torch" for test in tests)
    for framework in FRAMEWORKS if several else ():
        for stage, (value, reading) in _worst_results([test for test in tests if test.framework == framework]).items():
            result.facts[f"smoke.{framework}.{stage}"] = Fact(value, (reading,))
    _record_first_failure(result, worst)
    return result


def _read_test(artifact: Artifact, result: ProbeResult) -> _Tested:
    records = list(_records(artifact, result))
    header = next((r for _, r in records if r.get("kind") == "header"), {})
    framework = header.get("framework")
    return _Tested(artifact, records, framework if framework in FRAMEWORKS else "torch", str(header.get("device", "")))


def _worst_results(tests: list[_Tested]) -> Worst:
    """The worst result of each stage, in the order in which the stages ran."""
    worst: Worst = {}
    for test in tests:
        for line, record in test.records:
            if record.get("kind") == "result" and isinstance(record.get("stage"), str):
                stage, value = record["stage"], _value(record, test.kind)
                if stage not in worst or _rank(value) < _rank(worst[stage][0]):
                    worst[stage] = (value, Reading(test.artifact.name, f"line {line}", _result_words(record)))
    return worst


def _records(artifact: Artifact, result: ProbeResult) -> Iterator[tuple[int, Record]]:
    """(line number, record) for each line that is a JSON object. Every other line is recorded as an error."""
    for number, line in enumerate(artifact.text.splitlines(), 1):
        try:
            yield number, jsons.decode(line, dict[str, Any])
        except Unreadable as error:
            result.fail(artifact.name, f"not a JSON object: {error}", f"line {number}")


def _read_header(result: ProbeResult, test: _Tested) -> None:
    """Facts of the machine in the header and the device stage."""
    for line, record in test.records:
        reading = Reading(test.artifact.name, f"line {line}", _result_words(record))
        details = record.get("details")
        if record.get("kind") == "header":
            for key, name in _HEADER.items():
                if isinstance(record.get(key), str) and name not in result.facts:
                    result.record(name, record[key], reading)
        elif record.get("stage") == "device" and isinstance(details, dict):
            for key, name in (("discrete_beside", "smoke.integrated-first"), ("masks", "smoke.masked")):
                if details.get(key):
                    result.facts[name] = Fact("yes", (reading,))


def _value(record: Record, kind: str) -> str:
    status, reason = str(record.get("status")), record.get("reason")
    if status == "passed":
        return "passed-on-cpu" if kind == "cpu" else "passed"
    return f"{status}:{reason}" if reason else status


def _rank(value: str) -> int:
    status = value.partition(":")[0]
    return _WORST.index(status) if status in _WORST else len(_WORST)


def _result_words(record: Record) -> str:
    """A result in words, as a report quotes it."""
    if record.get("kind") == "header":
        return " ".join(
            f"{key}={record[key]}" for key in ("interpreter", *FRAMEWORKS, "hip", "device", "name") if record.get(key)
        )
    parts = [f"{record.get('stage')} {record.get('status')}"]
    parts += [str(record[key]) for key in ("reason", "message") if record.get(key)]
    if record.get("doing"):
        parts.append(f"while doing: {record['doing']}")
    if record.get("asleep_in"):
        parts.append(f"process {record.get('pid', '')} asleep in the kernel at {record['asleep_in']}")
    seconds = record.get("seconds")
    return ": ".join(parts)[:_QUOTE] + (f" ({seconds} s)" if isinstance(seconds, (int, float)) else "")


def _record_first_failure(result: ProbeResult, worst: Worst) -> None:
    """smoke.first: the first bad stage; stages come in order of blame."""
    for stage, (value, reading) in worst.items():
        if value.partition(":")[0] in _FAULTS:
            result.facts["smoke.first"] = Fact(stage, (reading,))
            result.facts["smoke.first-how"] = Fact(value, (reading,))
            return
