"""amd-smi's `--json` (a list up to 6.x, `{"gpu_data": [...]}` later) and `--csv`."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.loose_json import Json, roots
from rocm_doctor.probes.read.printed import fields, lines, put, put_release, quote, size
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools.amd_smi_keys import describe

Gpus = dict[int, dict[str, Fact]]


def read_json(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add each entry with a number under `gpu`; entries of CPUs and links are skipped."""
    for root in roots(artifact.text):
        entries = root.get("gpu_data", [root]) if isinstance(root, dict) else root
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict):
                continue
            number = entry.get("gpu")
            if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 4096:
                _entry(result, artifact, gpus.setdefault(number, {}), entry, f"gpu {number}")
            else:
                _versions(result, artifact, entry)
                _memory(result, artifact, gpus, entry)


def _entry(result: ProbeResult, artifact: Artifact, gpu: dict[str, Fact], entry: dict[str, Json], place: str) -> None:
    for section, key, value in _leaves(entry):
        describe(
            result, gpu, section, key, value, Reading(artifact.name, f"{place}: {section or key}", f'"{key}": "{value}"'[:200])
        )


def _leaves(entry: dict[str, Json]) -> Iterator[tuple[str, str, str]]:
    """Section, key and value as text, of the first two levels; `{"value": 16304, "unit": "MB"}` is `16304 MB`."""
    for section, inner in entry.items():
        if not isinstance(inner, dict):
            yield "", section, _text(inner)
            continue
        for key, value in inner.items():
            yield section, key, _text(value)


def _text(value: Json) -> str:
    if isinstance(value, dict):
        return f"{value.get('value', '')} {value.get('unit', '')}".strip()
    return "" if value is None or isinstance(value, (list, bool)) else str(value)


def _versions(result: ProbeResult, artifact: Artifact, entry: dict[str, Json]) -> None:
    """`amd-smi version --json`."""
    for key, value in entry.items():
        reading = Reading(artifact.name, key, f'"{key}": "{value}"'[:200])
        if key == "rocm_version" and isinstance(value, str) and value[:1].isdigit():
            result.record("rocm.version", value, reading)
        elif key == "amdgpu_version" and isinstance(value, str):
            put_release(result, value, reading)


def _memory(result: ProbeResult, artifact: Artifact, gpus: Gpus, entry: dict[str, Json]) -> None:
    """Add the `vram` part of one GPU, picked out with jq."""
    kind = entry.get("type")
    if (
        "size" in entry
        and "vendor" in entry
        and isinstance(kind, str)
        and kind.upper().startswith(("HBM", "GDDR", "DDR", "LPDDR"))
    ):
        put(
            result,
            gpus.setdefault(0, {}),
            "vram_bytes",
            size(_text(entry["size"])) or None,
            Reading(artifact.name, "size", _text(entry["size"])),
        )


def read_csv(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add the rows of a table under `gpu,...`, without sizes: they have no unit, and bytes look like megabytes."""
    head: list[str] = []
    for line in lines(artifact):
        row = fields(line.text)
        if row[:1] == ["gpu"] and len(row) > 1:
            head = row
        elif head and len(row) == len(head) and row[0].isdigit() and len(row[0]) < 5 and line.whole:
            gpu = gpus.setdefault(int(row[0]), {})
            for key, value in zip(head[1:], row[1:]):
                describe(result, gpu, "csv", key, value, quote(artifact, line))
