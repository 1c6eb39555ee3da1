from __future__ import annotations

from types import ModuleType

import pytest
from tool_texts import run

from rocm_doctor.probes.read.printed import bdf, gfx_target, hex_id, product_name, size, stated_value, whole_number
from rocm_doctor.probes.tools import amd_smi, hipinfo, rocm_smi, rocminfo

TOOLS = [
    (rocminfo, "rocminfo"),
    (rocm_smi, "rocm-smi"),
    (amd_smi, "amd-smi"),
    (hipinfo, "hipinfo"),
]


@pytest.mark.parametrize(("module", "tool"), TOOLS)
def test_garbage_of_a_command_is_noted_and_silence_is_not(module: ModuleType, tool: str) -> None:
    assert [e.artifact for e in run(module, (f"cmd/{tool}", "Segmentation fault\n")).errors] == [f"cmd/{tool}"]
    assert run(module, (f"cmd/{tool}", "  \n")).errors == []
    assert run(module, (f"paste/1-{tool}", "Segmentation fault\n")).errors == []


@pytest.mark.parametrize(
    ("text", "want"),
    [("gfx1100", "gfx1100"), ("gfx90a:sramecc+:xnack-", "gfx90a"), ("gfx902+xnack", "gfx902"), ("gfx000", None), ("gfx11-generic", None),
     ("gfx9-4-generic", None), ("gfx1", None), ("gfx11000", None), ("gfx9010", None), ("xgfx906", None), ("gfx1201 ", "gfx1201")],
)  # fmt: skip
def test_target(text: str, want: str | None) -> None:
    assert gfx_target(text) == want


@pytest.mark.parametrize(
    "text",
    [
        "N/A",
        "None",
        "unknown",
        "Unsupported",
        "<redacted>",
        "[censored]",
        "GPU-XX",
        "GPU-ffffffffffffffff",
        "0x0000",
        "",
        "...",
        "0xXXXX",
    ],
)
def test_not_stated(text: str) -> None:
    assert stated_value(text) is None
    assert product_name(text) is None


def test_values() -> None:
    assert (hex_id("0x744c"), hex_id("744C"), hex_id("0x1002"), hex_id("0x74a1f"), hex_id("N/A")) == (
        0x744C,
        0x744C,
        None,
        None,
        None,
    )
    assert (whole_number("104(0x68)"), whole_number("104"), whole_number("104(0x69)"), whole_number("1.5"), whole_number("")) == (
        104,
        104,
        None,
        None,
        None,
    )
    assert (size("16304 MB"), size("64(0x40) KB"), size("8096068KB"), size("12"), size("N/A")) == (
        16304 << 20,
        65536,
        8096068 << 10,
        None,
        None,
    )
    assert (bdf("0000:0A:00.0"), bdf("03:00.1"), bdf("00010000:01:00.0"), bdf("1:2")) == (
        "0000:0a:00.0",
        "0000:03:00.1",
        "10000:01:00.0",
        None,
    )
    assert (product_name("...Radeon AI PRO R9700"), product_name("0x744c"), product_name(" AMD Radeon VII ")) == (
        None,
        None,
        "AMD Radeon VII",
    )
