"""Whole places: environments, folders, wheels; kernel files by their names; the audit as an artifact and its facts."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from forge_binaries import ccob, code_object, elf, gpu_bundle, kpack, kpack_reference, library, padded
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.binaries import audit as audits
from rocm_doctor.binaries import bitsandbytes
from rocm_doctor.binaries.kernels import kernel_holdings
from rocm_doctor.binaries.names import library_name, may_hold_code
from rocm_doctor.binaries.types import Audit, Holding
from rocm_doctor.binaries.wheel import audit_wheel
from rocm_doctor.model import Fact, Unknown
from rocm_doctor.probes.python import code
from rocm_doctor.probes.read.result import Artifacts

HIP_63 = "__version__ = '2.9.1+rocm6.3'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.3.42134-a9a80e791'\n"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads peak memory from /proc")
BNB = ("rocm64", "rocm70", "rocm72", "rocm714", "rocm715")


def build(root: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def hip_of(version: str) -> str:
    return f"libamdhip64.so.{version.removeprefix('rocm')[0]}"


def torch_env(root: Path, hip: str = HIP_63) -> Path:
    """A family A environment: torch has code for gfx906, its rocBLAS has none."""
    return build(
        root,
        {
            "torch/version.py": hip,
            "torch-2.9.1+rocm6.3.dist-info/METADATA": "Name: torch",
            "torch/lib/libtorch_hip.so": library(gpu_bundle("gfx906", "gfx1100"), ccob(3, gpu_bundle("gfx1100"))),
            "torch/lib/libtorch_cpu.so": elf({".text": b"host"}),
            "torch/lib/librocblas.so": library(gpu_bundle("gfx906", "gfx1100")),
            "torch/lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat": "",
            "torch/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat": "",
            "torch/lib/rocblas/library/TensileLibrary_Type_HH_fallback_gfx906.hsaco": "",
            "bitsandbytes-0.50.2.dist-info/METADATA": "Name: bitsandbytes",
            **{
                f"bitsandbytes/libbitsandbytes_{v}.so": library(gpu_bundle("gfx1100", "gfx1201"), needed=(hip_of(v),))
                for v in BNB
            },
            "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so": library(gpu_bundle("gfx90a"), needed=("libamdhip64.so.7",)),
            "numpy/core/x.so": elf({".text": b"host"}),
            "other/kernels/gemm.co": code_object(0x3F | 0x300),
        },
    )


def facts(audit: Audit) -> dict[str, Fact]:
    return code.probe(Artifacts([audits.artifact(audit)])).facts


def values(audit: Audit) -> dict[str, object]:
    return {name: fact.value for name, fact in facts(audit).items()}


def by_path(audit: Audit) -> dict[str, Holding]:
    return {h.path: h for h in audit.holdings}


@pytest.mark.parametrize("everything", [False, True])
def test_environment(tmp_path: Path, everything: bool) -> None:
    audit = audits.audit_environment(torch_env(tmp_path), everything=everything)
    assert audit.torch_hip == "6.3.42134-a9a80e791"
    assert audit.versions == {"torch": "2.9.1+rocm6.3", "bitsandbytes": "0.50.2"}
    found = values(audit)
    assert found["code.torch"] == ("gfx906", "gfx1100")
    assert found["code.rocblas"] == ("gfx1030", "gfx1100")
    assert found["code.flash-attn"] == ("gfx90a",)
    assert found["soname.flash-attn"] == ("libamdhip64.so.7",)
    assert found["code.bitsandbytes"] == ("gfx1100", "gfx1201")
    assert ("code.other" in found) is everything


def test_two_site_folders_the_first_one_wins(tmp_path: Path) -> None:
    first = build(tmp_path / "user", {"torch/lib/libtorch_hip.so": library(gpu_bundle("gfx1201"))})
    audit = audits.audit_environment([first, torch_env(tmp_path / "system")])
    assert values(audit)["code.torch"] == ("gfx1201",)
    assert values(audit)["code.rocblas"] == ("gfx1030", "gfx1100")


def test_a_torch_that_brings_no_rocblas_uses_the_one_of_the_system(tmp_path: Path) -> None:
    site = build(tmp_path / "site", {"torch/lib/libtorch_hip.so": library(gpu_bundle("gfx906"))})
    rocm = build(tmp_path / "opt/rocm", {"lib/rocblas/library/TensileLibrary_lazy_gfx942.dat": ""})
    assert values(audits.audit_environment(site, rocm=[rocm]))["code.rocblas"] == ("gfx942",)
    build(site, {"torch/lib/rocblas/library/TensileLibrary_lazy_gfx906.dat": ""})
    assert values(audits.audit_environment(site, rocm=[rocm]))["code.rocblas"] == ("gfx906",)


def test_split_torch_finds_its_code_in_the_archives(tmp_path: Path) -> None:
    split = elf({".hip_fatbin": 1 << 20, ".rocm_kpack_ref": kpack_reference("lib/libtorch_hip.so")})
    site = build(tmp_path, {"torch/lib/libtorch_hip.so": split, "torch/version.py": HIP_63})
    assert facts(audits.audit_environment(site))["code.torch"].value == ()
    build(
        site,
        {
            "torch/.kpack/torch_gfx90a:xnack+.kpack": kpack(
                {"lib/libtorch_hip.so": {"gfx90a:xnack+": {}}, "lib/x.so": {"gfx906": {}}}
            ),
            "torch/.kpack/torch_gfx1100.kpack": kpack({"lib/libtorch_hip.so": {"gfx1100": {}}}),
        },
    )
    found = values(audits.audit_environment(site))
    assert found["code.torch"] == ("gfx90a", "gfx1100")
    assert found["code.torch.ids"] == ("gfx90a:xnack+", "gfx1100")


def test_damage_makes_the_fact_unknown_and_keeps_the_rest(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    whole = (site / "torch/lib/libtorch_hip.so").read_bytes()
    (site / "torch/lib/libtorch_hip.so").write_bytes(whole.replace(b"CCOB\x03", b"CCOB\x09"))
    fact = facts(audits.audit_environment(site))["code.torch"]
    assert isinstance(fact.value, Unknown)
    assert fact.value.why == "unparsed"
    assert "version 9" in fact.readings[0].quote
    assert values(audits.audit_environment(site))["code.rocblas"] == ("gfx1030", "gfx1100")


@pytest.mark.skipif(sys.platform == "win32", reason="no permission bits")
def test_unreadable_file_is_denied_not_absent(tmp_path: Path) -> None:
    site = torch_env(tmp_path)
    path = site / "torch/lib/libtorch_hip.so"
    path.unlink()
    path.mkdir()
    (site / "bitsandbytes/libbitsandbytes_rocm64.so").unlink()
    (site / "bitsandbytes/libbitsandbytes_rocm64.so").symlink_to(site / "nowhere.so")
    holding = by_path(audits.audit_environment(site))["bitsandbytes/libbitsandbytes_rocm64.so"]
    assert (holding.why, bool(holding.problem)) == ("denied", True)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("everything", [False, True])
def test_links(tmp_path: Path, everything: bool) -> None:
    """Some installers link whole packages, ROCm links versions of a library; a link to a parent is followed once."""
    cache = build(tmp_path / "cache", {"torch/lib/libtorch_hip.so.1": library(gpu_bundle("gfx1100"))})
    (cache / "torch/lib/libtorch_hip.so").symlink_to("libtorch_hip.so.1")
    (cache / "torch/loop").symlink_to(cache)
    site = tmp_path / "site"
    site.mkdir()
    (site / "torch").symlink_to(cache / "torch")
    audit = audits.audit_environment(site, everything=everything)
    assert [h.path for h in audit.holdings if "loop" not in h.path] == ["torch/lib/libtorch_hip.so.1"]
    assert len(audit.holdings) <= 2


def test_partial_targets_are_told_in_the_reading(tmp_path: Path) -> None:
    reading = facts(audits.audit_environment(torch_env(tmp_path)))["code.torch"].readings[0]
    assert reading.artifact == "code/audit.json"
    assert reading.place == "torch/lib/libtorch_hip.so"
    assert "only in some of them: gfx906" in reading.quote


def test_environment_without_gpu_code(tmp_path: Path) -> None:
    site = build(tmp_path, {"torch/lib/libtorch_cpu.so": elf({".text": b"x"}), "torch/version.py": "hip = None\n"})
    audit = audits.audit_environment(site)
    assert (audit.holdings, audit.torch_hip, facts(audit)) == ((), "", {})


def test_packages_without_amd_code_are_absent_not_unknown(tmp_path: Path) -> None:
    site = build(
        tmp_path, {"bitsandbytes-0.45.0.dist-info/METADATA": "", "bitsandbytes/libbitsandbytes_cuda124.so": elf({".text": b"x"})}
    )
    assert values(audits.audit_environment(site)) == {"code.bitsandbytes": None}


def test_artifact_replays_to_the_same_facts(tmp_path: Path) -> None:
    audit = audits.audit_environment(torch_env(tmp_path))
    artifact = audits.artifact(audit)
    assert json.loads(artifact.text)["kind"] == "environment"
    assert code.probe(Artifacts([artifact])).facts == facts(audit)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"place": 1}', '{"place": "x", "kind": "planet"}', "\ud800"])
def test_an_artifact_that_is_no_audit_is_an_error(text: str) -> None:
    from rocm_doctor.model import Artifact

    notes = code.probe(Artifacts([Artifact("code/audit.json", "bundle", text)]))
    assert not notes.facts
    assert notes.errors


# wheels


def packed(files: Mapping[str, bytes], compression: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wheel_is_read_as_what_it_installs(tmp_path: Path, compression: int) -> None:
    site = torch_env(tmp_path / "site")
    files = {p.relative_to(site).as_posix(): p.read_bytes() for p in sorted(site.rglob("*")) if p.is_file()}
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(packed(files, compression))
    before = sorted(tmp_path.iterdir())
    audit = audit_wheel(wheel, "6.3.1")
    assert by_path(audit) == by_path(audits.audit_environment(site, everything=True))
    assert audit.bitsandbytes is not None
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
@linux
def test_a_large_member_is_inflated_in_bounded_memory(tmp_path: Path) -> None:
    """160 MiB of library in a wheel: bundles over its whole length, and the section table last."""
    sparse_library(tmp_path / "big.so", bundles=32, size=1 << 20)
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(tmp_path / "big.so", "lib/big.so")
    assert (tmp_path / "big.so").stat().st_size > 160 << 20
    said = in_child(wheel, "audit_wheel")
    assert (said["bundles"], said["problems"]) == ([32], [""])
    assert said["peak_kib"] < 64 << 10


def test_damaged_member_is_unknown_and_the_others_are_read(tmp_path: Path) -> None:
    one, two = library(gpu_bundle("gfx906", size=9000)), library(gpu_bundle("gfx1100"))
    data = bytearray(packed({"a/one.so": one, "b/two.so": two}, zipfile.ZIP_DEFLATED))
    data[60:75] = b"\xff" * 15
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(bytes(data))
    found = by_path(audit_wheel(wheel))
    assert found["a/one.so"].problem
    assert found["b/two.so"].targets == ("gfx1100",)


@pytest.mark.slow
@linux
def test_zip_bomb_costs_its_own_inflation_and_no_memory(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(packed({"a/bomb.so": library(gpu_bundle("gfx906"))[:64] + bytes(96 << 20)}, zipfile.ZIP_DEFLATED))
    said = in_child(wheel, "audit_wheel")
    assert said["problems"][0]
    assert said["peak_kib"] < 64 << 10


# speed


@linux
def test_an_environment_of_1_4_gb_is_read_by_its_headers(tmp_path: Path) -> None:
    """Sparse libraries of 1.4 GB with 300 bundles: what is read is a few KiB a bundle, within 64 MiB."""
    site = build(tmp_path, {"torch/version.py": HIP_63})
    for name, bundles in (("torch/lib/libtorch_hip.so", 250), ("torch/lib/librocblas.so", 50)):
        sparse_library(site / name, bundles, size=1 << 20)
    assert sum(p.stat().st_size for p in site.rglob("*.so")) > 1_400_000_000
    said = in_child(site, "audit_environment")
    assert (said["bundles"], said["problems"]) == ([50, 250], ["", ""])
    assert said["peak_kib"] < 64 << 10


def in_child(place: Path, function: str) -> dict[str, Any]:
    """An audit in a process of its own, with its peak memory (VmHWM: ru_maxrss would carry over the parent's)."""
    script = (
        "import json, sys; from pathlib import Path; from rocm_doctor.binaries import audit, wheel\n"
        "run = getattr(wheel if 'wheel' in sys.argv[2] else audit, sys.argv[2])\n"
        "a = run(Path(sys.argv[1]))\n"
        "peak = next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM'))\n"
        "print(json.dumps(dict(peak_kib=peak, bundles=[h.bundles for h in a.holdings],"
        " problems=[h.problem for h in a.holdings])))"
    )
    said = subprocess.run([sys.executable, "-c", script, str(place), function], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(said.stdout)
    return result


def sparse_library(path: Path, bundles: int, size: int) -> None:
    """A library whose bundles have real headers and holes for code."""
    targets = [f"gfx{n}" for n in (906, 908, 1030, 1100, 1201)]
    head = gpu_bundle(*targets, size=size)[:1024]
    step = -(-(5 * size + 4096) // 4096) * 4096
    whole = elf({".hip_fatbin": b"", ".hipFatBinSegment": bytes(24 * bundles)})
    path.parent.mkdir(parents=True, exist_ok=True)
    table, count = int.from_bytes(whole[40:48], "little"), int.from_bytes(whole[60:62], "little")
    with path.open("wb") as file:
        start = 1 << 20
        headers = bytearray(whole[table:])
        code_header = next(n for n in range(count) if headers[n * 64 + 48 : n * 64 + 50] == b"\0\x10")
        headers[code_header * 64 + 24 : code_header * 64 + 40] = start.to_bytes(8, "little") + (bundles * step).to_bytes(
            8, "little"
        )
        file.write(whole[:table] + headers)
        for n in range(bundles):
            file.seek(start + n * step)
            file.write(head)
        file.truncate(start + bundles * step)


# names


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["torch/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat", "torch/lib/rocblas/library/T_gfx906.co"], ("gfx90a",)),
        (["torch/lib/rocblas/library/TensileLibrary_gfx906.dat", "torch/lib/rocblas/library/x.dat"], ("gfx906",)),
        (["torch/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco"], ("gfx90a:xnack+",)),
        (["torch/lib/library/TensileLibrary_gfx900.co"], ("gfx900",)),
        (["opt/rocm/lib/rocblas/library/gfx942/TensileLibrary_lazy_gfx942.dat"], ("gfx942",)),
        (["torch/lib/rocblas/library/TensileLibrary_Type_HH_Contraction_l_Ailk_gfx1030.hsaco"], ("gfx1030",)),
    ],
)
def test_rocblas_files(names: list[str], expected: tuple[str, ...]) -> None:
    assert [(h.library, h.targets) for h in kernel_holdings(names)] == [("rocblas", expected)]


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("torch/lib/libtorch_hip.so", "torch"),
        ("torch/lib/librocblas.so", "rocblas"),
        ("torch/lib/libMIOpen.so", "miopen"),
        ("_rocm_sdk_libraries/lib/librocblas.so.5", "rocblas"),
        ("_rocm_sdk_libraries_gfx110X_all/bin/rocblas.dll", "rocblas"),
        ("torch/lib/libaotriton_v2.so.0.11.1", "aotriton"),
        ("torch/lib/amdhip64_7.dll", "amdhip64"),
        ("jax_rocm7_plugin/_linalg.so", "jax-rocm-plugin"),
        ("jax_plugins/xla_rocm7/xla_rocm_plugin.so", "jax-rocm-pjrt"),
        ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "flash-attn"),
        ("xformers/_C.so", "xformers"),
        ("aiter_meta/hsa/gfx942/x.co", "aiter"),
        ("vllm/_C.abi3.so", "vllm"),
    ],
)
def test_library_names(path: str, library: str) -> None:
    assert library_name(path) == library


