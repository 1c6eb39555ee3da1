"""Parts of `plan` that a whole answer does not show: what is a step, what is replaced, what a row settles, what stays installed."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from rocm_doctor.matrix import load
from rocm_doctor.model import Fact
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import Catalog, CatalogPackage, Release, System, WheelIndex, load_catalog, order_packages
from rocm_doctor.plan.commands import replacements
from rocm_doctor.plan.evidence import _is_about_build, statements, supporting_claims
from rocm_doctor.plan.machine import declare_machine, install_stack

MATRIX = load()


@cache
def known_of() -> Catalog:
    return load_catalog(MATRIX)


@cache
def plan_for(gfx: str, train: str = "", system: System = "linux", driver: str = "", rocm: str = "") -> Plan:
    return answer(
        declare_machine(gfx, "3.12", MATRIX, system, driver), known_of(), order_packages((), train, known_of()), rocm
    )  # fmt: skip


@pytest.mark.parametrize("here", ["", "2.9.0+cu128"])
def test_a_nightly_replaces_any_other_torch(here: str) -> None:
    """A nightly's build has no local version of its own; what is installed is told all the same."""
    nightly = next(s for s in plan_for("gfx1100").stacks if s.candidate.index.nightly)
    assert not nightly.candidate.build.local
    machine = declare_machine("gfx1100", "3.12", MATRIX)
    facts = {**machine.base.facts, **({"pkg.torch": Fact(here)} if here else {})}
    machine = msgspec.structs.replace(machine, base=msgspec.structs.replace(machine.base, facts=facts))
    said = [words for words in replacements(nightly, machine) if words.startswith("torch ")]
    assert said == ([f"torch {nightly.candidate.build.torch} in place of {here}"] if here else [])


def test_a_preview_speaks_for_a_release() -> None:
    machine = declare_machine("gfx1102", "3.12", MATRIX)
    build = msgspec.structs.replace(next(b for b in MATRIX.torch if b.local), rocm="7.13.0")
    said = statements(machine, MATRIX)
    preview = said._replace(support=tuple(s for s in said.support if s.state == "preview"))
    assert [claim.words.split(" on ")[0] for claim in supporting_claims(build, machine, preview)] == ["ROCm 7.13.0 is a preview"]


def test_a_new_torch_takes_its_companions_with_it() -> None:
    """Code and links of the old torchvision and Triton are gone; another package's stay unless it is installed anew."""
    machine = declare_machine("gfx1100", "3.12", MATRIX)
    read = {f"{family}.{name}": Fact("x") for family in ("pkg", "code", "soname") for name in ("torchvision", "triton", "vllm")}
    base = msgspec.structs.replace(machine.base, facts={**machine.base.facts, **read})
    here = msgspec.structs.replace(machine, base=base)
    kept = {name for name in install_stack(here, {}).facts if name in read}
    assert kept == {"pkg.vllm", "code.vllm", "soname.vllm"}
    assert not {name for name in install_stack(here, {}, ("vllm",)).facts if name in read}


def test_an_old_driver_is_led_to_the_kernels_own_and_to_the_newest_module() -> None:
    changes = [c.what for c in plan_for("gfx950", driver="6.7.0").nearest]
    assert changes[0] == "with the driver of the kernel itself"
    assert changes[1].startswith("with the driver module 6.19.18")
    assert not any("driver" in c.what for c in plan_for("gfx1250").nearest), "none was named"


@pytest.mark.parametrize(("driver", "offered"), [("6.7.0", False), ("6.12.12", False), ("6.19.18.31500000", True), ("", True)])
def test_nightlies_need_a_driver_of_their_time(driver: str, offered: bool) -> None:
    """The ROCm of a nightly has no number, but it is newer than every release."""
    plan = plan_for("gfx1103", driver=driver)
    assert any(s.candidate.index.nightly for s in plan.stacks) == offered


def test_packages_stand_after_those_that_they_are_built_on() -> None:
    order = ("transformers", "peft", "accelerate", "trl")
    assert order_packages(tuple(reversed(order)), "", known_of()) == order
    assert order_packages(("trl", "bitsandbytes", "accelerate"), "", known_of()) == ("accelerate", "trl", "bitsandbytes")


def test_a_release_with_a_serious_finding_is_passed_over() -> None:
    """bitsandbytes 0.50 computes wrong 4-bit products on gfx1100 beside ROCm 6.4: the one before it is taken."""
    best = plan_for("gfx1100", "qlora", rocm="6.4").best
    assert best is not None
    assert best.packages["bitsandbytes"].version == "0.49.2"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (WheelIndex, {"name": "x", "url": "https://example.org/", "kind": "files"}),
        (Release, {"version": "1.0", "torch": ">=2.0", "python": ">=3.9"}),
        (CatalogPackage, {"name": "x", "what": "x", "sources": ["x"], "grade": "field", "checked": "2026-11-22"}),
    ],
)
def test_a_misspelt_field_of_the_catalog_is_refused_and_no_entry_can_be_changed(
    kind: type[msgspec.Struct], fields: dict[str, Any]
) -> None:
    made = msgspec.convert(fields, kind)
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({**fields, "verison": "1"}, kind)
    with pytest.raises(AttributeError):
        setattr(made, next(iter(fields)), "other")


def test_a_row_is_about_a_build_that_it_names() -> None:
    build = next(b for b in MATRIX.torch if b.family == "therock" and b.rocm)
    assert _is_about_build({"torch.family": f"bundled|{build.family}"}, build)
    assert not _is_about_build({"torch.family": "bundled"}, build)
    assert not _is_about_build({"torch.rocm": f"=={build.rocm}"}, build), (
        "a row that names neither version nor family is about no build"
    )
    assert _is_about_build({"torch.version": f"=={build.torch}", "torch.rocm": f"=={build.rocm}"}, build)
    assert not _is_about_build({"torch.version": f"=={build.torch}", "torch.rocm": "<1"}, build)
