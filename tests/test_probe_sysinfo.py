from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from text_probes import captures, facts, gpus, notes

from rocm_doctor.probes.text import sysinfo

NEW = """\
workload_name,command,hostname,cpu_model,sbios,linux_distro,linux_kernel_version,amd_gpu_kernel_version,rocm_version,vbios,gpu_model,gpu_arch,cu_per_gpu,wave_size
job,./x,node1,AMD EPYC 9654,"Vendor, 1.0",Ubuntu 24.04.1 LTS,6.8.0-45-generic,,6.3.1-48,113-M000-1,MI300X_A1,gfx942,304,64
"""
OLD = """\
workload_name,host_name,host_cpu,host_distro,host_kernel,host_rocmver,date,gpu_soc,numSE,numCU,waveSize,name
job,node1,AMD EPYC 7282 16-Core Processor,,5.11.0-27-generic,5.1.3-66,now,gfx90a,8,104,64,mi200"""


def test_newer_columns_with_a_comma_inside_quotes() -> None:
    assert facts(sysinfo, NEW) == {
        "rocm.version": "6.3.1-48",
        "kernel": "6.8.0-45-generic",
        "os": "Ubuntu 24.04.1 LTS",
        "cpu": "AMD EPYC 9654",
    }
    assert gpus(sysinfo, NEW) == [
        {"gfx": "gfx942", "marketing_name": "MI300X_A1", "compute_units": 304, "wavefront_size": 64, "vbios": "113-M000-1"}
    ]


def test_older_columns_and_an_empty_cell() -> None:
    found = facts(sysinfo, ("paste/1-sysinfo", OLD))
    assert found == {"rocm.version": "5.1.3-66", "kernel": "5.11.0-27-generic", "cpu": "AMD EPYC 7282 16-Core Processor"}
    assert gpus(sysinfo, OLD) == [{"gfx": "gfx90a", "marketing_name": "mi200", "compute_units": 104, "wavefront_size": 64}]


def test_head_without_a_row_says_nothing() -> None:
    assert facts(sysinfo, NEW.splitlines()[0]) == {}


def test_every_capture_names_its_gpu() -> None:
    for path in captures("sysinfo"):
        assert gpus(sysinfo, path.read_text(errors="replace"))[0]["gfx"].startswith("gfx"), path.name


@given(st.text(), st.integers(0, 300))
def test_any_text_gives_facts_or_nothing(text: str, place: int) -> None:
    notes(sysinfo, NEW[:place] + text + NEW[place:])
