"""The text of tests/expected: facts of reports, findings on drawn machines, plans, and triage comments.

`regen.py` writes it, tests/test_expected.py compares. A change of a probe, a rule or the plan shows there as a diff to review, on inputs
that nobody chose with that change in mind.
"""

from __future__ import annotations

import contextlib
import random
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import corpus
import msgspec

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))


from rocm_doctor.facts.enrich import enrich
from rocm_doctor.integrations.triage import Event, triage
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Gpu, Reading, Snapshot, Unknown, Value
from rocm_doctor.pipeline import read_facts
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import System, load_catalog, order_packages
from rocm_doctor.plan.formats import FILES, UnknownFormat, render
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.text import text
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.redaction import redactor
from rocm_doctor.rules import RULES
from rocm_doctor.rules.checks import checks
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.verdict import verdict
from rocm_doctor.sources.paste import cut

EVENTS = Path(__file__).resolve().parents[1] / "tests" / "triage"
REAL = 48
"""The facts of one real report in so many are shown."""
MACHINES = 80
SEED = "1"
WAYS = ("full", "lora", "qlora")

PLANS: tuple[tuple[tuple[str, str, System, str], tuple[str, ...]], ...] = (
    (("gfx1100", "3.12", "linux", ""), ("lora",)),
    (("gfx942", "3.11", "linux", "6.12.12"), ("flash-attn", "torchao")),
    (("gfx1201", "3.12", "wsl", ""), ()),
    (("gfx1151", "3.13", "windows", "26.1.1"), ("qlora",)),
)
"""Machine (target, Python, system, driver), and wishes (a way of fine-tuning or packages)."""

