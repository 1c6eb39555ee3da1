"""The gate: an installed environment, judged for a GPU that is declared and not here."""

from __future__ import annotations

import pytest

from rocm_doctor.matrix import load
from rocm_doctor.model import Report
from rocm_doctor.pipeline import judge_packages
from rocm_doctor.sources.declared import Target

ROCM = {"torch": "2.9.1+rocm6.4"}
JAX = {"jax": "0.10.2", "jaxlib": "0.10.2", "jax-rocm7-plugin": "0.10.2", "jax-rocm7-pjrt": "0.10.2"}


def resolved(packages: dict[str, str], gpu: str = "gfx1100", **declared: str) -> Report:
    return judge_packages(packages, Target(gpu, **declared), load(), python="3.12")


def errors(report: Report) -> list[str]:
    return [f.id for f in report.findings if f.severity == "error" and f.leads]


def test_a_resolved_rocm_torch_has_code_for_the_target_and_what_only_a_machine_tells_is_named() -> None:
    report = resolved(ROCM)
    assert (report.verdict, report.kind, report.questions) == ("ready", "environment", ())
    assert report.summary.startswith("this environment has code for gfx1100: torch 2.9.1+rocm6.4; not judged")
    assert [c.name for c in report.checks if c.state == "not-judged"] == ["driver", "access", "link", "memory"]


@pytest.mark.parametrize(
    ("packages", "gpu", "diagnosis"),
    [
        ({"torch": "2.9.1+cu128"}, "gfx1100", "version.torch-not-rocm"),
        ({"torch": "2.9.1", "nvidia-cublas-cu12": "12.8.4.1"}, "gfx1100", "version.torch-not-rocm"),
        ({"torch": "2.9.1+cpu"}, "gfx1100", "version.torch-not-rocm"),
        ({"numpy": "2.3.5"}, "gfx1100", "version.no-framework"),
        ({"jax": "0.10.2", "jaxlib": "0.10.2"}, "gfx1100", "version.no-framework"),
        ({"tensorflow": "2.17.0"}, "gfx942", "version.no-framework"),
        (JAX | {"jax-rocm7-pjrt": "0.9.1"}, "gfx942", "version.package-mismatch"),
        (ROCM, "gfx906", "arch.blas-missing"),
        (ROCM | {"torchvision": "0.22.0"}, "gfx1100", "version.companion-mismatch"),
    ],
)
def test_a_resolved_environment_that_cannot_train_is_an_error(packages: dict[str, str], gpu: str, diagnosis: str) -> None:
    assert diagnosis in errors(resolved(packages, gpu))


@pytest.mark.parametrize("packages", [{"torch": "2.9.1"}, JAX])
def test_what_the_packages_do_not_tell_is_undetermined(packages: dict[str, str]) -> None:
    report = resolved(packages)
    assert (report.verdict, errors(report)) == ("undetermined", [])


def test_cuda_packages_of_something_else_do_not_make_a_rocm_torch_a_cuda_torch() -> None:
    assert errors(resolved(ROCM | {"nvidia-cublas-cu12": "12.8.4.1"})) == []


def test_a_cpu_torch_beside_jax_for_amd_is_no_error() -> None:
    found = resolved(JAX | {"torch": "2.9.1+cpu"})
    assert [(f.id, f.severity) for f in found.findings if f.id == "version.torch-not-rocm"] == [
        ("version.torch-not-rocm", "note")
    ]


def test_what_is_declared_beside_the_gpu_is_judged() -> None:
    facts = resolved(ROCM, rocm="6.4", driver="inbox", kernel="6.8.0", os="wsl").snapshot
    values = [facts.get(name).value for name in ("rocm.version", "driver.version", "kernel", "platform", "wsl")]
    assert values == ["6.4", None, "6.8.0", "linux", True]
    assert all(r.origin == "target" for r in facts.get("kernel").readings)
