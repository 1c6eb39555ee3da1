"""What the tests of the probes over text share: run one over a text, and its facts as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Unknown
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

CORPUS = Path(__file__).resolve().parents[1].parent / "shared" / "corpus"

NAMES = gpu_names(load())


def notes(probe: ModuleType, *texts: tuple[str, str] | str) -> ProbeResult:
    """The probe's notes on texts: `(artifact name, text)`, or a text that somebody pasted."""
    items = [("paste/text", text) if isinstance(text, str) else text for text in texts]
    artifacts = Artifacts((Artifact(name, "paste", text) for name, text in items), lambda: NAMES)
    result: ProbeResult = probe.probe(artifacts)
    return result


def plain(facts: Mapping[str, Fact]) -> dict[str, Any]:
    """Facts as values; an ambiguous one as the set of its candidates."""
    return {k: set(f.value.candidates) if isinstance(f.value, Unknown) else f.value for k, f in facts.items()}


def facts(probe: ModuleType, *texts: tuple[str, str] | str) -> dict[str, Any]:
    return plain(notes(probe, *texts).facts)


def gpus(probe: ModuleType, *texts: tuple[str, str] | str) -> list[dict[str, Any]]:
    return [plain(gpu) for listing in notes(probe, *texts).listings for gpu in listing.gpus]


def captures(kind: str) -> list[Path]:
    """The texts of that kind in the corpus; the test is skipped where there is none."""
    found = sorted((CORPUS / "captures" / kind).glob("*.txt"))
    if not found:
        pytest.skip("the corpus of captures is not beside the project")
    return found
