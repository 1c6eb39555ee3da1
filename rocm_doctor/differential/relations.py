"""Facts and relations of a snapshot as features: what a machine shows, and how one part of it stands to another.

A word says `rocm 6.1`; a relation says that this ROCm is older than the first one that has code for the card.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Gpu, Snapshot

Version = tuple[int, ...]
_PLAIN = (
    "platform", "wsl", "container", "virtual_machine", "secure_boot", "iommu", "nomodeset", "numa_balancing", "dxg.exists",
    "user.missing_group", "user.root", "kfd.exists", "kfd.openable", "kfd.error", "driver.loaded", "driver.builtin",
    "driver.blacklisted", "rocm.source", "hsa.status", "torch.build", "torch.family", "torch.available", "torch.other_rocm",
    "torch.expandable_segments", "said.rebar", "said.slot", "said.igpu", "said.works.root", "said.raised_in", "said.torch_device",
    "python.env",
)  # fmt: skip
_LISTS = ("driver.events", "driver.others")
_COMPONENTS = {
    "kernel": r"kernel|linux \d|\b[56]\.\d+\.\d+",
    "firmware": r"firmware|bios|vbios",
    "driver": r"driver|dkms|amdgpu|adrenalin|mesa",
    "rocm": r"rocm|hip\b|therock",
    "torch": r"torch|pytorch|wheel",
    "application": r"comfy|webui|vllm|ollama|llama|unsloth|axolotl|forge|sd\.?next|invoke|app\b",
    "system": r"system|ubuntu|fedora|arch|debian|distro|reboot|restart|windows|apt|pacman|dnf",
    "library": r"bitsandbytes|flash|triton|xformers|deepspeed|torchao|aiter|transformers|peft|accelerate",
}
_COMPONENT = {name: re.compile(pattern, re.I) for name, pattern in _COMPONENTS.items()}
_FRAME = re.compile(r"(?:site|dist)-packages[/\\]+(\w+)")
_LIBRARY = re.compile(r"\b(?:lib)?(rocblas|hipblaslt|hipblas|miopen|rccl|nccl|hsa-runtime64|amdhip64|hiprtc|rocsolver|rocsparse|hipsparselt"
                      r"|rocfft|aotriton|torch_hip|bitsandbytes|roctx64|rocm_smi64|drm_amdgpu|stdc\+\+|amd_comgr|ck_tile|composable_kernel)", re.I)  # fmt: skip


class Reach(NamedTuple):
    """The first and the last ROCm whose torch wheels have code for a target."""

    first: Version
    last: Version


def reach(matrix: Matrix) -> dict[str, Reach]:
    """By gfx target, from the catalog of torch builds."""
    found: dict[str, list[Version]] = {}
    for build in matrix.torch:
        version = numbers(build.rocm)
        for gfx in build.gfx if version else ():
            found.setdefault(gfx, []).append(version[:2])
    return {gfx: Reach(min(some), max(some)) for gfx, some in found.items()}


def numbers(version: object) -> Version:
    """The leading numbers of a version; empty where it has none."""
    found = re.match(r"\d+(?:\.\d+)*", version) if isinstance(version, str) else None
    return tuple(int(n[:6]) for n in found[0].split(".")) if found else ()


def of_snapshot(snapshot: Snapshot, matrix: Matrix, complaint: str) -> Iterator[str]:
    """Each feature once or more; the caller counts none twice."""
    yield from _plain(snapshot)
    yield from _gpus(snapshot, matrix)
    yield from _versions(snapshot, matrix)
    yield from _environment(snapshot)
    yield from _history(snapshot)
    yield from _of_lines(complaint)


def _plain(snapshot: Snapshot) -> Iterator[str]:
    for name in _PLAIN:
        fact = snapshot.facts.get(name)
        if fact is not None and fact.known:
            yield f"f:{name}={str(fact.value).lower()[:40]}"
    for name in _LISTS:
        value = snapshot.get(name).value
        yield from (f"f:{name}={one}" for one in (value if isinstance(value, tuple) else ())[:20])
    system = snapshot.get("os").value
    if isinstance(system, str) and system:
        yield f"f:os={system.split()[0].lower()}"
    for name in snapshot.facts:
        if name.startswith("pkg."):
            yield f"f:{name}"


def _gpus(snapshot: Snapshot, matrix: Matrix) -> Iterator[str]:
    families = sorted({str(g.get("family").value) for g in snapshot.gpus if isinstance(g.get("family").value, str)})
    yield from (f"f:family={family}" for family in families)
    if len(families) > 1:
        yield "f:mixed families"
    apus = [g for g in snapshot.gpus if g.get("is_apu").value is True]
    cards = [g for g in snapshot.gpus if g.get("is_apu").value is False]
    for gpu in snapshot.gpus[:16]:
        gfx = gpu.get("gfx").value
        if isinstance(gfx, str):
            yield f"f:gfx={gfx}"
            kind = matrix.gfx[gfx].family[:4] if gfx in matrix.gfx else ""
            yield f"f:kind={kind}"
    if apus and cards:
        yield "f:integrated beside card"
    elif apus:
        yield "f:integrated alone"
    if len(cards) > 1:
        yield "f:several cards"
        yield f"f:cards>{min(len(cards), 8) // 4 * 4}"
    if not snapshot.gpus:
        yield "f:no gpu stated"
    if snapshot.gpus_listed and not snapshot.gpus:
        yield "f:no gpu listed"
    reported = {str(g.get("gfx_reported").value) for g in snapshot.gpus if isinstance(g.get("gfx_reported").value, str)}
    if reported:
        yield "f:another target reported"


def _versions(snapshot: Snapshot, matrix: Matrix) -> Iterator[str]:
    known = matrix.once(reach)
    rocm, torchs = numbers(snapshot.get("rocm.version").value), numbers(snapshot.get("torch.rocm").value)
    torch, python = numbers(snapshot.get("torch.version").value), numbers(snapshot.get("python.version").value)
    kernel = numbers(snapshot.get("kernel").value)
    for name, version in (("rocm", rocm), ("torch.rocm", torchs), ("torch", torch), ("python", python), ("kernel", kernel)):
        if version:
            yield f"f:{name}={'.'.join(map(str, version[:2]))}"
            yield f"f:{name}={version[0]}"
        else:
            yield f"f:{name} not stated"
    if rocm and torchs and rocm[:2] != torchs[:2]:
        yield "f:torch for a " + ("newer" if torchs[:2] > rocm[:2] else "older") + " rocm than installed"
        if rocm[0] != torchs[0]:
            yield "f:torch for another rocm major"
    full = snapshot.get("torch.version").value
    if isinstance(full, str) and any(mark in full for mark in ("dev", "a0", "rc")):
        yield "f:torch nightly"
    for gpu in snapshot.gpus[:16]:
        yield from _against(gpu, rocm, torchs, known, snapshot)
    index = snapshot.get("said.torch_index").value
    if isinstance(index, str):
        yield f"f:index={re.sub(r'[0-9.]+.*', '', index)}"
        yield from (f"f:index {how}" for how in _ends(numbers(re.sub(r"^[a-z]+", "", index)), snapshot, known))
    if python and (python >= (3, 14) or python < (3, 9)):
        yield "f:python at the edge"


def _against(gpu: Gpu, rocm: Version, torchs: Version, known: Mapping[str, Reach], snapshot: Snapshot) -> Iterator[str]:
    gfx = str(gpu.get("gfx").value)
    span = known.get(gfx)
    if span is None:
        if gfx.startswith("gfx"):
            yield "f:no wheel has code for the gpu"
    else:
        for name, version in (("rocm", rocm), ("torch.rocm", torchs)):
            if version:
                yield f"f:{name} {'before the gpu' if version[:2] < span.first else 'after the gpu' if version[:2] > span.last else 'fits the gpu'}"
    for name in ("torch.arch_list", "code.torch", "torch.device_dists"):
        value = snapshot.get(name).value
        if isinstance(value, tuple) and gfx.startswith("gfx"):
            yield f"f:{name} {'holds' if gfx in value else 'lacks'} the gpu"


def _ends(index: Version, snapshot: Snapshot, known: Mapping[str, Reach]) -> Iterator[str]:
    for gpu in snapshot.gpus[:16]:
        span = known.get(str(gpu.get("gfx").value))
        if span and index:
            yield "ends before the gpu" if index[:2] < span.first else "fits the gpu"


def _environment(snapshot: Snapshot) -> Iterator[str]:
    override = "env.HSA_OVERRIDE_GFX_VERSION"
    for name, fact in snapshot.facts.items():
        if name.startswith("env.") and len(name) > 4:
            yield f"f:{name} {'not set' if fact.value is None else 'set'}"
    value = snapshot.get(override).value
    if isinstance(value, str):
        major = value.split(".")[0]
        for gpu in snapshot.gpus[:16]:
            gfx = str(gpu.get("gfx").value).removeprefix("gfx")
            if gfx.isalnum():
                own = gfx[:-2]
                yield f"f:override {'of the same generation' if own == major else 'of another generation'}"
                yield f"f:override {'names the gpu' if value.replace('.', '') == gfx else 'names another gpu'}"
    elif any(g.get("gfx").known for g in snapshot.gpus):
        yield "f:no override stated"


def _history(snapshot: Snapshot) -> Iterator[str]:
    changed = snapshot.get("said.changed").value
    if isinstance(changed, str):
        yield "f:something changed"
        yield from (f"f:changed {name}" for name, pattern in _COMPONENT.items() if pattern.search(changed))
    for name, fact in snapshot.facts.items():
        if name.startswith(("said.works.", "said.broken.", "said.before.", "said.other.")) and fact.value:
            yield f"f:{name}"
            side, _, what = name.removeprefix("said.").partition(".")
            if side == "works" and f"said.broken.{what}" in snapshot.facts:
                yield f"f:good and bad {what}"
    if isinstance(snapshot.get("said.nvidia").value, str):
        yield "f:nvidia gpu stated"


def _of_lines(text: str) -> Iterator[str]:
    """What the failing lines name: packages of traceback frames, libraries, and how much was said at all."""
    frames = _FRAME.findall(text)
    yield from (f"f:frame {name.lower()}" for name in set(frames[-6:]))
    if frames:
        yield f"f:last frame {frames[-1].lower()}"
        yield "f:traceback"
    yield from (f"f:library {name.lower()}" for name in set(_LIBRARY.findall(text)))
    size = len(text)
    yield f"f:{'short' if size < 200 else 'middling' if size < 1200 else 'long'} text"
    if "?" in text:
        yield "f:question"
    said = {name for name, found in _HISTORY.items() if found(text)}
    yield from (f"f:says {name}" for name in said)
    good_and_bad = "worked before" in said or any(name.endswith((" worked", " changed")) for name in said)
    for name, pattern in _RELEASES.items():
        if len({found[0].lower() for found in pattern.finditer(text)}) > 1:
            yield f"f:two releases of {name}"
            if good_and_bad:
                yield f"f:two releases of {name}, one good"
    symptoms = [name for name in _SYMPTOMS if name in said]
    yield from (f"f:{a} and {b}" for n, a in enumerate(symptoms) for b in symptoms[n + 1 :])


def _search(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.I).search


_RELEASES = {
    "kernel": re.compile(r"(?:kernel|linux)[ -]*v?(\d\.\d+(?:\.\d+)?)|\b([4-7]\.\d{1,2}\.\d{1,3}-[\w.-]+)", re.I),
    "rocm": re.compile(r"(?:rocm|hip)[ :_=-]*v?(\d{1,2}\.\d+(?:\.\d+)?)", re.I),
    "torch": re.compile(r"(?:py)?torch(?:==|[ :_=-]+)v?(\d\.\d+(?:\.\d+)?)", re.I),
    "driver": re.compile(r"(?:adrenalin|driver|amdgpu(?:-dkms)?)[ :_=-]*v?(\d{1,2}\.\d+(?:\.\d+)?)", re.I),
    "firmware": re.compile(r"firmware[ :_=-]*(?:git)?[ -]*(20\d{6})|\b(20\d{2}[01]\d[0-3]\d)\b", re.I),
}
_SYMPTOMS = (
    "hang",
    "crash",
    "wrong numbers",
    "slow",
    "on cpu",
    "no gpu",
    "memory",
    "import",
    "multi gpu",
    "vm",
    "permission",
    "reset",
    "fault",
)
_HISTORY: dict[str, Callable[[str], object]] = {
    **{
        f"{name} changed": _search(
            rf"(?:after|since|when|once)\b[^.\n]{{0,40}}(?:updat|upgrad|downgrad|install|switch|mov|chang|bump)[^.\n]{{0,40}}(?:{pattern})"
            rf"|(?:updat|upgrad|downgrad|switched|moved|rolled|revert|went back|going back|bump)\w*[^.\n]{{0,40}}(?:{pattern})"
        )
        for name, pattern in _COMPONENTS.items()
    },
    **{
        f"{name} worked": _search(
            rf"(?:{pattern})[^.\n]{{0,40}}(?:works|worked|fine|no problem|was ok|is ok|without (?:any )?(?:issue|problem))"
            rf"|(?:works|worked|fine|ok) (?:on|with|in|under|before)[^.\n]{{0,30}}(?:{pattern})"
        )
        for name, pattern in _COMPONENTS.items()
    },
    "worked before": _search(r"used to work|worked (?:before|fine|until|yesterday|last)|was (?:fine|working)|stopped working|no longer|regress|last (?:good|working|known)"),
    "all works": _search(r"(?:everything|all|it|training|inference) (?:else )?(?:works|runs|trains|is fine|seems fine|completes)|no (?:errors?|crash)|just (?:a )?(?:warning|wondering|curious)|harmless|feature request|would be (?:nice|great)|is (?:there|it) (?:a way|possible)|how (?:do|can|to|should)"),
    "hang": _search(r"\bhang|hung|stuck|freez|froze|deadlock|never (?:returns|finish)|locks? up|unresponsive"),
    "crash": _search(r"segfault|segmentation|core dump|sigsegv|exit(?:ed)? (?:code |with )?(?:-11|139)|access violation|crash"),
    "wrong numbers": _search(r"\bnan\b|garbage|gibberish|black image|wrong (?:result|output|number|answer)|all zeros?|corrupt|noise|nonsense"),
    "slow": _search(r"\bslow|\d+x slower|takes (?:forever|minutes|hours)|performance|tokens/s|it/s"),
    "on cpu": _search(r"(?:on|uses?|using|to) (?:the |my )?cpu|cpu only|gpu (?:is )?(?:idle|not used|0 ?%)"),
    "no gpu": _search(r"is_available\(\)\W{0,8}(?:returns? |is )?false|no (?:hip|cuda|rocm)[- ]?(?:gpus?|capable|devices?)|not (?:detect|see|find|recogni)\w*|device_count\W+0"),
    "memory": _search(r"out of memory|\boom\b|hiperroroutofmemory|gib|vram"),
    "install": _search(r"pip install|uv pip|no matching distribution|could not find a version|resolv|wheel"),
    "build": _search(r"compil|hipcc|cmake|ninja|setup\.py|building wheel|clang"),
    "import": _search(r"importerror|modulenotfound|import torch|cannot open shared object|undefined symbol|dll load"),
    "multi gpu": _search(r"multi-?gpu|two gpus|2 gpus|dual|torchrun|ddp|fsdp|all_?reduce|world_size|rank\d|nccl|rccl|device_map|tensor.parallel"),
    "vm": _search(r"proxmox|vfio|passthrough|pass-through|esxi|\bvm\b|qemu|kvm|hyper-v|guest"),
    "permission": _search(r"permission denied|eacces|not permitted|render group|usermod"),
    "reset": _search(r"gpu reset|ring \w+ timeout|mode1|mode2|mes failed|amdgpu_job_timedout|device lost|reboot|power off"),
    "root works": _search(r"(?:only|works?|runs?|fine|ok) (?:with|as|under|using) (?:sudo|root)|sudo \w+ +-> +(?:works|lists)|as root it"),
    "service": _search(r"systemd|service user|systemctl|daemon|\.service"),
    "integrated": _search(r"\bigpu\b|integrated|onboard|on-board|apu\b|raphael|granite ridge|radeon graphics|780m|680m|890m|vega 8"),
    "own build": _search(r"built? (?:it |from |my ?self)|compiled? (?:it |from |my ?self)|from source|cmake|make -j|building"),
    "application only": _search(r"comfyui|ollama|llama\.cpp|lm studio|koboldcpp|webui|sd\.next|lemonade|vllm|sglang"),
    "plain install": _search(r"pip3? install (?:-u |--upgrade )?torch(?! ?.*(?:index|whl))|pip3? install -r requirements"),
    "device nodes": _search(r"/dev/(?:kfd|dri)|renderd128"),
    "device options": _search(r"--device|--group-add|devices:|--privileged"),
    "nvidia build": _search(r"\bcuda\b|nvidia|\+cu1\d\d|cudnn|libcuda|nvrtc"),
    "cpu build": _search(r"\+cpu\b|hip: ?none|version\.hip\W+none|not compiled with cuda"),
    "symbol": _search(r"undefined symbol|glibc|abi|version `"),
    "no wheel": _search(r"no matching distribution|could not find a version|requires-python|is not a supported wheel"),
    "tensile": _search(r"tensile|rocblas/library|\.dat\b|\.co\b|\.hsaco"),
    "arch": _search(r"invalid device function|no kernel image|hiperrornobinaryforgpu|unsupported (?:gpu|arch)|not supported (?:gpu|arch)|not in the list"),
    "atomics": _search(r"atomics?\b|pcie ?(?:gen)? ?[123]\b|chipset slot|x1 riser|xeon e5|ivy ?bridge|sandy ?bridge"),
    "bar": _search(r"above.?4g|resizable|rebar|\bbar ?0|uma|bios|uefi"),
    "blank in path": _search(r"[a-z]:\\[^\n\\]* [^\n]*\\|path with (?:a )?spaces?|program files"),
    "cache": _search(r"cache|\.triton|kernel database|\.kdb|\.ufdb|sqlite"),
    "feature": _search(r"feature|enhancement|proposal|request|support for|documentation|docs?\b|question"),
    "harmless": _search(r"warn(?:ing)?\b"),
    "faulty hardware": _search(r"\becc\b|\bras\b|rma|uncorrect|another (?:pc|machine|slot|card)|swapp|psu|power cable|defect"),
    "fault": _search(r"memory access fault|page fault|page not present|vm_fault|illegal (?:memory|instruction|address)"),
}  # fmt: skip
