from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import CORPUS, NAMES, facts, gpus, notes

from rocm_doctor.probes.text import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("works on ROCm 6.2, breaks on 6.3", {"rocm.version": "6.3", "said.works.rocm": ("6.2",), "said.broken.rocm": ("6.3",)}),
        ("With kernel 6.11.5 it is fine, with 6.12.1 the GPU hangs.", {"kernel": "6.12.1", "said.works.kernel": ("6.11.5",)}),
        (
            "Training worked with torch 2.5.1. Since I updated to 2.6.0 it crashes.",
            {"said.works.torch": ("2.5.1",), "torch.version": "2.6.0"},
        ),
        ("Upgraded from ROCm 6.1 to 6.2 and now I get a segfault.", {"rocm.version": "6.2", "said.works.rocm": ("6.1",)}),
        ("ROCm 6.4 crashes. Downgrading to ROCm 6.3.4 fixed it.", {"rocm.version": "6.4", "said.works.rocm": ("6.3.4",)}),
        ("With 6.1 and with 6.2 of ROCm 6.2 it fails", {"rocm.version": "6.2"}),
        ("Last working: ROCm 6.2.4\nFirst bad: ROCm 6.3.0", {"said.works.rocm": ("6.2.4",), "said.broken.rocm": ("6.3.0",)}),
        ("Kernel 6.14: broken. Kernel 6.8: OK.", {"said.works.kernel": ("6.8",), "said.broken.kernel": ("6.14",)}),
        (
            "Errors since torch 2.8.0+rocm6.4. Reverting to torch 2.7.1+rocm6.3 solves it.",
            {"said.broken.torch": ("2.8.0+rocm6.4",), "said.works.torch": ("2.7.1+rocm6.3",), "said.works.rocm": ("6.3",)},
        ),
        (
            "Since linux 6.18.4 it hangs, kernel 6.17.9 is fine.",
            {"said.works.kernel": ("6.17.9",), "said.broken.kernel": ("6.18.4",)},
        ),
        ("Rocky Linux 9.4 with kernel 5.14.0", {"kernel": "5.14.0", "said.broken.kernel": None}),
        ("It only works with torch 1.13.1", {"said.works.torch": ("1.13.1",), "torch.version": {"1.13.1"}}),
        ("The driver requires ROCm 6.3 or later, I have 6.1", {"rocm.version": "6.1"}),
        ("The docs say that ROCm 7.0 or newer is needed.", {"rocm.version": None}),
        ("My friend has ROCm 5.7 on another machine.", {"rocm.version": None}),
        ("broken since linux-firmware 20251125 came in", {"firmware.linux": "20251125", "said.broken.firmware": ("20251125",)}),
    ],
)
def test_what_works_and_what_does_not(text: str, expected: dict[str, object]) -> None:
    found = facts(prose, text)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("ROCm 6.2.4 on the host", "rocm.version", "6.2.4"),
        ("ROCm version: 7.0.2", "rocm.version", "7.0.2"),
        ("**ROCm**: `6.4.1`", "rocm.version", "6.4.1"),
        ("| ROCm | 6.4.1 |", "rocm.version", "6.4.1"),
        ("### ROCm Version\n\n6.3.2\n", "rocm.version", "6.3.2"),
        ("ROCm on the system is 6.0.2", "rocm.version", "6.0.2"),
        ("HIP SDK 6.2.4 on my PC", "rocm.version", "6.2.4"),
        ("TheRock 7.12 nightly", "rocm.version", "7.12"),
        ("ROCM used to build PyTorch: 6.3.42134-a9a80e791", "rocm.version", None),
        ("torch 2.5.1+rocm6.2", "rocm.version", None),
        ("torch 2.5.1+rocm6.2", "torch.rocm", "6.2"),
        ("torch 2.5.1+rocm6.2", "torch.build", "rocm"),
        ("the wheel is rocm6.2 from the nightly index", "torch.rocm", "6.2"),
        ("PyTorch version 2.6.0 with Python 3.12", "torch.version", "2.6.0"),
        ("torch-2.3.0.dev20240126+rocm6.0-cp310-cp310-linux_x86_64.whl", "torch.version", "2.3.0.dev20240126+rocm6.0"),
        ("torch-2.3.0.dev20240126+rocm6.0-cp310-cp310-linux_x86_64.whl", "python.version", "3.10"),
        ("I use Python 3.11.9", "python.version", "3.11.9"),
        ("py -3.14 -m venv x", "python.version", "3.14"),
        ("tried Python 3.11 as well", "python.version", None),
        ("kernel 6.14.0-24-generic", "kernel", "6.14.0-24-generic"),
        ("on 6.11.0-19-generic of Ubuntu", "kernel", "6.11.0-19-generic"),
        ("sglang-kernel: 0.4.1", "kernel", None),
        ("amdgpu-dkms 6.12.12 fails to build", "driver.version", "6.12.12"),
        ("Adrenalin 25.9.1", "driver.windows", "25.9.1"),
        ("bitsandbytes 0.48.1 and transformers 4.57", "pkg.bitsandbytes", "0.48.1"),
        ("Windows 11 Pro, 32 GB", "platform", "windows"),
        ("Windows 11 with WSL2 and Ubuntu 24.04", "os", "Ubuntu 24.04"),
        ("Windows 11 with WSL2 and Ubuntu 24.04", "wsl", True),
        ("Not WSL, plain Ubuntu 24.04", "wsl", False),
        ("Debian Testing, kernel 6.1.0", "os", "Debian Testing"),
        ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "os", None),
        ("Fedora 43 desktop", "os", "Fedora 43"),
        ("on Arch Linux", "os", "Arch Linux"),
        ("arch: x86_64", "os", None),
        ("inside docker", "container", "docker"),
        ("not in docker, bare metal", "container", None),
        ("the toolbox container", "container", "toolbox"),
        ("passed through to a VM with VFIO", "virtual_machine", "guest"),
        ("I unset HSA_OVERRIDE_GFX_VERSION", "env.HSA_OVERRIDE_GFX_VERSION", None),
        ("HSA_XNACK is set to 1", "env.HSA_XNACK", "1"),
        ("Fine-tuning with peft 0.13 on ROCm 6.2", "pkg.peft", "0.13"),
        ("Fine-tuning with peft 0.13 on ROCm 6.2", "rocm.version", "6.2"),
        ("there is no torch for rocm5.5 yet", "torch.rocm", None),
        ("OS (e.g., Linux Ubuntu 16.04): Ubuntu 22.04", "os", "Ubuntu 22.04"),
        ("### Operating system\n\nUbuntu\n\n### Operating system version\n\n24.04\n", "os", "Ubuntu 24.04"),
        ("Host: Windows 11\nWSL version: 2.5\nUbuntu version: 24.04", "os", "Ubuntu 24.04"),
        ("Host: Windows 11\nWSL version: 2.5\nUbuntu version: 24.04", "platform", "linux"),
        ("The amdgpu module is not loaded.", "driver.loaded", False),
        ("The kernel driver is loaded and /dev/kfd exists.", "kfd.exists", True),
        ("there is no /dev/kfd in it", "kfd.exists", False),
        ("Secure Boot is enabled", "secure_boot", True),
        ("IOMMU is disabled, ReBAR is enabled", "iommu", "off"),
        ('NCCL WARN Missing "iommu=pt" from kernel command line', "iommu", None),
        ("As root it works", "said.works.root", True),
        ("my user is in the video and render groups", "said.groups", ("video", "render")),
        ("my user is not in the render group", "said.groups", None),
        ("the second slot uses lanes of the chipset", "said.slot", "chipset"),
        ("I also have an RTX 3060 in it", "said.nvidia", "RTX 3060"),
        ("The iGPU is disabled in the BIOS", "said.igpu", "disabled"),
        ("pip install torch torchvision", "said.torch_index", "pypi"),
        ('uv pip install "rocm[libraries]==7.14.0" "rocm-sdk-device-gfx90a==7.14.0"', "rocm.version", "7.14.0"),
        ('uv pip install "rocm[libraries]==7.14.0" "rocm-sdk-device-gfx90a==7.14.0"', "torch.device_dists", ("gfx90a",)),
        ("cannot open /opt/rocm/lib/libhsa-runtime64.so.1", "platform", "linux"),
        ("OSError: [WinError 126] shm.dll", "platform", "windows"),
        ("pip3 install torch --index-url https://download.pytorch.org/whl/cu124", "torch.build", "cuda"),
        ("pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.3", "torch.rocm", "6.3"),
        ("pip install torch --index-url https://repo.amd.com/rocm/whl/gfx1151/", "torch.family", "therock"),
        ("docker run rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0", "torch.version", "2.6.0"),
        ("docker run rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0", "rocm.version", "6.4"),
        (
            "wget https://repo.radeon.com/amdgpu-install/6.4.1/ubuntu/noble/amdgpu-install_6.4.60401-1_all.deb",
            "rocm.version",
            "6.4.1",
        ),
    ],
)
def test_single_statements(text: str, fact: str, value: object) -> None:
    found = facts(prose, text)
    assert found.get(fact) == value
    if value is None and fact.startswith("env."):
        assert fact in found, "absent, not unknown"


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("RX 7900XTX", ["gfx1100"]),
        ("my 7900 xt", ["gfx1100"]),
        ("Radeon 8060S", ["gfx1151"]),
        ("Strix Halo", ["gfx1151"]),
        ("STX Halo", ["gfx1151"]),
        ("Ryzen AI Max+ 395", ["gfx1151"]),
        ("Strix Halo (Ryzen AI MAX+ 395 w/ Radeon 8060S, gfx1151)", ["gfx1151"]),
        ("MI300X", ["gfx942"]),
        ("8x MI300X", ["gfx942"] * 8),
        ("MI210 x4", ["gfx90a"] * 4),
        ("two RX 7900 XT", ["gfx1100", "gfx1100"]),
        ("dual W7900", ["gfx1100", "gfx1100"]),
        ("6900xt + 6800xt", ["gfx1030", "gfx1030"]),
        ("the MI50 and the MI100", ["gfx906", "gfx908"]),
        ("Radeon VII", ["gfx906"]),
        ("R9700", ["gfx1201"]),
        ("a 780M in my laptop", ["gfx1103"]),
        ("Ryzen 7 7840U", ["gfx1103"]),
        ("Navi 31", ["gfx1100"]),
        ("gfx90a:sramecc+:xnack-", ["gfx90a"]),
        ("GPU [1002:744c]", ["gfx1100"]),
        ("RX 7900 under Linux", ["gfx1100"]),
        ("Vega 8", [{"gfx902", "gfx90c"}]),
        ("Radeon 840M", [{"gfx1152", "gfx1153"}]),
        ("RX 6750 GRE", [{"gfx1031", "gfx1032"}]),
        ("an RDNA2 card", [{"gfx1030", "gfx1031", "gfx1032"}]),
        ("an RDNA2 card (gfx1032)", ["gfx1032"]),
        ("my devices are gfx110x", [{"gfx1100", "gfx1101", "gfx1103"}]),
        ("pip install --index-url https://example.org/v2/gfx120X-all torch", [{"gfx1200", "gfx1201"}]),
        ("a 780M parameter model", []),
        ("6800 tokens and 7900 rows", []),
        ("files for gfx908 gfx90a gfx942 gfx1030 gfx1100", []),
        ("only built for gfx1030 and gfx1100", []),
        ("RTX 5070 Ti", []),
        ("My friend's RX 6800 works.", []),
        ("I replaced my RX 6800 with an RX 7900 XTX", ["gfx1100"]),
    ],
)
def test_gpus_by_name(text: str, targets: list[object]) -> None:
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == targets


