"""What the tests of the probes over text share: run one over a text, and its facts as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rocm_doctor.model import Artifact, Fact, Unknown
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.text.gpu_names import GpuNames

CORPUS = Path(__file__).resolve().parents[1].parent / "shared" / "corpus"

NAMES = GpuNames.from_catalog(
    [
        ("gfx900", ["Radeon RX Vega 56", "Radeon RX Vega 64", "Radeon RX Vega"], ["687f"]),
        ("gfx902", ["Radeon Vega 8 Graphics"], ["15dd"]),
        ("gfx906", ["Instinct MI50", "Radeon VII", "Radeon Pro VII"], ["66a1", "66af"]),
        ("gfx908", ["Instinct MI100"], ["738c"]),
        ("gfx90a", ["Instinct MI210", "Instinct MI250", "Instinct MI250X"], ["740f"]),
        ("gfx90c", ["Radeon Vega 8 Graphics"], ["1638"]),
        ("gfx942", ["Instinct MI300X", "Instinct MI300A"], ["74a1"]),
        ("gfx1030", ["Radeon RX 6900 XT", "Radeon RX 6800 XT", "Radeon RX 6800"], ["73bf"]),
        ("gfx1031", ["Radeon RX 6700 XT", "Radeon RX 6750 GRE 12GB"], ["73df"]),
        ("gfx1032", ["Radeon RX 6600 XT", "Radeon RX 6750 GRE 10GB"], ["73ff"]),
        ("gfx1100", ["Radeon RX 7900 XTX", "Radeon RX 7900 XT", "Radeon PRO W7900"], ["744c", "7448"]),
        ("gfx1101", ["Radeon RX 7800 XT"], ["747e"]),
        ("gfx1103", ["Radeon 780M"], ["15bf"]),
        ("gfx1151", ["Radeon 8060S", "Radeon 8050S"], ["1586"]),
        ("gfx1152", ["Radeon 840M"], ["1114"]),
        ("gfx1153", ["Radeon 840M"], []),
        ("gfx1200", ["Radeon RX 9060 XT"], ["7590"]),
        ("gfx1201", ["Radeon RX 9070 XT", "Radeon AI PRO R9700"], ["7550", "7551"]),
    ],
    codenames=[("gfx1100", "Navi 31"), ("gfx1151", "Strix Halo"), ("gfx90c", "Renoir / Cezanne"), ("gfx900", "Vega 10")],
    families=[("gfx1030", "RDNA2"), ("gfx1031", "RDNA2"), ("gfx1032", "RDNA2"), ("gfx1200", "RDNA4"), ("gfx1201", "RDNA4")],
    processors=[("gfx1103", ["Ryzen * 7?40*"]), ("gfx1151", ["Ryzen AI Max*"])],
)


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