Choices = dict[str, tuple[Value, ...]]
"""Values of each fact, drawn with equal chance; UNREAD leaves it out."""
UNREAD = Unknown("not-asked")
GPUS: tuple[dict[str, Value], ...] = (
    {"gfx": "gfx906", "device_id": 0x66A1, "marketing_name": "AMD Instinct MI50/MI60"},
    {"gfx": "gfx908", "device_id": 0x738C},
    {"gfx": "gfx90a", "marketing_name": "AMD Instinct MI210"},
    {"gfx": "gfx942", "device_id": 0x74A1},
    {"gfx": "gfx1030", "marketing_name": "Radeon RX 6800 XT"},
    {"gfx": "gfx1031", "device_id": 0x73DF},
    {"gfx": "gfx1032"},
    {"gfx": "gfx1036", "device_id": 0x164E},
    {"gfx": "gfx1100", "device_id": 0x744C, "marketing_name": "Radeon RX 7900 XTX"},
    {"gfx": "gfx1103", "is_apu": True},
    {"gfx": "gfx1151", "is_apu": True},
    {"gfx": "gfx1201", "device_id": 0x7550},
    {"device_id": 0x744C},
    {"marketing_name": "Radeon RX 6700 XT", "gfx_reported": "gfx1030"},
    {"marketing_name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1030"},
)
TORCHES: tuple[dict[str, Value], ...] = (
    {},
    {"torch.version": None},
    {"torch.version": "2.9.1+cpu", "torch.build": "cpu", "torch.hip": None},
    {"torch.version": "2.9.1+cu128", "torch.build": "cuda", "torch.hip": None},
    {"torch.version": "2.5.1+rocm6.2", "torch.build": "rocm", "torch.family": "bundled", "torch.rocm": "6.2", "torch.hip": "6.2.41133"},
    {"torch.version": "2.9.1+rocm6.4", "torch.build": "rocm", "torch.family": "bundled", "torch.rocm": "6.4", "torch.hip": "6.4.43484"},
    {"torch.version": "2.10.0+rocm7.1", "torch.build": "rocm", "torch.family": "bundled", "torch.rocm": "7.1", "torch.hip": "7.1.25424"},
    {"torch.version": "2.14.0+rocm7.14", "torch.build": "rocm", "torch.family": "rpath-packages", "torch.rocm": "7.14"},
    {"torch.version": "2.13.0+rocm10.0.0", "torch.build": "rocm", "torch.family": "therock", "torch.rocm": "10.0.0", "torch.hip": "7.15.26333"},
    {"torch.version": "2.9.0a0+git1234567", "torch.build": "rocm", "torch.family": "source", "torch.rocm": "6.4.1", "torch.hip": "6.4.43484"},
)  # fmt: skip
MACHINE: Choices = {
    "platform": ("linux",) * 6 + ("windows", UNREAD),
    "wsl": (False,) * 4 + (True, UNREAD),
    "container": (None,) * 4 + ("docker", "podman", UNREAD),
    "user.root": (False, False, True, UNREAD),
    "user.groups": (("ada",), ("ada", "render"), ("ada", "video"), UNREAD),
    "pci.gpus": (None, 0, 1, 2, UNREAD),
    "kfd.exists": (True, True, True, False, UNREAD),
    "kfd.openable": (True, True, True, False, UNREAD),
    "kfd.error": ("Permission denied", "Operation not permitted", "No such device", UNREAD),
    "kfd.group": ("render", "root", UNREAD),
    "kfd.gid": ("992", UNREAD),
    "kfd.denied": (UNREAD, UNREAD, UNREAD, ("nodes/2",)),
    "kfd.nodes": (0, 1, 2, UNREAD),
    "render.nodes": (("renderD128",), (), UNREAD),
    "render.openable": (True, True, False, UNREAD),
    "render.group": ("render", "video", UNREAD),
    "dxg.exists": (True, False, UNREAD),
    "driver.loaded": (True, True, True, False, UNREAD),
    "driver.blacklisted": (None, "etc/modprobe.d/blacklist.conf", UNREAD),
    "driver.on_disk": (True, False, UNREAD),
    "driver.version": (None, "6.3.6", "6.8.5", "6.12.12", "6.16.6", "6.10.5-2109964", UNREAD),
    "driver.windows": (UNREAD, "24.12.1", "26.1.1"),
    "driver.others": ((), (), ("nvidia",), UNREAD),
    "nomodeset": (False, True, UNREAD),
    "secure_boot": (False, True, UNREAD),
    "hsa.status": (UNREAD, UNREAD, "HSA_STATUS_ERROR_OUT_OF_RESOURCES"),
    "tool.rocminfo": (UNREAD, UNREAD, "did not end in time"),
    "kernel": ("6.8.0-60-generic", "5.15.0-119-generic", UNREAD),
    "rocm.version": (None, "5.7.1", "6.2.4", "6.4.1", "7.1.0", UNREAD),
    "rocm.source": ("opt", "wheels", "distribution", UNREAD),
    "rocm.on_path": (UNREAD, (), ("/opt/rocm-6.2.4=6.2.4",), ("/opt/rocm-7.1.0=7.1.0",)),
    "python.version": ("3.8.10", "3.10.12", "3.12.3", "3.13.1", "3.15.0", UNREAD),
    "python.env": ("venv", "system", "conda", UNREAD),
    "pkg.torchvision": (UNREAD, None, "0.24.1+rocm6.4", "0.20.1", "0.24.1+cu128", "0.29.0", "0.16.1+fdea156"),
    "pkg.torchaudio": (UNREAD, None, "2.9.1+rocm6.4", "2.5.1+cpu"),
    "pkg.triton": (UNREAD, None, "3.5.1"),
    "pkg.pytorch-triton-rocm": (UNREAD, None, "3.5.1", "3.1.0"),
    "pkg.bitsandbytes": (UNREAD, None, "0.49.2"),
    "code.torch": (UNREAD, UNREAD, (), ("gfx1030", "gfx1100", "gfx90a"), ("gfx906", "gfx942", "gfx1201"), ("gfx11-generic",)),
    "code.rocblas": (UNREAD, ("gfx1030", "gfx1100"), ("gfx906", "gfx90a", "gfx942")),
    "code.bitsandbytes": (UNREAD, ("gfx1100", "gfx942"), None),
    "code.rccl": (UNREAD, ("gfx90a", "gfx942")),
    "code.flash-attn": (UNREAD, ("gfx90a", "gfx942")),
    "soname.bitsandbytes": (UNREAD, ("libamdhip64.so.6",), ("libamdhip64.so.7",)),
    "torch.arch_list": (UNREAD, UNREAD, ("gfx906", "gfx1030", "gfx1100")),
    "torch.device_dists": (UNREAD, UNREAD, None, ("gfx1100",)),
    "torch.available": (UNREAD, True, False),
    "env.HSA_OVERRIDE_GFX_VERSION": (None, None, None, "10.3.0", "11.0.0", "9.0.6", "gfx1030", UNREAD),
    "env.HIP_VISIBLE_DEVICES": (None, None, "0", "1", "3", "", "-1", "GPU-1234", UNREAD),
    "env.ROCR_VISIBLE_DEVICES": (None, None, None, "0", "1", "5", UNREAD),
    "env.CUDA_VISIBLE_DEVICES": (None, None, "0,1", UNREAD),
    "env.PYTORCH_CUDA_ALLOC_CONF": (None, "expandable_segments:True", UNREAD),
    "smoke.kind": (UNREAD, UNREAD, "hip", "cpu"),
    "smoke.matmul": (UNREAD, "passed", "failed:wrong", "died:SIGSEGV"),
}
GPU: Choices = {
    "driver": ("amdgpu", "amdgpu", "vfio-pci", None, UNREAD),
    "vram_bytes": (17163091968, 25753026560, UNREAD),
    "vram_used_percent": (UNREAD, UNREAD, 20, 95, 100, 101),
    "vram_used_bytes": (UNREAD, 0, 1 << 30, 15 << 30),
    "link_width": (16, 8, 4, UNREAD),
    "link_max_width": (16, UNREAD),
    "power_cap_watts": (300, 150, UNREAD),
    "power_default_watts": (300, UNREAD),
    "pci_bdf": (UNREAD,),
}