@pytest.mark.parametrize(
    ("name", "answer"),
    [("a.so", True), ("libx.so.2.1", True), ("x.abi3.so", True), ("x.pyd", True), ("x.DLL", True), ("x.kpack", True),
     ("x.hsaco", True), ("notes.so.txt", False), ("x.py", False), ("so", False), ("x.sock", False), ("x.cpp", False)],
)  # fmt: skip
def test_which_files_are_opened(name: str, answer: bool) -> None:
    assert may_hold_code(name) is answer


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_names_are_taken(names: list[str]) -> None:
    assert isinstance(kernel_holdings([*names, *(f"torch/lib/rocblas/library/{n}gfx" for n in names)]), list)
    assert all(isinstance(library_name(n), str) and may_hold_code(n) in (True, False) for n in names)


# bitsandbytes

PATHS = [f"bitsandbytes/libbitsandbytes_{v}.so" for v in BNB]


@pytest.mark.parametrize(
    ("hip", "version", "override", "expected"),
    [
        ("7.2.53211", "0.50.2", "", "rocm72"),
        ("7.15.26333", "0.50.2", "", "rocm715"),
        ("7.1.25424", "0.50.2", "", "rocm70"),
        ("7.13.1", "0.50.2", "", "rocm72"),
        ("6.3.42134", "0.50.2", "", "rocm64"),
        ("8.0.1", "0.50.2", "", None),
        ("5.7.1", "0.50.2", "", None),
        ("6.3.42134", "0.49.2", "", None),
        ("7.2.53211", "0.49.2", "", "rocm72"),
        ("6.3.42134", "0.50.2", "714", "rocm714"),
        ("6.3.42134", "0.50.2", "99", None),
        ("7.1.2", "", "", "rocm70"),
    ],
)
def test_choice_of_library(hip: str, version: str, override: str, expected: str | None) -> None:
    choice = bitsandbytes.choose(PATHS, hip, version, override)
    assert choice is not None
    assert choice.path == (f"bitsandbytes/libbitsandbytes_{expected}.so" if expected else "")
    assert choice.because


def test_no_choice_without_a_rocm_torch_or_a_rocm_library() -> None:
    assert bitsandbytes.choose(PATHS, "", "0.50.2") is None
    assert bitsandbytes.choose(["bitsandbytes/libbitsandbytes_cuda124.so"], "6.3.1", "0.50.2") is None


def test_bitsandbytes_without_a_library_for_this_torch(tmp_path: Path) -> None:
    site = torch_env(tmp_path, HIP_63.replace("6.3.42134", "5.7.31921"))
    fact = facts(audits.audit_environment(site))["code.bitsandbytes"]
    assert fact.value == ()
    assert "torch has HIP 5.7" in fact.readings[0].quote


def test_bitsandbytes_beside_a_cpu_torch_is_unknown(tmp_path: Path) -> None:
    fact = facts(audits.audit_environment(torch_env(tmp_path, "hip = None\n")))["code.bitsandbytes"]
    assert isinstance(fact.value, Unknown)


def test_padded_bundle_helper_matches_the_page_rule() -> None:
    assert padded(b"a", b"b")[4096:] == b"b"