def test_which_of_two_cards_works() -> None:
    found = facts(prose, "The R9700 is not detected while the 7900 XTX works.")
    assert (found["said.works.gpu"], found["said.broken.gpu"]) == (("gfx1100",), ("gfx1201",))


def test_override_does_not_change_the_card() -> None:
    text = "RX 6700 XT, I run it as gfx1030 with HSA_OVERRIDE_GFX_VERSION=10.3.0"
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == ["gfx1031"]


def test_other_people_in_the_thread() -> None:
    text = "anna commented on Jan 5\nRX 7900 XTX with ROCm 6.2\nben commented\nSame on RX 6800, ROCm 6.1\n"
    text += "anna commented\nkernel 6.8.0-45-generic\n"
    found = facts(prose, text)
    assert (found["rocm.version"], found["kernel"], found["said.other.gpu"]) == ("6.2", "6.8.0-45-generic", ("RX 6800",))
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == ["gfx1100"]


def test_commands_as_they_were_typed() -> None:
    text = "Then I ran\n\n$ pip install torch \\\n  --index-url https://download.pytorch.org/whl/rocm6.3\n"
    text += "user@host:~/x$ python train.py; ls\nand `rocminfo --support`.\n"
    assert facts(prose, text)["said.install"] == ("pip install torch --index-url https://download.pytorch.org/whl/rocm6.3",)


