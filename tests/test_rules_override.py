"""HSA_OVERRIDE_GFX_VERSION: which values are wrong, harmful, needed, pointless, and what they hide."""

from __future__ import annotations

import pytest
from matrix_machines import findings, torch

from rocm_doctor.model import Finding

VARIABLE = "env.HSA_OVERRIDE_GFX_VERSION"


def judged(gfx: str, value: str, **more: object) -> dict[str, Finding]:
    facts = {**torch("2.9.1+rocm6.4"), VARIABLE: value, **more}
    return {f.id: f for f in findings(facts, {"gfx": gfx}) if f.id.startswith(("arch.override", "arch.blas"))}  # type: ignore[arg-type]


@pytest.mark.parametrize(("gfx", "value"), [("gfx908", "9.0.10"), ("gfx90a", "9.0.8"), ("gfx908", "8.0.3")])
def test_targets_without_a_generic_isa_are_compatible_with_no_other(gfx: str, value: str) -> None:
    wrong = judged(gfx, value)["arch.override-wrong"]
    assert (wrong.severity, wrong.confidence) == ("error", "high")


@pytest.mark.parametrize(("gfx", "value"), [("gfx1033", "10.3.0"), ("gfx1103", "11.0.0"), ("gfx1103", "11.0.2")])
def test_a_compatible_isa_that_the_catalog_calls_harmful_is_wrong(gfx: str, value: str) -> None:
    assert judged(gfx, value)["arch.override-wrong"].severity == "error"


def test_a_compatible_isa_without_native_code_is_in_use() -> None:
    found = judged("gfx1032", "10.3.0")
    assert list(found) == ["arch.override-in-use"]
    assert found["arch.override-in-use"].severity == "note"
    assert found["arch.override-in-use"].cause.startswith("The build has no code for gfx1032.")


def test_an_override_that_gives_rocblas_its_kernels_is_no_false_alarm() -> None:
    """gfx1101 of a torch whose rocBLAS knows gfx1100 only: the variable is what makes it work."""
    only_1100 = {"code.torch": ("gfx1100", "gfx1101"), "code.rocblas": ("gfx1100",)}
    assert "arch.blas-missing" in judged("gfx1101", "", **only_1100)
    assert "arch.blas-missing" not in judged("gfx1101", "11.0.0", **only_1100)


def test_hip_on_windows_does_not_read_it() -> None:
    found = judged("gfx1101", "10.3.0", platform="windows")
    assert list(found) == ["arch.override-pointless"]
    assert found["arch.override-pointless"].subject == ""
    assert "arch.override-wrong" in judged("gfx1101", "10.3.0")


@pytest.mark.parametrize("gfx", ["gfx1100", "gfx1102"])
def test_an_override_to_a_compatible_isa_that_the_build_lacks_stops_every_kernel(gfx: str) -> None:
    """The loader takes code of the named target alone: that the chip could run it is no help where there is none."""
    only_1100 = {"code.torch": ("gfx1030", "gfx1100"), "code.rocblas": ("gfx1100",)}
    found = judged(gfx, "11.0.3", **only_1100)
    assert found["arch.override-wrong"].severity == "error"
    assert not {"arch.override-pointless", "arch.override-in-use"} & found.keys()
    assert "arch.override-wrong" not in judged(gfx, "11.0.3", **{"code.torch": ("gfx1100", "gfx1103")})


@pytest.mark.parametrize(("build", "severity"), [("2.9.1+rocm6.4", "error"), ("", "warning"), ("2.14.0+rocm10.1.0", None)])
def test_an_empty_value_hides_the_gpus_from_runtimes_that_parse_it(build: str, severity: str | None) -> None:
    stack = torch(build) if build else {}
    for value in ("", "  "):
        found = {f.id: f for f in findings({**stack, VARIABLE: value}, {"gfx": "gfx1201"})}
        assert getattr(found.get("arch.override-wrong"), "severity", None) == severity
        assert "arch.override-wrong" not in {
            f.id for f in findings({**stack, VARIABLE: value, "platform": "windows"}, {"gfx": "gfx1201"})
        }
