"""JSON Schemas of the files under compat_matrix, for editors: from the types that read them, and what the YAML writes in short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from rocm_doctor.lint.catalog import CudaOnly, ImageEntry, Library, OtherSystem, RequiresTorch
from rocm_doctor.matrix.store import SECTIONS
from rocm_doctor.model import Grade
from rocm_doctor.plan.catalog import CatalogPackage, SystemStep, WheelIndex
from rocm_doctor.plan.frameworks import FrameworkRelease

ABOVE: dict[str, Any] = {
    "packages": CatalogPackage, "indexes": WheelIndex, "steps": SystemStep, "frameworks": FrameworkRelease, "images": ImageEntry,
    "cuda_only": CudaOnly, "other_systems": OtherSystem, "requires_torch": RequiresTorch, "libraries": Library,
}  # fmt: skip
"""Sections whose types are in the rooms above the matrix."""
PLAIN = (
    "apt", "attention", "breaking", "brings", "groups", "held", "same_files", "source_builds", "torch_needs", "training", "xformers",
)  # fmt: skip
"""Sections that are read as plain values."""
OWN_FILES = ("rows", "cures", "diagnoses")
"""Sections that have files of their own."""
PROVENANCE = {
    "sources": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "grade": {"enum": list(get_args(Grade))},
    "checked": {"type": "string", "format": "date"},
}
SHORT_TARGETS = {"type": "object", "properties": {"set": {"type": "string"}}, "required": ["set"], "additionalProperties": False}


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and schema of each kind of file: rows, cures, diagnoses, and the catalog by section."""
    for name in OWN_FILES:
        (entry,), types = _parts([SECTIONS[name]])
        yield name, {"title": f"{name} of the compatibility matrix", "type": "array", "items": entry, "$defs": types}
    typed = {name: kind for name, kind in {**SECTIONS, **ABOVE}.items() if name not in OWN_FILES}
    entries, types = _parts(list(typed.values()))
    sections: dict[str, Any] = {name: {"type": "array", "items": entry} for name, entry in zip(typed, entries)}
    for name in ABOVE:
        fields = types[typed[name].__name__]
        fields["properties"] = {**PROVENANCE, **fields["properties"]}
    plain = {"type": "object", "properties": PROVENANCE, "required": list(PROVENANCE)}
    sections |= {name: {"type": "array", "items": plain} for name in PLAIN}
    sections["models"] = {"type": "object"}
    sections["sets"] = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
    whole = {
        "title": "catalog of the compatibility matrix",
        "type": "object",
        "properties": sections,
        "additionalProperties": False,
    }
    yield "catalog", {**whole, "$defs": types}


def _parts(kinds: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The schema of an entry of each type, and those of the types that they name, with what the YAML may write in short."""
    entries, types = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for part in types.values():
        fields = part.get("properties", {})
        for name in fields.keys() & {"gfx", "blas"}:
            if fields[name].get("type") == "array":
                fields[name] = {"anyOf": [{key: one for key, one in fields[name].items() if key != "default"}, SHORT_TARGETS]}
        if "affected" in fields:
            several = fields["affected"]["additionalProperties"]
            fields["affected"]["additionalProperties"] = {"anyOf": [several, several["items"]]}
    if "Command" in types:
        types["Command"] = {"anyOf": [{"type": "string"}, types["Command"]]}
    return list(entries), types
