"""Wheels as they are released: the targets that the audit finds in them, and what LLVM's own decoder says of the same files.

`ROCM_DOCTOR_WHEELS` names a folder with wheels; each of EXPECTED that lies there is tested. Without it the smallest one (3.8 MB)
is fetched with pip, and the test is skipped, with the reason, where that is not possible.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from rocm_doctor.binaries.inspect import inspect_file
from rocm_doctor.binaries.names import library_name
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.wheel import audit_wheel

SMALLEST = "jax-rocm7-plugin==0.10.2"


def targets(text: str) -> tuple[str, ...]:
    return tuple("gfx" + t for t in text.split())


RDNA1_2 = "1010 1011 1012 1030 1031 1032 1033 1034 1035 1036"
RDNA3_4 = "1100 1101 1102 1103 1150 1151 1152 1153 1200 1201"
BNB_64 = targets(f"908 90a 942 1030 {RDNA3_4}")
BNB_70 = targets(f"908 90a 942 950 1030 {RDNA3_4}")
BNB_714 = targets(f"908 90a 942 950 {RDNA1_2} {RDNA3_4} 1250")
JAX_PLUGIN = targets(f"900 906 908 90a 90c 942 950 {RDNA1_2} {RDNA3_4}")
JAX_PJRT_10 = targets(f"900 906 908 90a 942 950 {RDNA1_2} {RDNA3_4}")
JAX_PJRT = targets(f"900 906 908 90a 942 950 {RDNA1_2} {RDNA3_4} 1250")

# Wheel -> library file -> targets, number of bundles, how they are packed. Each was compared with LLVM 22 (docs/binaries.md).
EXPECTED: dict[str, dict[str, tuple[tuple[str, ...], int, str]]] = {
    "bitsandbytes-0.50.2": {
        "libbitsandbytes_rocm64.so": (BNB_64, 2, "ccob2-zstd"),
        "libbitsandbytes_rocm70.so": (BNB_70, 2, "ccob2-zstd"),
        "libbitsandbytes_rocm71.so": (BNB_70, 2, "ccob3-zstd"),
        "libbitsandbytes_rocm72.so": (BNB_70, 2, "ccob3-zstd"),
        "libbitsandbytes_rocm714.so": (BNB_714, 2, "ccob3-zstd"),
        "libbitsandbytes_rocm715.so": (BNB_714, 2, "ccob3-zstd"),
    },
    "jax_rocm7_plugin-0.10.2": {
        "_linalg.so": (JAX_PLUGIN, 1, "ccob3-zstd"),
        "_prng.so": (JAX_PLUGIN, 1, "ccob3-zstd"),
        "_solver.so": (JAX_PLUGIN, 2, "ccob3-zstd"),
    },
    "jax_rocm7_pjrt-0.11.2": {"xla_rocm_plugin.so": (JAX_PJRT_10, 44, "ccob3-zstd")},
    "jax_rocm10_pjrt-0.11.2": {"xla_rocm_plugin.so": (JAX_PJRT_10, 44, "ccob3-zstd")},
    "jax_rocm60_pjrt-0.5.0": {"xla_rocm_plugin.so": (targets("906 908 90a 942 1030 1100 1101 1200 1201"), 29, "plain")},
    "jax_rocm7_pjrt-0.12.0": {"xla_rocm_plugin.so": (JAX_PJRT, 45, "ccob3-zstd")},
    "onnxruntime_rocm-1.22.2.post3": {
        "libonnxruntime_providers_rocm.so": (targets("908 90a 942 1030 1100 1101 1200 1201"), 95, "plain")
    },
    "tensorflow_rocm-2.14.0.600": {
        "libtensorflow_cc.so.2": (targets("900 906 908 90a 1030 1100"), 241, "plain"),
        "libtensorflow_framework.so.2": (targets("900 906 908 90a 1030 1100"), 1, "plain"),
    },
}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels at hand."""
    folder = os.environ.get("ROCM_DOCTOR_WHEELS")
    if folder:
        found = sorted(Path(folder).glob("*.whl"))
        assert found, f"ROCM_DOCTOR_WHEELS={folder} holds no wheel"
        return found
    into = tmp_path_factory.mktemp("wheels")
    asked = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux_2_27_x86_64"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        *asked,
        "--retries",
        "0",
        "--timeout",
        "10",
        "-d",
        str(into),
        SMALLEST,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{SMALLEST} could not be fetched within 90 s; ROCM_DOCTOR_WHEELS can name a folder that has it")
    if done.returncode:
        pytest.skip(
            f"{SMALLEST} cannot be fetched here: {done.stderr.strip()[-120:]}; ROCM_DOCTOR_WHEELS can name a folder that has it"
        )
    return sorted(into.glob("*.whl"))


def of(wheels: list[Path], name: str) -> Path:
    found = next((w for w in wheels if w.name.startswith(name + "-")), None)
    if found is None:
        pytest.skip(f"{name} is not among the wheels here")
    return found


def seen(audit: Audit) -> dict[str, tuple[tuple[str, ...], int, str]]:
    return {h.path.rsplit("/", 1)[-1]: (h.targets, h.bundles, "+".join(h.encodings)) for h in audit.holdings}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n.startswith("tensorflow") else ()) for n in EXPECTED]
)
def test_targets_of_a_released_wheel(wheels: list[Path], name: str) -> None:
    """All of them, in every library, and nothing else: no false target, no library that is missed or made up."""
    audit = audit_wheel(of(wheels, name))
    assert seen(audit) == EXPECTED[name]
    assert not [h for h in audit.holdings if h.problem or h.partial]


@pytest.mark.parametrize("name", ["jax_rocm7_plugin-0.10.2", "bitsandbytes-0.50.2"])
def test_llvm_reads_the_same_out_of_it(wheels: list[Path], name: str, tmp_path: Path) -> None:
    objdump = next(filter(None, (shutil.which(f"llvm-objdump-{n}") for n in range(30, 20, -1))), None)
    if objdump is None:
        pytest.skip("no llvm-objdump of 21 or later, the first that lists compressed HIP bundles")
    with zipfile.ZipFile(of(wheels, name)) as archive:
        members = [m for m in archive.namelist() if m.rsplit("/", 1)[-1] in EXPECTED[name]]
        for member in members:
            path = Path(archive.extract(member, tmp_path))
            found = inspect_file(path, library_name(member), member)
            assert found is not None
            said = subprocess.run(
                [objdump, "--offloading", str(path)], capture_output=True, text=True, check=True, cwd=tmp_path
            ).stdout
            counted = Counter(re.findall(r"amdgcn-amd-amdhsa--(gfx\S+)", said))
            assert counted == dict.fromkeys(found[0].targets, found[0].bundles), member
    assert members


def test_the_library_that_bitsandbytes_loads(wheels: list[Path]) -> None:
    audit = audit_wheel(of(wheels, "bitsandbytes-0.50.2"), "7.15.26333")
    assert audit.bitsandbytes is not None
    assert audit.bitsandbytes.path == "bitsandbytes/libbitsandbytes_rocm715.so"
