"""A plan around what is installed: what is replaced, what is unset, and what is the machine's fault and not the stack's."""

from __future__ import annotations

import msgspec

from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot, Value
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import load_catalog, order_packages
from rocm_doctor.plan.commands import install, replacements
from rocm_doctor.plan.machine import Machine, machine_from_snapshot
from rocm_doctor.plan.text import text

MATRIX = load()


def snapshot(facts: dict[str, Value], *gfx: tuple[str, bool]) -> Snapshot:
    """A machine as probes leave it: facts and one GPU for each (target, is it an APU)."""
    read = (Reading("test", "", ""),)
    gpus = tuple(Gpu({"gfx": Fact(name, read), "is_apu": Fact(apu, read)}) for name, apu in gfx)
    return enrich(Snapshot({n: Fact(v, read) for n, v in facts.items()}, gpus, gpus_listed=True), MATRIX)


def machine(facts: dict[str, Value], *gfx: tuple[str, bool]) -> Machine:
    base: dict[str, Value] = {"platform": "linux", "wsl": False, "python.version": "3.12.4", "kfd.exists": True, "env.": True}
    found = machine_from_snapshot(snapshot({**base, **facts}, *gfx))
    assert found
    return found


def plan(facts: dict[str, Value], train: str = "lora") -> Plan:
    return answer(machine(facts, ("gfx906", False)), load_catalog(MATRIX), order_packages((), train, load_catalog(MATRIX)))


CUDA: dict[str, Value] = {
    "torch.version": "2.5.0+cu124",
    "torch.build": "cuda",
    "pkg.torch": "2.5.0+cu124",
    "pkg.torchvision": "0.20.0+cu124",
    "pkg.triton": "3.1.0",
    "pkg.transformers": "4.40.0",
}


def test_the_old_torch_goes_first_and_is_named() -> None:
    made = plan(CUDA)
    assert made.best
    remove, add, *_ = install(made.best, made.machine)
    assert remove == ("pip", "uninstall", "-y", "torch", "torchvision", "triton")
    assert "torch==2.9.1+rocm6.3" in add
    assert "torch 2.9.1+rocm6.3 in place of 2.5.0+cu124" in replacements(made.best, made.machine)
    assert "transformers 4.40.0 by" not in text(made), "an installed release stays where it works"


def test_a_newer_release_than_the_catalog_knows_stays() -> None:
    """The matrix is some days old, and nothing is known against a release that it does not know yet."""
    newer = plan({**CUDA, "pkg.accelerate": "1.99.0"})
    assert newer.best
    assert newer.best.packages["accelerate"].version == "1.99.0"


def test_an_upgrade_takes_the_newest_that_is_known() -> None:
    made = answer(
        machine(CUDA, ("gfx906", False)), load_catalog(MATRIX), order_packages((), "lora", load_catalog(MATRIX)), upgrade=True
    )
    assert made.best
    assert made.best.packages["accelerate"].version == load_catalog(MATRIX).packages["accelerate"].releases[0].version
    newer = {**CUDA, "pkg.accelerate": "1.99.0"}
    made = answer(
        machine(newer, ("gfx906", False)), load_catalog(MATRIX), order_packages((), "lora", load_catalog(MATRIX)), upgrade=True
    )
    assert made.best
    assert made.best.packages["accelerate"].version == "1.99.0", "no release is taken for an older one"


def test_an_upgrade_never_goes_back() -> None:
    """What is installed works and is newer than the stack with the better evidence."""
    facts: dict[str, Value] = {"torch.version": "2.14.1+rocm7.14", "torch.build": "rocm", "torch.rocm": "7.14"}
    there = machine(facts, ("gfx1100", False))
    assert answer(there, load_catalog(MATRIX), upgrade=True).best == answer(there, load_catalog(MATRIX)).best
    made = answer(there, load_catalog(MATRIX), upgrade=True)
    assert made.best
    assert made.best.candidate.build.local == "2.14.1+rocm7.14"