def test_pins_and_downloads() -> None:
    found = facts(prose, "$ pip install torch==2.4.1 bitsandbytes==0.44.0\n")
    assert (found["torch.version"], found["pkg.bitsandbytes"], found["said.torch_index"]) == ("2.4.1", "0.44.0", "pypi")
    found = facts(
        prose, "$ pip install torchaudio\n  Downloading torch-2.4.0-cp310-cp310-manylinux1_x86_64.whl.metadata (26 kB)\n"
    )
    assert found["said.torch_download"] == "2.4.0"
    assert "torch.version" not in found


def test_torchs_rocm_stands_in_for_the_systems() -> None:
    assert facts(prose, "ROCm version: (6, 4)\n")["rocm.version"] == "6.4"
    assert facts(prose, "System: ROCm 7.1.1\nROCm version: (6, 4)\n")["rocm.version"] == "7.1.1"


def test_line_numbers_are_those_of_the_text() -> None:
    reading = notes(prose, "one\n\nI am on ROCm 6.2.4 here. Yes.\n").facts["rocm.version"].readings[0]
    assert (reading.artifact, reading.place, reading.quote) == ("paste/text", "line 3", "I am on ROCm 6.2.4 here.")


def test_of_lines_that_differ_in_numbers_only_the_first_are_read() -> None:
    log = "".join(f"step {n} of kernel 6.{n % 28 + 1}.0 loss 0.{n}\n" for n in range(900))
    found = notes(prose, log + "\nROCm 6.4 breaks it.\n" + log).facts
    assert found["rocm.version"].value == "6.4"
    said = found["kernel"]
    assert len(said.readings + said.disputed) <= 20


