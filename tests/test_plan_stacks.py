"""What `plan` answers for the cards of the field reports, and what it refuses."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations

import pytest

from rocm_doctor.matrix import load
from rocm_doctor.model import Fact
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import Catalog, System, load_catalog, order_packages
from rocm_doctor.plan.evidence import spans
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.search import Stack
from rocm_doctor.plan.text import text
from rocm_doctor.rules.conditions import holds
from rocm_doctor.versions import contains, sort_key


@cache
def known_of() -> Catalog:
    return load_catalog(load())


@cache
def plan_for(gfx: str, train: str = "", system: System = "linux", python: str = "3.12", driver: str = "", more: str = "") -> Plan:
    machine = declare_machine(gfx, python, known_of().matrix, system, driver)
    return answer(machine, known_of(), order_packages(more.split(",") if more else (), train, known_of()))


def named(plan: Plan) -> list[str]:
    return [stack.name for stack in plan.stacks]


def why_not(plan: Plan, build: str) -> str:
    return next(r.why for r in plan.rejected if r.build.key == build)


def test_mi50_gets_rocm_6_3_first_and_the_field_report_beside_it() -> None:
    plan = plan_for("gfx906", "lora")
    assert plan.best is not None
    assert (plan.best.name, plan.best.grade) == ("torch 2.9.1+rocm6.3", "upstream")
    shown = {s.name: s for s in plan.alternatives()}
    reported = shown["torch 2.4.1+rocm6.0"]
    assert contains("<5.15", reported.packages["transformers"].version), "5.15 and later switch torch 2.4 off"
    assert reported.candidate.known_good


@pytest.mark.parametrize("build", ["2.9.1+rocm6.4", "2.10.0+rocm7.0", "2.13.0+rocm7.2"])
def test_mi50_is_not_given_an_index_whose_rocblas_lacks_it(build: str) -> None:
    assert "rocBLAS has no kernels for gfx906" in why_not(plan_for("gfx906"), build)


def test_support_that_has_ended_does_not_outrank() -> None:
    """AMD supported gfx906 up to ROCm 5.7 and calls it deprecated or leaves it out since: 5.7 must not come first."""
    assert all(s.grade != "official" for s in plan_for("gfx906").stacks)


def test_mi50_cannot_have_bitsandbytes_and_is_told_how_to_come_near() -> None:
    plan = plan_for("gfx906", "qlora")
    assert not plan.stacks
    assert "no bitsandbytes wheel holds code for this GPU" in why_not(plan, "2.9.1+rocm6.3")
    changes = {c.what: c for c in plan.nearest}
    assert changes["without bitsandbytes"].then.startswith("torch 2.9.1+rocm6.3")
    assert any("BNB_ROCM_ARCH=gfx906" in c for c in changes["bitsandbytes by hand"].commands)
    assert all(c.source for c in plan.nearest)


@pytest.mark.parametrize(
    ("gfx", "system"),
    [("gfx1151", "linux"), ("gfx1100", "linux"), ("gfx1100", "windows"), ("gfx1151", "wsl"), ("gfx1103", "linux")],
)
def test_supported_cards_get_an_official_stack(gfx: str, system: System) -> None:
    plan = plan_for(gfx, "lora", system)
    assert plan.best is not None
    assert plan.best.grade == "official"


@pytest.mark.parametrize("system", ["linux", "windows", "wsl"])
def test_rdna4_gets_no_rocm_whose_hipblaslt_reads_past_lora_operands(system: System) -> None:
    plan = plan_for("gfx1201", "lora", system)
    assert plan.best is not None
    assert not contains(">=7.2,<10.1", plan.best.candidate.build.rocm)
    assert "TORCH_BLAS_PREFER_HIPBLASLT" not in plan.best.env


def test_a_torch_that_ignores_the_variable_is_out_for_rdna4() -> None:
    assert "through a bug in hipBLASLt" in why_not(plan_for("gfx1201", "lora"), "2.11.0+rocm7.2")


def test_what_a_variable_cures_comes_last_with_the_variable() -> None:
    plan = plan_for("gfx1201", "lora", "windows")
    cured = [s.candidate.build.key for s in plan.stacks if "TORCH_BLAS_PREFER_HIPBLASLT" in s.env]
    assert cured == [s.candidate.build.key for s in plan.stacks][-len(cured) :]
    assert "2.13.0+rocm10.0.0" in cured


def test_silent_zeros_on_rdna1_are_cured_and_named() -> None:
    plan = plan_for("gfx1010")
    assert plan.best is not None
    assert plan.best.env["AMDGCN_USE_BUFFER_OPS"] == "0"
    assert any("write nothing" in note.title for note in plan.best.notes)


def test_amds_index_is_asked_for_device_code() -> None:
    from rocm_doctor.plan.commands import install

    plan = plan_for("gfx1103")
    stack = next(s for s in plan.stacks if s.candidate.build.family == "therock")
    assert any(a.startswith("torch[device-gfx1103]==") for a in install(stack, plan.machine)[0])


def test_a_card_without_native_code_runs_a_siblings() -> None:
    plan = plan_for("gfx1035")
    overrides = [s for s in plan.stacks if s.candidate.override]
    assert overrides
    assert all(s.grade == "field" and s.env["HSA_OVERRIDE_GFX_VERSION"] == "10.3.0" for s in overrides)
    assert not any(s.candidate.override for s in plan_for("gfx1035", system="windows").stacks), "Windows does not read it"


def test_native_code_comes_before_a_siblings() -> None:
    plan = plan_for("gfx1031")
    assert plan.best is not None
    assert plan.best.candidate.override is None


def test_a_harmful_override_is_never_planned() -> None:
    assert not plan_for("gfx1033").stacks
    assert "gradients" in why_not(plan_for("gfx1033"), "2.12.0+rocm7.14.0")


def test_nightlies_come_last_and_only_where_their_page_has_the_target() -> None:
    order = [s.candidate.index.nightly for s in plan_for("gfx1100").stacks]
    assert order == sorted(order)
    assert "only that a device package is built" in why_not(plan_for("gfx906"), "therock-nightly-2.14")


def test_an_old_driver_keeps_new_rocm_out() -> None:
    old = plan_for("gfx1100", driver="6.8.5")
    assert old.best is not None
    assert old.best.candidate.build.rocm.startswith("6.")
    assert "driver" in why_not(old, "2.13.0+rocm7.2")


def test_python_decides_the_packages() -> None:
    plan = plan_for("gfx1100", "lora", python="3.9")
    assert plan.best is not None
    versions = {name: one.version for name, one in plan.best.packages.items()}
    assert versions["transformers"] == "4.57.6"
    assert versions["peft"] == "0.17.1"
    assert plan.best.candidate.build.torch == "2.8.0", "the last with wheels for 3.9"


def test_flash_attn_gets_its_back_end_by_card() -> None:
    from rocm_doctor.plan.commands import install

    with_triton, with_ck = plan_for("gfx1100", more="flash-attn"), plan_for("gfx942", more="flash-attn")
    assert with_triton.best is not None
    assert with_ck.best is not None
    assert with_triton.best.env == {"FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
    assert with_ck.best.env == {}
    *_, tools, build = install(with_ck.best, with_ck.machine)
    assert "ninja" in tools
    assert build[-3:] == ("--no-build-isolation", f"torch=={with_ck.best.candidate.build.local}", "flash-attn==2.8.3")


def test_old_torch_brings_numpy_1() -> None:
    plan = plan_for("gfx906")
    old = next(s for s in plan.stacks if s.candidate.build.torch == "2.2.2")
    assert old.packages["numpy"].version == "1.26.4"


@pytest.mark.parametrize("gfx", ["gfx906", "gfx1036", "gfx1201", "gfx950"])
def test_every_build_is_a_stack_or_has_a_reason_with_its_source(gfx: str) -> None:
    plan = plan_for(gfx)
    assert len(plan.stacks) + len(plan.rejected) == len(known_of().matrix.torch)
    assert all(r.why and r.source for r in plan.rejected)


@pytest.mark.parametrize(
    ("since", "until", "rocm", "inside"),
    [
        ("7.2.1", "7.2.4", "7.2", True),
        ("7.2.1", "7.2.4", "7.2.5", False),
        ("6.0.0", "6.3.1", "6.3", True),
        ("6.0.0", "6.3.1", "6.4", False),
        ("10.1.0", "dev", "nightly", True),
        ("10.1.0", "dev", "10.0.0", False),
        ("7.11.0", "", "nightly", True),
        ("6.x", "", "7.2", True),
        ("7.0.2", "7.2.x", "7.2.9", True),
    ],
)
def test_ranges_are_compared_over_the_parts_that_both_name(since: str, until: str, rocm: str, inside: bool) -> None:
    assert spans(since, until, rocm) is inside


def test_indexes_name_what_the_builds_name() -> None:
    words = {b.index for b in known_of().matrix.torch if not b.index.startswith("http")}
    assert set(known_of().indexes) <= words


def test_packages_stand_newest_first_with_ranges_that_parse() -> None:

    for package in known_of().packages.values():
        versions = [r.version for r in package.releases]
        if not package.always:
            assert versions == sorted(versions, key=sort_key, reverse=True), package.name
        for one in package.releases:
            assert contains(one.torch, "2.9.1") is not None
            assert contains(one.python, "3.12") is not None
            assert set(one.needs) <= set(known_of().packages)
            assert set(one.env) <= set(known_of().matrix.env)


def test_a_report_from_linux_says_nothing_of_wsl() -> None:
    assert not plan_for("gfx906", system="wsl").stacks


@pytest.mark.parametrize(
    ("kernel", "driver", "old"),
    [
        ("6.8.0-60-generic", "inbox", True),
        ("6.8.5-301.fc40.x86_64", "", True),
        ("6.14.0-28-generic", "inbox", False),
        ("", "", False),
    ],
)
def test_a_kernel_that_is_too_old_is_the_first_step(kernel: str, driver: str, old: bool) -> None:
    """A newer one is booted in minutes: no reason to say that nothing works. A kernel named alone has its own driver. The command is for
    one distribution, and which one this is was not said."""
    plan = answer(declare_machine("gfx1201", "3.12", load(), kernel=kernel, driver=driver), known_of())
    assert plan.best
    assert ["rdna4-kernel-before-its-driver" in one.row for one in plan.by_hand] == [True] * old
    assert ("linux-generic-hwe-$(lsb_release -rs)  # on Ubuntu" in text(plan)) is old


def test_steps_on_the_system_come_before_python() -> None:
    card, apu = ({step.name: step for step in plan_for(gfx).steps} for gfx in ("gfx1201", "gfx1103"))
    assert next(iter(card)) == "groups"
    assert card["groups"].commands == ("sudo usermod -aG render,video $LOGNAME",)
    assert "31.50.0" in card["driver"].words
    assert "shared memory" in apu.keys() - card.keys()
    assert "the kernel itself" in apu["driver"].words
    windows, wsl = ({step.name: step for step in plan_for("gfx1201", system=system).steps} for system in ("windows", "wsl"))
    assert "Adrenalin" in windows["driver"].words
    assert {"WSL", "driver"} <= wsl.keys()
    assert "librocdxg" not in wsl, "from 10.1 on the wheels bring it"


def test_what_comes_from_elsewhere_is_named_and_not_installed() -> None:
    from rocm_doctor.plan.commands import install

    plan = plan_for("gfx942", more="vllm")
    assert plan.best is not None
    assert any(remark.startswith("vllm: the package index has vLLM for CUDA alone") for remark in plan.remarks)
    assert not any("vllm" in word for command in install(plan.best, plan.machine) for word in command)


def test_community_wheels_are_named_as_such() -> None:
    changes = plan_for("gfx803").nearest
    assert [c.what for c in changes] == ["community wheels, which neither AMD nor PyTorch builds or tests"]


@pytest.mark.parametrize(
    ("gfx", "words"),
    [
        ("gfx906", r"driver 6\.1\.x.* to 30\.30\.3"),
        ("gfx1150", "the kernel itself"),
        ("gfx1151", "the kernel itself"),
        ("gfx1100", r"driver 30\.30\.3"),
    ],
)
def test_the_driver_step_names_every_driver_of_the_release_and_ryzen_takes_the_kernels_own(gfx: str, words: str) -> None:
    assert re.search(words, next(step.words for step in plan_for(gfx).steps if step.name == "driver"))


def test_the_kernel_of_rdna35_is_a_step() -> None:
    assert "kernel" in [step.name for step in plan_for("gfx1150").steps]
    assert "kernel" not in [step.name for step in plan_for("gfx1103").steps]


@pytest.mark.parametrize(
    ("system", "share"),
    [("linux", 2), ("windows", 2), *(pytest.param(s, 1, marks=pytest.mark.slow) for s in ("linux", "windows"))],
)
def test_siblings_with_the_same_support_get_the_same_stack_or_a_row_says_why(system: System, share: int) -> None:
    """Of every second family by default."""
    families: dict[tuple[str, str], list[str]] = {}
    for target in load().gfx.values():
        families.setdefault((target.family, target.kind), []).append(target.gfx)
    siblings = [family for family in families.values() if len(family) > 1]
    compared = 0
    for one, other in (pair for family in siblings[share - 1 :: share] for pair in combinations(family, 2)):
        plans = plan_for(one, system=system), plan_for(other, system=system)
        best = [plan.best for plan in plans if plan.best]
        if len(best) < 2 or any(supported(one, stack, system) != supported(other, stack, system) for stack in best):
            continue
        compared += 1
        if best[0].name != best[1].name:
            said = said_against(plans[0], best[1].name, other) or said_against(plans[1], best[0].name, one)
            assert said, f"{one} gets {best[0].name}, {other} {best[1].name}, and nothing says why"
    assert compared > 3


def supported(gfx: str, stack: Stack, system: System) -> bool:
    """True if AMD says that the ROCm of a stack supports a target on a system."""
    said = [s for s in load().support if gfx in s.gfx and s.os == system and s.grade == "official" and s.state == "supported"]
    return any(spans(s.since, s.until, stack.candidate.build.rocm) for s in said)


def said_against(plan: Plan, stack: str, sibling: str) -> bool:
    """True if the plan names what keeps that stack from its target and not from the sibling: a row, or code that the stack lacks."""
    rejected = [r for r in plan.rejected if f"torch {r.build.local}" == stack]
    rows = [r.finding.row for r in rejected if r.finding]
    rows += [note.row for s in plan.stacks if s.name.startswith(stack) for note in s.notes]
    asked = [known_of().matrix.by_key[row].when.get("gpu.gfx", "*") for row in rows if row in known_of().matrix.by_key]
    lacks = any("code" in r.why or "kernels" in r.why for r in rejected)
    return lacks or any(holds("word", one, Fact(plan.machine.gfx)) and not holds("word", one, Fact(sibling)) for one in asked)


def test_gfx1200_is_not_given_a_rocm_whose_repair_names_other_cards() -> None:
    plan = plan_for("gfx1200", "qlora")
    assert plan.best is not None
    assert plan.best.name == "torch 2.10.0+rocm7.1"
    newest = next(s for s in plan.stacks if s.name == "torch 2.14.0+rocm10.1.0")
    assert newest.env["TORCH_BLAS_PREFER_HIPBLASLT"] == "0"


@pytest.mark.parametrize("gfx", ["gfx1100", "gfx1103"])
def test_a_build_without_its_attention_kernels_is_not_planned(gfx: str) -> None:
    assert all(s.name != "torch 2.12.0+rocm7.14.0" for s in plan_for(gfx).stacks)


def test_transformers_stays_at_the_release_that_a_published_peft_fits() -> None:
    best = plan_for("gfx1100", "lora").best
    assert best is not None
    assert (best.packages["transformers"].version, best.packages["peft"].version) == ("5.23.0", "0.21.2")


@pytest.mark.parametrize("names", ["llamafactory", "axolotl,trl,vllm,sglang,comfyui"])
def test_the_trainers_and_servers_that_people_ask_for_are_known(names: str) -> None:
    plan = plan_for("gfx1100", more=names)
    assert plan.best is not None
    for name in names.split(","):
        assert name in plan.best.packages or any(remark.startswith(f"{name}: ") for remark in plan.remarks)


def test_unsloth_goes_in_without_what_would_replace_torch_or_triton() -> None:
    from rocm_doctor.plan.commands import install

    plan = plan_for("gfx1201", more="unsloth")
    stack = next(s for s in plan.stacks if s.candidate.build.family == "therock")
    _, resolved, alone = install(stack, plan.machine)
    assert "--no-deps" in alone
    assert {word.partition("==")[0] for word in alone if "==" in word} == {"unsloth", "unsloth-zoo", "cut-cross-entropy"}
    assert f"torch=={stack.candidate.build.local}" in resolved
    assert not {"xformers", "triton", "unsloth"} & {re.split(r"[=<>!]", word)[0] for word in resolved}
    assert contains("<=5.17.0", stack.packages["transformers"].version)


def test_what_a_package_takes_and_needs_is_in_the_catalog() -> None:
    packages = known_of().packages
    named_by = {other for one in packages.values() for other in one.takes}
    named_by |= {other for one in packages.values() for release in one.releases for other in release.needs}
    assert named_by <= set(packages)