def test_a_part_of_torch_that_is_missing_is_installed() -> None:
    """The same torch without the packages of its GPU code: what `check` finds, not the version, says that it is to be installed."""
    facts: dict[str, Value] = {
        "torch.version": "2.14.0+rocm10.1.0", "torch.build": "rocm", "torch.rocm": "10.1.0", "torch.family": "therock",
        "torch.device_dists": None, "rocm.loaded": "10.1.0",
    }  # fmt: skip
    made = answer(machine(facts, ("gfx1150", True)), load_catalog(MATRIX))
    assert made.best
    assert not made.keeps
    [command] = install(made.best, made.machine)
    assert "torch[device-gfx1150]==2.14.0+rocm10.1.0" in command
    whole = answer(machine({**facts, "torch.device_dists": ("gfx1150",)}, ("gfx1150", True)), load_catalog(MATRIX))
    assert whole.keeps


def test_a_torch_that_is_there_already_stays() -> None:
    made = plan({"pkg.torch": "2.9.1+rocm6.3", "pkg.torchvision": "0.24.1+rocm6.3"})
    assert made.best
    [command] = install(made.best, made.machine)
    assert command[:3] == ("pip", "install", "torch==2.9.1+rocm6.3")
    assert not made.keeps, "peft is missing"
    whole = {"pkg.torch": "2.9.1+rocm6.3", "pkg.peft": "0.21.2", "pkg.accelerate": "1.15.0", "pkg.transformers": "5.23.0"}
    assert plan(dict(whole)).keeps


BITSANDBYTES: dict[str, Value] = {**CUDA, "pkg.bitsandbytes": "0.50.2", "code.bitsandbytes": ("gfx90a",)}


def test_an_installed_package_that_blocks_every_plan_is_named_first_and_left_out() -> None:
    """No bitsandbytes has code for gfx906: with it nothing works, without it nothing else is wrong."""
    made = plan(BITSANDBYTES, "")
    assert made.best
    [blocked] = made.blocked
    assert (blocked.name, blocked.version, blocked.removed) == ("bitsandbytes", "0.50.2", True)
    assert made.by_hand == (), "the plan mends it"
    words = text(made)
    assert words.startswith("bitsandbytes 0.50.2 is in the way")
    assert "pip uninstall -y torch torchvision triton bitsandbytes" in words


def test_what_was_read_of_a_library_for_another_torch_is_no_reason() -> None:
    """Beside a CUDA torch bitsandbytes loads its CUDA library, which says nothing of the one for ROCm."""
    made = answer(machine(BITSANDBYTES, ("gfx1100", False)), load_catalog(MATRIX))
    assert made.best
    assert (made.blocked, made.by_hand) == ((), ())


def test_the_installed_torch_stays_if_another_release_of_a_package_is_enough() -> None:
    have: dict[str, Value] = {"torch.version": "2.9.1+rocm6.3", "torch.build": "rocm", "pkg.torch": "2.9.1+rocm6.3"}
    made = answer(machine({**have, "pkg.bitsandbytes": "0.50.2"}, ("gfx1100", False)), load_catalog(MATRIX))
    assert made.best
    assert made.best.name == "torch 2.9.1+rocm6.3"
    assert [(b.name, b.removed) for b in made.blocked] == [("bitsandbytes", False)]
    assert install(made.best, made.machine) == [("pip", "install", "torch==2.9.1+rocm6.3", "bitsandbytes==0.49.2")]


def test_no_change_is_named_that_does_not_help() -> None:
    """With the packages kept, another Python, driver or kernel leads nowhere: numpy 2 stays in the way of every old torch."""
    blocked = answer(machine({**CUDA, "pkg.bitsandbytes": "0.50.2"}, ("gfx906", False)), load_catalog(MATRIX), ("bitsandbytes",))
    assert not blocked.best
    assert [change.what for change in blocked.nearest if change.what.startswith("with ")] == []


def test_variables_that_harm_or_that_nothing_reads_are_unset() -> None:
    made = plan({"env.HSA_OVERRIDE_GFX_VERSION": "10.3.0", "env.ROCM_DEBUG": "1", "env.HIP_VISIBLE_DEVICES": "0"})
    unset = {v.name: v.why for v in made.variables if v.value is None}
    assert set(unset) == {"HSA_OVERRIDE_GFX_VERSION", "ROCM_DEBUG"}
    assert "nothing reads it" in unset["ROCM_DEBUG"]