def facts(matrix: Matrix) -> str:
    """Facts of real reports that are not for testing, one in REAL by a hash of the id."""
    lines = ["# Written by scripts/regen.py: the facts of reports under fixtures/reports."]
    for entry in corpus.load():
        if entry.real and not entry.testing and zlib.crc32(entry.id.encode()) % REAL == 0:
            lines += ["", f"== {entry.id}", *_snapshot(enrich(read_facts(cut(entry.text, entry.id), matrix), matrix))]
    return "\n".join(lines) + "\n"


def _snapshot(one: Snapshot) -> Iterator[str]:
    """The facts as probes print theirs, sorted by name, then what could not be read."""
    shown = ProbeResult()
    shown.facts = dict(sorted(one.facts.items()))
    shown.listing().gpus += [dict(sorted(gpu.facts.items())) for gpu in one.gpus]
    yield from str(shown).split("\n")
    yield from (f"error {error.quote}" for error in one.errors)


def findings(matrix: Matrix) -> str:
    """Findings, checks and verdicts of drawn machines by the rules alone; rows of the matrix carry their own examples."""
    draw = random.Random(SEED)
    ruled = msgspec.structs.replace(matrix, rows=())
    lines = ["# Written by scripts/regen.py: what the rules find on drawn machines (scripts/expected.py)."]
    for number in range(MACHINES):
        one = machine(draw, ruled)
        found, _ = judge(one, Logs(()), ruled, RULES)
        word, summary, proven = verdict(one, found, ruled, pasted=number % 2 == 1)
        lines += ["", f"== {number}: {word}: {'; '.join((summary, *proven))}"]
        lines += [f"{check.state} {check.name}: {check.words}" for check in checks(one, found, ruled)]
        lines += [line for each in found for line in _finding(each)]
    return "\n".join(lines) + "\n"


def machine(draw: random.Random, matrix: Matrix) -> Snapshot:
    """A machine with up to three GPUs and facts drawn by lot, as the facts of a real one would be completed."""
    drawn = {name: draw.choice(values) for name, values in MACHINE.items()} | draw.choice(TORCHES)
    gpus = [
        {**draw.choice(GPUS), **{name: draw.choice(values) for name, values in GPU.items()}}
        for _ in range(draw.choice((0, 1, 1, 1, 2, 3)))
    ]
    listed = bool(gpus) or draw.random() < 0.7
    seen = tuple(Gpu(_facts(gpu, draw.choice(("drawn", "drawn", "paste/text", "cmd/collect_env")))) for gpu in gpus)
    return enrich(Snapshot(_facts(drawn), seen, gpus_listed=listed), matrix)


def _facts(drawn: dict[str, Value], artifact: str = "drawn") -> dict[str, Fact]:
    return {
        n: Fact(v, (Reading("py/packages" if n.startswith("pkg.") else artifact, n, f"{n}={v}"),))
        for n, v in drawn.items()
        if v is not UNREAD
    }


def _finding(one: Finding) -> Iterator[str]:
    places = " ".join(dict.fromkeys(r.place for r in one.evidence))
    yield f"{one.severity}/{one.confidence} {one.id} on {one.subject}: {one.title} [{places}]{' <- ' + one.follows_from if one.follows_from else ''}"
    yield from (f"    $ {command.text}" for command in one.commands)


def plans(matrix: Matrix) -> str:
    """Plans of some machines, one of them as every file."""
    catalog = load_catalog(matrix)
    lines = ["# Written by scripts/regen.py: plans in every format (scripts/expected.py)."]
    for given, wish in PLANS:
        train = next((word for word in wish if word in WAYS), "")
        gfx, python, system, driver = given
        packages = order_packages([word for word in wish if word != train], train, catalog)
        plan = answer(declare_machine(gfx, python, matrix, system, driver), catalog, packages)
        lines += ["", f"== {' '.join(filter(None, (*given, *wish)))}", text(plan)]
        if train == "lora":
            for name in FILES:
                with contextlib.suppress(UnknownFormat):
                    lines += [f"-- {name}", render(name, plan)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


@patch.object(redactor, "this_machine", lambda: ("", "", ""))
def comments(matrix: Matrix) -> str:
    """What triage answers to the saved events of tests/triage, whoever runs this: this machine's names would get the first pseudonyms."""
    lines = ["# Written by scripts/regen.py: what triage answers to the events of tests/triage."]
    for path in sorted(EVENTS.glob("*.json")):
        found = triage(msgspec.json.decode(path.read_bytes(), type=Event), (), "github-actions[bot]", matrix)
        lines += [
            "",
            f"== {path.stem}: {found.why}",
            *found.comment.split("\n")[:-1],
        ]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[Matrix], str]] = {"comments": comments, "facts": facts, "findings": findings, "plans": plans}