def test_gpus_of_the_reports_are_those_that_a_reader_names() -> None:
    """Where the label of a case names a target and the text names a card, the text must not lead to another one."""
    import yaml

    from rocm_doctor.facts.enrich import gpu_names
    from rocm_doctor.matrix import load
    from rocm_doctor.model import Artifact
    from rocm_doctor.probes.read.result import Artifacts

    cases = sorted((CORPUS / "cases").glob("*/case.md"))
    if not cases:
        pytest.skip("the corpus of cases is not beside the project")
    names = gpu_names(load())
    right, told = 0, 0
    for case in cases:
        label = yaml.safe_load((case.parent / "label.yaml").read_text())
        result = prose.probe(Artifacts([Artifact("paste/text", "paste", case.read_text())], lambda: names))
        found = {gpu["gfx"].value for listing in result.listings for gpu in listing.gpus if isinstance(gpu["gfx"].value, str)}
        if found and label["gfx"]:
            told += 1
            right += bool(found & set(label["gfx"]))
    assert told >= 50
    assert right >= 0.97 * told


def test_names_of_tools() -> None:
    assert NAMES.of_name("AMD Radeon RX 7900 XTX") == ("gfx1100",)
    assert NAMES.of_name("AMD Radeon(TM) 8060S Graphics") == ("gfx1151",)
    assert NAMES.of_name("AMD Instinct MI250X/MI250") == ("gfx90a",)
    assert NAMES.of_name("Device 66a1") == ("gfx906",)
    assert NAMES.of_name("AMD Radeon Graphics") == ()
    assert NAMES.of_name("Radeon RX Vega") == ("gfx900",)
    assert NAMES.of_name("AMD Ryzen 5 2500U with Radeon Vega Mobile Gfx") == ()


@given(st.text())
def test_any_text_gives_facts_or_nothing(text: str) -> None:
    notes(prose, text)
    NAMES.find(text)


WORDS = [
    *(
        "ROCm 6.2",
        "torch",
        "works",
        "breaks",
        "with",
        ",",
        ".",
        "and",
        "\n",
        "RX",
        "7900",
        "XTX",
        "gfx1100",
        "from",
        "to",
        "6.3",
        "kernel",
    ),
    *(
        "$",
        "pip install",
        "HSA_XNACK=1",
        "without",
        "not",
        "x",
        "two",
        "WSL",
        "docker",
        "other machine",
        "Ryzen 7 7840U",
        "`",
        "|",
        "###",
    ),
    *("(", ")", "-", "\u0130", "commented", "1002:744c", "https://download.pytorch.org/whl/rocm6.2"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words_give_facts_with_readings(words: list[str]) -> None:
    result = notes(prose, " ".join(words))
    assert all(fact.readings for fact in result.facts.values())


def test_a_product_and_a_target_that_contradict_each_other_are_one_gpu_and_the_chip_decides() -> None:
    (gpu,) = notes(prose, "My Radeon 8060S (gfx1100) crashes.\n").listings[0].gpus
    assert gpu["gfx"].value == "gfx1151"
    assert [reading.quote for reading in gpu["gfx"].disputed] == ["My Radeon 8060S (gfx1100) crashes."] or gpu["gfx"].disputed
    assert [g["gfx"] for g in gpus(prose, "RX 7900 XTX, gfx1100\n")] == ["gfx1100"]


@pytest.mark.parametrize(
    "text",
    [
        "RX 6700 XT, training hangs. Others with an RDNA3 card do not have this.",
        "RX 6700 XT: only supported on compute capability 8.9, or ROCm MI300+",
        "RX 6700 XT hangs. People with a RX 7900 XTX report the same.",
    ],
)
def test_the_gpus_of_others_and_of_requirements_are_not_this_machine_s(text: str) -> None:
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == ["gfx1031"]


def test_what_a_package_was_built_for_is_not_what_is_installed() -> None:
    text = "xFormers was built for:\n    PyTorch 2.3.1+cu121 with CUDA 1201 (you have 2.4.0+rocm6.1)\n    Python  3.10.14 (you have 3.10.12)\n"
    found = facts(prose, text)
    assert (found["torch.version"], found["python.version"]) == ("2.4.0+rocm6.1", "3.10.12")