def test_a_rocm_that_came_as_packages_goes_with_its_torch() -> None:
    """The driver is too old for the ROCm in the wheels, and fits an older one."""
    have: dict[str, Value] = {"torch.version": "2.14.0+rocm10.1.0", "torch.build": "rocm", "torch.rocm": "10.1.0"}
    have |= {"rocm.version": "10.1.0", "rocm.source": "wheels", "driver.version": "6.8.5", "torch.device_dists": ("gfx942",)}
    made = answer(machine(have, ("gfx942", False)), load_catalog(MATRIX))
    assert made.best
    assert made.best.candidate.build.rocm.startswith("6.")


def test_what_is_wrong_with_the_machine_rejects_no_stack() -> None:
    """No permission to open /dev/kfd: `check` says so whatever is installed, and the plan is the same."""
    denied: dict[str, Value] = {"kfd.openable": False, "kfd.error": "EACCES Permission denied"}
    assert [s.name for s in plan(denied).stacks] == [s.name for s in plan({"kfd.openable": True}).stacks]


def test_a_package_that_stays_is_judged_with_the_new_torch() -> None:
    """torchao 0.18 is installed and needs torch 2.6: the builds before that are out."""
    made = plan({"pkg.torchao": "0.18.0"}, "")
    assert all(tuple(map(int, s.candidate.build.torch.split(".")))[:2] >= (2, 6) for s in made.stacks)
    assert "torchao" in next(r.why for r in made.rejected if r.build.key == "2.4.1+rocm6.1")


def test_the_discrete_card_is_planned_for() -> None:
    found = machine_from_snapshot(
        snapshot({"platform": "linux", "python.version": "3.12"}, ("gfx1036", True), ("gfx1100", False))
    )
    assert found
    assert found.gfx == "gfx1100"


def test_device_code_is_asked_for_each_card() -> None:
    made = answer(machine({}, ("gfx1103", True)), load_catalog(MATRIX))
    both = machine({}, ("gfx1100", False), ("gfx1201", False))
    assert both.targets == ("gfx1100", "gfx1201")
    stack = next(s for s in made.stacks if s.candidate.build.family == "therock")
    assert any(a.startswith("torch[device-gfx1103]==") for a in install(stack, made.machine)[0])
    assert any(a.startswith("torch[device-gfx1100,device-gfx1201]==") for a in install(stack, both)[0])


def test_no_target_no_machine() -> None:
    assert machine_from_snapshot(Snapshot({}, (), gpus_listed=True)) is None


def test_what_is_wrong_with_the_machine_comes_before_python() -> None:
    """The user is in no group that may open /dev/kfd: installing anything first would change nothing."""
    made = plan({"kfd.openable": False, "kfd.error": "Permission denied", "kfd.group": "render"})
    assert made.best
    assert [one.id for one in made.by_hand] == ["access.permission"]
    words = text(made)
    assert words.index("To do by hand") < words.index("pip install")
    assert "usermod" in words


def test_a_machine_in_order_has_no_first_step() -> None:
    assert plan({"kfd.openable": True}).by_hand == ()


def test_a_choice_of_gpus_that_is_wrong_is_cured_by_the_variable_and_by_no_other_torch() -> None:
    """HIP_VISIBLE_DEVICES=0 leaves only the processor's own GPU, for which the installed torch has no code."""
    have: dict[str, Value] = {
        "torch.version": "2.10.0+rocm7.1",
        "torch.build": "rocm",
        "torch.rocm": "7.1",
        "torch.family": "bundled",
    }
    chosen = machine({**have, "env.HIP_VISIBLE_DEVICES": "0"}, ("gfx1036", True), ("gfx1100", False))
    gpus = tuple(Gpu({**gpu.facts, "visible": Fact(n == 0)}) for n, gpu in enumerate(chosen.base.gpus))
    made = answer(msgspec.structs.replace(chosen, base=msgspec.structs.replace(chosen.base, gpus=gpus)), load_catalog(MATRIX))
    assert made.keeps
    assert [(v.name, v.value) for v in made.variables] == [("HIP_VISIBLE_DEVICES", "1")]
