"""From files on disk to findings: an environment is audited, the audit becomes facts, the rules judge them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from forge_binaries import elf, gpu_bundle, kpack_reference, library
from test_binaries_audit import HIP_63, build, torch_env

from rocm_doctor.binaries.audit import artifact, audit_environment, audit_folder
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot
from rocm_doctor.probes.python import code
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.rules.arch import code_for_the_card
from rocm_doctor.rules.code import extensions_without_code, foreign_rocm, lacks, torch_without_device_code
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.override import override

MATRIX = load()


def machine(site: Path, *cards: str, apu: str = "", **env: str) -> Snapshot:
    """A snapshot of these cards and what was found in the files of the environment."""
    found = dict(code.probe(Artifacts([artifact(audit_environment(site))])).facts)
    said = {"torch.build": "rocm", "torch.version": "2.9.1+rocm6.3", "torch.hip": "6.3.42134", "pkg.bitsandbytes": "0.50.2"}
    facts = {
        name: Fact(value, (Reading("here", name, value),))
        for name, value in {**said, **{f"env.{k}": v for k, v in env.items()}}.items()
    }
    gpus = [
        Gpu({"gfx": Fact(c, (Reading("kfd", "gfx", c),)), "is_apu": Fact(c == apu)}) for c in (*cards, *([apu] if apu else []))
    ]
    return Snapshot({**facts, **found}, tuple(gpus), True)


def test_torch_has_the_card_and_its_rocblas_has_not(tmp_path: Path) -> None:
    """The trap that an arch list hides: gfx906 code in torch, no gfx906 kernels in rocBLAS, so the first product aborts."""
    found = list(code_for_the_card(machine(torch_env(tmp_path), "gfx906"), MATRIX))
    assert [(f.id, f.confidence) for f in found] == [("arch.blas-missing", "high")]
    assert "torch/lib/rocblas/library" in {e.place for e in found[0].evidence}


def test_a_card_that_everything_serves_gives_no_finding(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    (site / "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so").unlink()
    snapshot = machine(site, "gfx1100")
    for rule in (code_for_the_card, extensions_without_code, torch_without_device_code, foreign_rocm):
        assert list(rule(snapshot, MATRIX)) == []


def test_bitsandbytes_lacks_the_card(tmp_path: Path) -> None:
    found = [f for f in extensions_without_code(machine(torch_env(tmp_path), "gfx906"), MATRIX) if f.id == "lib.bitsandbytes"]
    assert [(f.title, f.severity) for f in found] == [("bitsandbytes has no code for gfx906", "warning")]
    assert found[0].evidence[-1].place == "bitsandbytes/libbitsandbytes_rocm64.so"
    assert "outrank" in found[0].cause


def test_the_override_decides_what_the_loader_looks_for(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    assert lacks(machine(site, "gfx1101"), "bitsandbytes", "gfx1101")
    assert not lacks(machine(site, "gfx1101", HSA_OVERRIDE_GFX_VERSION="11.0.0"), "bitsandbytes", "gfx1101")
    assert lacks(machine(site, "gfx1100", HSA_OVERRIDE_GFX_VERSION="10.3.0"), "bitsandbytes", "gfx1100")


def test_override_makes_the_loader_take_code_of_another_isa(tmp_path: Path) -> None:
    snapshot = machine(torch_env(tmp_path), "gfx906", HSA_OVERRIDE_GFX_VERSION="11.0.0")
    assert "arch.override-wrong" in [f.id for f in override(snapshot, MATRIX)]


def test_extension_for_another_rocm_major(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    found = {f.subject: f for f in foreign_rocm(machine(site, "gfx1100"), MATRIX)}
    assert set(found) == {"flash-attn"}
    assert found["flash-attn"].id == "version.rocm-mismatch"
    assert "libamdhip64.so.7" in found["flash-attn"].title
    assert found["flash-attn"].evidence[0].artifact == "code/audit.json"


def test_unknown_sonames_and_torch_without_hip_are_not_judged(tmp_path: Path) -> None:
    site = build(tmp_path, {"xformers/_C.so": library(gpu_bundle("gfx1100"), needed=("libMIOpen.so.1", "libamdhip64.so"))})
    snapshot = machine(site, "gfx1100")
    assert list(foreign_rocm(snapshot, MATRIX)) == []
    no_hip = msgspec.structs.replace(snapshot, facts={**snapshot.facts, "torch.hip": Fact(None)})
    assert list(foreign_rocm(no_hip, MATRIX)) == []


def test_torch_whose_code_was_left_out(tmp_path: Path) -> None:
    split = elf({".hip_fatbin": 1 << 20, ".rocm_kpack_ref": kpack_reference("lib/libtorch_hip.so")})
    site = build(tmp_path, {"torch/lib/libtorch_hip.so": split, "torch/version.py": HIP_63})
    found = list(torch_without_device_code(machine(site, "gfx1151"), MATRIX))
    assert [(f.id, f.severity) for f in found] == [("arch.not-in-build", "error")]
    assert "amd-torch-device-gfx1151" in found[0].advice


def test_integrated_gpu_beside_a_card_is_not_judged(tmp_path: Path) -> None:
    found = list(extensions_without_code(machine(torch_env(tmp_path), "gfx1100", apu="gfx1036"), MATRIX))
    assert {(f.id, f.subject) for f in found} == {("lib.flash-attn", "GPU 0 (gfx1100)")}
    alone = list(extensions_without_code(machine(torch_env(tmp_path), apu="gfx1036"), MATRIX))
    assert {f.id for f in alone} == {"lib.bitsandbytes", "lib.flash-attn"}


def test_rccl_counts_where_there_are_several_cards(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    build(site, {"torch/lib/librccl.so": library(gpu_bundle("gfx1100", "gfx90a"))})
    assert "dist.rccl" not in {f.id for f in extensions_without_code(machine(site, "gfx1103"), MATRIX)}
    both = [f for f in extensions_without_code(machine(site, "gfx1103", "gfx1100"), MATRIX) if f.id == "dist.rccl"]
    assert [f.subject for f in both] == ["GPU 0 (gfx1103)"]


def test_damaged_or_missing_evidence_accuses_nobody(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    path = site / "bitsandbytes/libbitsandbytes_rocm64.so"
    path.write_bytes(path.read_bytes()[:-100])
    found = [f.id for f in extensions_without_code(machine(site, "gfx906"), MATRIX)]
    assert "lib.bitsandbytes" not in found


def test_a_row_and_the_files_that_say_the_same_are_one_finding(tmp_path: Path) -> None:
    """The row by version and the rule by code objects name one cause on one card: the second is folded under the first."""
    snapshot = machine(torch_env(tmp_path), "gfx906")
    found, _ = judge(snapshot, Logs([]), MATRIX, [extensions_without_code])
    ours = [f for f in found if f.id == "lib.bitsandbytes"]
    assert len([f for f in ours if not f.follows_from]) == 1
    assert {"code/audit.json"} <= {e.artifact for f in ours for e in f.evidence}


FRAMEWORKS = {
    "jax_plugins/xla_rocm7/xla_rocm_plugin.so": "jax-rocm-pjrt",
    "tensorflow/libtensorflow_cc.so.2": "tensorflow",
    "llama_cpp/lib/libggml-hip.so": "ggml-hip",
    "vllm/_rocm_C.abi3.so": "vllm",
    "sgl_kernel/common_ops.abi3.so": "sgl-kernel",
}


@pytest.mark.parametrize("path", FRAMEWORKS)
def test_a_framework_or_engine_without_the_card_is_found(tmp_path: Path, path: str) -> None:
    """Read without a full audit, as `check` does. A server that was installed is meant to run; a framework may be one of several."""
    site = build(tmp_path, {path: library(gpu_bundle("gfx942", "gfx1100"))})
    name = FRAMEWORKS[path]
    assert machine(site, "gfx1100").get(f"code.{name}").value == ("gfx942", "gfx1100")
    assert not list(extensions_without_code(machine(site, "gfx1100"), MATRIX))
    (found,) = extensions_without_code(machine(site, "gfx1201"), MATRIX)
    severity = "warning" if name in ("vllm", "sgl-kernel") else "note"
    assert (found.id, found.severity, found.title) == ("arch.not-in-build", severity, f"{name} has no code for gfx1201")


def test_the_backend_in_ollamas_folder_is_llama_cpps(tmp_path: Path) -> None:
    place = build(tmp_path, {"rocm_v7_2/libggml-hip.so": library(gpu_bundle("gfx1100"))})
    assert [(h.library, h.targets) for h in audit_folder(place).holdings] == [("ggml-hip", ("gfx1100",))]
