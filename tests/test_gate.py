"""The gate: an installed environment, judged for a GPU that is declared and not here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from called import called
from environments import BNB, FLASH, SITE, environment
from machines import card, open_nodes

import rocm_doctor
from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.pipeline import judge_environment, judge_packages
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.sources.declared import DeclaredMachine, collect_environment
from rocm_doctor.sources.live.python import Interpreter, locate

FIXTURES = Path(__file__).parent.parent / "fixtures"
ROCM = {"torch": "2.9.1+rocm6.4"}
JAX = {"jax": "0.10.2", "jaxlib": "0.10.2", "jax-rocm7-plugin": "0.10.2", "jax-rocm7-pjrt": "0.10.2"}


def resolved(packages: dict[str, str], gpu: str = "gfx1100", **declared: str) -> Report:
    return judge_packages(packages, DeclaredMachine(gpu, **declared), load(), python="3.12")


def errors(report: Report) -> list[str]:
    return [f.id for f in report.findings if f.severity == "error" and f.leads]


def test_a_resolved_rocm_torch_has_code_for_the_target_and_what_only_a_machine_tells_is_named() -> None:
    report = resolved(ROCM)
    assert (report.verdict, report.kind, report.questions) == ("ready", "environment", ())
    assert report.summary.startswith("this environment has code for gfx1100: torch 2.9.1+rocm6.4; not judged")
    assert [c.name for c in report.checks if c.state == "not-judged"] == ["driver", "access"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_a_declared_gpu(form: str) -> None:
    assert "gfx1100" in render(form, resolved(ROCM), RenderOptions())


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
    assert (report.verdict, errors(report), report.questions) == ("undetermined", [], ())


def test_cuda_packages_of_something_else_do_not_make_a_rocm_torch_a_cuda_torch() -> None:
    beside = {"nvidia-cublas-cu12": "12.8.4.1"}
    assert errors(resolved(ROCM | beside)) == []
    assert "torch 2.9.1+cpu is a CPU build" in resolved({"torch": "2.9.1+cpu"} | beside).summary


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
    windows = resolved(ROCM, driver="25.11.1", os="windows").snapshot
    assert [windows.get(name).value for name in ("driver.windows", "platform", "wsl")] == ["25.11.1", "windows", False]


def read(folder: Path, **variables: str) -> list[Artifact]:
    """What is read of an environment, with these variables in force."""
    examined = locate(str(folder), Path("/"), {})
    assert isinstance(examined, Interpreter), examined
    return collect_environment(examined, Path("/"), variables)


def judged(folder: Path, gpu: str, **variables: str) -> Report:
    return judge_environment(read(folder, **variables), DeclaredMachine(gpu), load())


ROCM64 = {"torch": "2.9.1+rocm6.4", "pytorch-triton-rocm": "3.5.1"}
# What stops training in repositories that were read by hand, as their built environment shows it.
STOPPERS = {
    "a list for AMD with a plain torch": ("gfx1100", {"torch": "2.9.1"}, {}, {}, "version.torch-not-rocm", "error"),
    "an old pin of the CUDA index": ("gfx942", {"torch": "1.7.1+cu101"}, {}, {}, "version.torch-not-rocm", "error"),
    "vllm of the package index brought a CUDA torch": (
        "gfx942", {"torch": "2.9.1", "vllm": "0.11.2", "xformers": "0.0.33"}, {}, {}, "version.torch-not-rocm", "error"),
    "an override in the image, of another family": (
        "gfx1100", ROCM64, {}, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, "arch.override-wrong", "error"),
    "an override in the image, for an Instinct": (
        "gfx942", ROCM64, {}, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, "arch.override-wrong", "error"),
    "an override that is set and empty": (
        "gfx1100", {"torch": "2.9.1+rocm6.3"}, {}, {"HSA_OVERRIDE_GFX_VERSION": ""}, "arch.override-wrong", "error"),
    "a variable that hides every GPU": (
        "gfx1100", ROCM64, {}, {"ROCR_VISIBLE_DEVICES": "all"}, "access.visible-devices", "error"),
    "a torch from the index of another GPU": (
        "gfx1100", {"torch": "2.9.1+rocm7.10.0"}, {"torch/lib/libtorch_hip.so": ["gfx1151"]}, {}, "arch.not-in-build", "error"),
    "a torch from before the GPU": ("gfx1100", {"torch": "1.13.1+rocm5.2"}, {}, {}, "arch.not-in-build", "error"),
    "a torch from before the accelerator": ("gfx942", {"torch": "2.1.0+rocm5.6"}, {}, {}, "arch.not-in-build", "error"),
    "bitsandbytes built for one GPU": ("gfx1100", ROCM64 | {"bitsandbytes": "0.49.2"}, {BNB: ["gfx942"]}, {}, "lib.bitsandbytes", "warning"),
    "flash-attn built for the next accelerator": (
        "gfx942", ROCM64 | {"flash-attn": "2.8.3"}, {FLASH: ["gfx950"]}, {}, "lib.flash-attn", "warning"),
    "vllm built for Instinct": (
        "gfx1100", ROCM64 | {"vllm": "0.11.2"}, {"vllm/_C.abi3.so": ["gfx942", "gfx950"]}, {}, "arch.not-in-build", "warning"),
    "aiter built for Instinct": ("gfx1100", ROCM64 | {"amd-aiter": "0.1.7"}, {"aiter/jit/m.so": ["gfx942"]}, {}, "lib.aiter", "warning"),
    "an xformers for CUDA": ("gfx1100", {"torch": "2.2.2+rocm5.7", "xformers": "0.0.24"}, {}, {}, "lib.xformers", "warning"),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPPERS)
def test_a_stopper_is_named_in_the_environment_that_was_built(tmp_path: Path, name: str) -> None:
    gpu, packages, code, variables, diagnosis, severity = STOPPERS[name]
    report = judged(environment(tmp_path / "venv", packages, code), gpu, **variables)
    assert (diagnosis, severity) in [(f.id, f.severity) for f in report.findings], report.summary
    assert report.verdict == "problems"


ALL = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"]


@pytest.mark.parametrize(
    ("packages", "code", "gpu"),
    [
        (ROCM64, {}, "gfx1100"),
        (ROCM64 | {"bitsandbytes": "0.49.2"}, {BNB: ALL}, "gfx942"),
        ({"torch": "2.9.1+rocm7.10.0"}, {"torch/lib/libtorch_hip.so": ["gfx1151"]}, "gfx1151"),
        (JAX, {"jax_plugins/xla_rocm7/xla_rocm_plugin.so": ALL}, "gfx942"),
        (JAX | {"torch": "2.9.1+cpu"}, {"jax_plugins/xla_rocm7/xla_rocm_plugin.so": ALL}, "gfx1100"),
    ],
)
def test_a_healthy_environment_has_code_for_its_target(
    tmp_path: Path, packages: Mapping[str, str], code: Mapping[str, Sequence[str]], gpu: str
) -> None:
    report = judged(environment(tmp_path / "venv", packages, code), gpu, HIP_VISIBLE_DEVICES="1")
    assert (report.verdict, errors(report)) == ("ready", []), report.summary
    assert report.summary.startswith(f"this environment has code for {gpu}: ")


def test_the_report_names_the_target_and_the_framework_in_the_place_of_a_machine(tmp_path: Path) -> None:
    plugin = {"jax_plugins/xla_rocm7/xla_rocm_plugin.so": ["gfx1100"]}
    text = render("text", judged(environment(tmp_path / "venv", JAX, plugin), "gfx1100"), RenderOptions())
    assert "  for    Navi 31 (gfx1100)\n" in text
    assert "  ✓ JAX        0.10.2, built for ROCm 7\n  ✓ GPU code   JAX has kernels for gfx1100\n" in text
    [found] = [f for f in resolved(ROCM, "gfx906").findings if f.id == "arch.blas-missing"]
    assert (found.subject, found.subject_kind) == ("gfx906", "target")


def test_a_jax_plugin_of_which_no_code_is_known_is_not_called_ready(tmp_path: Path) -> None:
    assert judged(environment(tmp_path / "venv", JAX), "gfx1100").verdict == "undetermined"


def image(root: Path, packages: Mapping[str, str], at: str = "opt/venv") -> Path:
    """An unpacked image whose links are absolute, as Debian's and ROCm's images have them."""
    venv = environment(root / "data" / "venv", packages)
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to("/usr/bin/python3")
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "python3.12").write_bytes(b"")
    (root / "usr" / "bin" / "python3").symlink_to("/usr/bin/python3.12")
    (root / at).parent.mkdir(parents=True, exist_ok=True)
    (root / at).symlink_to("/data/venv")
    (root / "usr/lib/python3/dist-packages/numpy-1.26.4.dist-info").mkdir(parents=True)
    (root / "etc" / "alternatives").mkdir(parents=True)
    (root / "usr" / "lib" / "os-release").write_text('PRETTY_NAME="Ubuntu 24.04.2 LTS"\n')
    (root / "etc" / "os-release").symlink_to("/usr/lib/os-release")
    (root / "opt" / "rocm-6.4.0" / ".info").mkdir(parents=True)
    (root / "opt" / "rocm-6.4.0" / ".info" / "version").write_text("6.4.0-47\n")
    (root / "etc" / "alternatives" / "rocm").symlink_to("/opt/rocm-6.4.0")
    (root / "opt" / "rocm").symlink_to("/etc/alternatives/rocm")
    return root


def check(*args: str) -> tuple[int, dict[str, Any]]:
    done = called("check", "--format", "json", "--no-redact", *args)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_an_unpacked_image_is_read_below_its_root_and_never_started(tmp_path: Path) -> None:
    root = image(tmp_path / "image", ROCM64)
    (tmp_path / "rocm-9.9.0" / ".info").mkdir(parents=True)
    (tmp_path / "rocm-9.9.0" / ".info" / "version").write_text("9.9.0")
    (root / "opt" / "rocm-9.9.0").symlink_to(tmp_path / "rocm-9.9.0")
    code, report = check("--gpu", "RX 7900 XTX", "--root", str(root), "--python", "/opt/venv")
    facts = report["snapshot"]["facts"]
    assert (code, report["verdict"], report["source"]) == (0, "ready", f"{root} for gfx1100")
    assert [facts[name]["value"] for name in ("os", "rocm.version", "python.version")] == [
        "Ubuntu 24.04.2 LTS",
        "6.4.0",
        "3.12.3",
    ]
    assert facts["rocm.version"]["readings"][0]["artifact"] == "opt/rocm-6.4.0/.info/version"
    assert "kernel" not in facts
    assert "9.9.0" not in json.dumps(report)
    assert not [name for name in facts if name.startswith("env.")]


def test_the_root_may_be_the_one_that_is_mounted_here(tmp_path: Path) -> None:
    code, report = check("--gpu", "gfx1100", "--root", "/", "--python", str(environment(tmp_path / "venv", ROCM64)))
    assert (code, report["verdict"]) == (0, "ready")


def test_the_systems_own_python_of_an_image_is_found_without_being_named(tmp_path: Path) -> None:
    code, report = check("--gpu", "gfx1100", "--root", str(image(tmp_path / "image", ROCM64)))
    assert code == 1
    assert [f["id"] for f in report["findings"]] == ["version.no-framework"]
    assert report["snapshot"]["facts"]["pkg.numpy"]["value"] == "1.26.4"


def test_a_link_out_of_an_image_ends_inside_of_it(tmp_path: Path) -> None:
    outside = environment(tmp_path / "outside", {"torch": "2.9.1+rocm6.4"})
    root = image(tmp_path / "image", {"torch": "2.9.1+cpu"}, at="opt/good")
    (root / "opt" / "venv").symlink_to(outside)
    done = called("check", "--gpu", "gfx1100", "--root", str(root), "--python", "opt/venv")
    assert done.returncode == 2
    assert f"opt/venv in {root}: no Python with packages found" in done.stderr


def test_a_link_of_an_image_that_leads_to_itself_leads_nowhere(tmp_path: Path) -> None:
    """Here the same absolute link leads to packages of this machine."""
    outside = environment(tmp_path / "outside", ROCM64)
    inside = environment(tmp_path / "image" / outside.relative_to("/"), {})
    (inside / "bin" / "python").unlink()
    (inside / "bin" / "python").touch()
    link = inside / SITE
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / SITE)
    assert (link / "torch").is_dir()
    done = called("check", "--gpu", "gfx1100", "--root", str(tmp_path / "image"), "--python", str(outside))
    assert (done.returncode, "no Python with packages found" in done.stderr) == (2, True), done.stdout


def test_each_target_has_a_verdict_in_every_format_of_a_pipeline(tmp_path: Path) -> None:
    venv = environment(tmp_path / "venv", ROCM64)
    out = {name: tmp_path / name for name in ("json", "junit", "sarif", "markdown", "github")}
    formats = [part for name, path in out.items() for part in ("--format", name, "-o", str(path))]
    done = called("check", "--gpu", "gfx1100", "--gpu", "gfx906", "--python", str(venv), *formats)
    assert done.returncode == 1, done.stderr
    both = json.loads(out["json"].read_text())
    assert [one["verdict"] for one in both["machines"]] == ["ready", "problems"]
    assert both["summary"]["words"].startswith("2 targets: 1 ready, 1 with problems")
    suites = ElementTree.parse(out["junit"]).findall("testsuite")
    assert [[p.get("value") for p in suite.iter("property") if p.get("name") == "not judged"] for suite in suites] == [
        ["driver", "access"]
    ] * 2
    assert [suite.get("failures") for suite in suites] == ["0", "1"]
    assert (
        "this environment has code for gfx1100: torch 2.9.1+rocm6.4; not judged without the machine: driver"
        in out["junit"].read_text()
    )
    runs = json.loads(out["sarif"].read_text())["runs"]
    assert [run["automationDetails"]["id"] for run in runs] == ["rocm-doctor/gfx1100/", "rocm-doctor/gfx906/"]
    assert "::error title=rocm-doctor%3A arch.blas-missing::" in out["github"].read_text()


def test_targets_are_taken_from_the_folder_and_an_option_counts_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    venv = environment(tmp_path / "venv", ROCM64)
    assert called("check", "--gpu", "declared").returncode == 2
    (tmp_path / "rocm-doctor.yaml").write_text("targets:\n  card: {gpu: RX 7900 XTX, rocm: '6.3', driver: '6.10.5', os: wsl}\n")
    _, report = check("--gpu", "declared", "--python", str(venv), "--rocm", "6.4", "--kernel", "6.8.0")
    facts = report["snapshot"]["facts"]
    names = ("rocm.version", "driver.version", "wsl", "kernel")
    assert [facts[name]["value"] for name in names] == ["6.4", "6.10.5", True, "6.8.0"]
    assert facts["declared"]["readings"][0]["artifact"] == "rocm-doctor.yaml line 2"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--gpu", "gfx1100", "--python", "/no/such/python"], "no Python found"),
        (["--gpu", "gfx9999"], "is not one GPU of the catalog"),
        (["--rocm", "6.4"], "name its GPU"),
        (["--root", "/"], "name its GPU"),
        (["--gpu", "gfx1100", "README.md"], "cannot be combined"),
    ],
)
def test_what_cannot_be_judged_is_a_usage_error(args: list[str], words: str) -> None:
    done = called("check", *args)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_the_same_is_asked_from_python(tmp_path: Path) -> None:
    venv = environment(tmp_path / "venv", {"torch": "2.9.1"})
    report = rocm_doctor.check(gpu="RX 7900 XTX", python=str(venv))
    assert (report.summary, report.kind) == ("for gfx1100: torch 2.9.1 is a CUDA build", "environment")
    assert rocm_doctor.check(gpu="gfx1100", python=str(venv), ignore=["version.torch-not-rocm"]).findings == ()
    for wrong in ({"gpu": "gfx9"}, {"gpu": "gfx1100", "python": "/no/such"}):
        with pytest.raises(ValueError, match=r"gfx9|no Python found"):
            rocm_doctor.check(**wrong)


def test_nothing_of_this_machine_is_read(tmp_path: Path) -> None:
    _, report = check("--gpu", "gfx1100", "--python", str(environment(tmp_path / "venv", ROCM64)))
    facts = report["snapshot"]["facts"]
    assert not {"kernel", "cpu", "ram_bytes", "kfd.exists", "pci.gpus", "host.id", "user.groups", "shm_bytes"} & set(facts)
    assert report["host"] == ""


@pytest.mark.parametrize(("packages", "code"), [({"torch": "2.9.1"}, 1), ({"torch": "2.9.1+cpu"}, 1), ({"numpy": "2.3.5"}, 1)])
def test_a_strict_audit_for_a_gpu_fails_without_a_framework_for_it(
    tmp_path: Path, packages: Mapping[str, str], code: int
) -> None:
    venv = str(environment(tmp_path / "venv", packages))
    assert [called("audit", "--gpu", "gfx1100", *strict, "--python", venv).returncode for strict in ([], ["--strict"])] == [
        0,
        code,
    ]


def test_a_strict_audit_passes_where_a_framework_has_the_code(tmp_path: Path) -> None:
    venv = environment(tmp_path / "venv", ROCM64, {"torch/lib/libtorch_hip.so": ["gfx1100"]})
    assert called("audit", "--gpu", "gfx1100", "--strict", "--python", str(venv)).returncode == 0


def told(report: Report) -> set[tuple[str, ...]]:
    return {(f.id, f.row, f.severity, f.confidence, f.title) for f in report.findings}


ENVIRONMENT = ("py/", "code/", "env", "opt/", "usr/", "etc/os-release")
"""Beginnings of the artifacts that an environment has, too."""


@pytest.mark.parametrize(
    "name", sorted(path.name for path in FIXTURES.iterdir() if (path / "artifacts").is_dir() or (path / "py").is_dir())
)
def test_a_machine_and_its_environment_alone_are_judged_alike(name: str) -> None:
    """What the machine adds rests on something beside the environment: its driver, its log, its link."""
    artifacts = pipeline.read_paths([FIXTURES / name])
    machine = pipeline.judge(artifacts, load(), kind="capture")
    environment_ = [a for a in artifacts if a.name.startswith(ENVIRONMENT)]
    gates = [judge_environment(environment_, DeclaredMachine(str(g.get("gfx").value)), load()) for g in machine.snapshot.gpus]
    assert gates
    of_gates = set().union(*map(told, gates))
    assert of_gates <= told(machine)
    for one in machine.findings:
        if (one.id, one.row, one.severity, one.confidence, one.title) not in of_gates:
            beside = [r for r in one.evidence if not r.artifact.startswith((*ENVIRONMENT, "matrix"))]
            assert beside, one.title


@pytest.mark.parametrize("name", STOPPERS)
def test_an_environment_is_judged_alike_on_the_machine_that_was_declared(tmp_path: Path, name: str) -> None:
    gpu, packages, code, variables, *_ = STOPPERS[name]
    artifacts = read(environment(tmp_path / "venv", packages, code), **variables)
    machine = pipeline.judge([*card(gpu), *open_nodes(), *artifacts], load())
    gate = judge_environment(artifacts, DeclaredMachine(gpu, os=""), load())
    assert {f.id for f in gate.findings} == {f.id for f in machine.findings}
    assert told(gate) == told(machine)
