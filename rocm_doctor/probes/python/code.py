"""`code.<library>`: the gfx targets whose code the installed libraries hold, from a recorded audit.

`binaries/audit.py` reads the files and writes `code/audit.json`; this turns that text into facts, live or from a bundle. Feature
modifiers are kept apart: `code.torch` has gfx90a, and `code.torch.ids` gfx90a:xnack+ where a code object states one.
`soname.<library>` are the ROCm libraries it is linked to. What could not be read completely is unknown, with the reason.

    ==> code/audit.json <==
    {"place": "/home/ada/.venv", "kind": "environment", "holdings": [{"library": "torch", "kind": "fatbin",
     "path": "torch/lib/libtorch_hip.so", "targets": ["gfx90a:xnack-", "gfx1100"], "needed": ["libamdhip64.so.7"]}]}

>>> print(probe(sample))
code.torch = gfx90a, gfx1100
code.torch.ids = gfx90a:xnack-, gfx1100
soname.torch = libamdhip64.so.7
"""

from __future__ import annotations

from collections.abc import Iterable

from rocm_doctor.binaries.types import ARTIFACT, Audit, Holding
from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.model import Reading, Unknown, Value
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

# A library can hold its kernels in several kinds of container; the first kind present decides what it can run.
_ORDER = ("tensile", "fatbin", "split", "code-object", "kpack")
_PREFERRED = ("torch/lib/libtorch_hip.", "torch/lib/torch_hip.", "torch/", "_rocm_sdk_libraries")


def probe(artifacts: Artifacts) -> ProbeResult:
    """The facts of `code/audit.json`; none if no audit was made."""
    result = ProbeResult()
    source = artifacts.get(ARTIFACT)
    if source is None or source.missing:
        return result
    try:
        audit = jsons.decode(source.text, Audit)
    except Unreadable as error:
        result.fail(ARTIFACT, f"not an audit: {error}")
        return result
    libraries: dict[str, list[Holding]] = {}
    for holding in audit.holdings:
        libraries.setdefault(holding.library, []).append(holding)
    for name, holdings in libraries.items():
        _record_targets(result, name, _chosen_library(audit) if name == "bitsandbytes" else _deciding_library(holdings))
    if "bitsandbytes" in libraries and not _chosen_library(audit):
        _record_no_choice(result, audit, libraries["bitsandbytes"])
    for name in ("bitsandbytes", "xformers"):
        if name in audit.versions and name not in libraries:
            result.record(
                f"code.{name}", None, Reading(ARTIFACT, name, f"{name} {audit.versions[name]} holds no code for AMD GPUs")
            )
    return result


def _chosen_library(audit: Audit) -> list[Holding]:
    """The library of bitsandbytes that will be loaded."""
    path = audit.bitsandbytes.path if audit.bitsandbytes else ""
    return [h for h in audit.holdings if path and h.path == path]


def _record_no_choice(result: ProbeResult, audit: Audit, libraries: list[Holding]) -> None:
    """Record that no library of bitsandbytes fits this torch; unknown without a ROCm torch, which decides the library."""
    if audit.bitsandbytes is None:
        result.record("code.bitsandbytes", Unknown("absent-source"), Reading(ARTIFACT, libraries[0].path))
    else:
        result.record("code.bitsandbytes", (), Reading(ARTIFACT, "bitsandbytes/", audit.bitsandbytes.because))


def _deciding_library(holdings: list[Holding]) -> list[Holding]:
    """The holdings of the first kind: of torch its main library, of others the copy that torch loads (its own, else the SDK's)."""
    kind = min((h.kind for h in holdings), key=_ORDER.index)
    same = [h for h in holdings if h.kind == kind or (h.problem and kind != "tensile")]
    for part in _PREFERRED:
        preferred = [h for h in same if part in h.path]
        if preferred:
            return preferred
    return same


def _record_targets(result: ProbeResult, name: str, holdings: list[Holding]) -> None:
    for holding in holdings:
        if holding.problem:
            reading = Reading(ARTIFACT, holding.path, holding.problem)
            result.record(f"code.{name}", Unknown(holding.why), reading)
            return
    if not holdings:
        return
    ids = _drop_repeats(target for h in holdings for target in h.targets)
    plain = _drop_repeats(target.split(":")[0] for target in ids)
    readings = [Reading(ARTIFACT, h.path, describe(h)) for h in holdings]
    _record_all(result, f"code.{name}", plain, readings)
    if plain != ids:
        _record_all(result, f"code.{name}.ids", ids, readings)
    needed = _drop_repeats(soname for h in holdings for soname in h.needed)
    if needed:
        _record_all(
            result, f"soname.{name}", needed, [Reading(ARTIFACT, h.path, " ".join(h.needed)) for h in holdings if h.needed]
        )


def _record_all(result: ProbeResult, key: str, value: Value, readings: Iterable[Reading]) -> None:
    for reading in readings:
        result.record(key, value, reading)


def describe(holding: Holding) -> str:
    """One line of evidence: the file and the code it holds."""
    what = {
        "fatbin": f"{holding.bundles} bundles of code objects ({', '.join(holding.encodings)})",
        "split": f"GPU code kept outside of the library ({holding.note})",
        "kpack": f"kpack archive with the code of {holding.bundles} binaries",
        "code-object": "a code object",
    }.get(holding.kind, holding.note)
    partial = f"; only in some of them: {' '.join(holding.partial)}" if holding.partial else ""
    return f"{what}: {' '.join(holding.targets) or 'no target'}{partial}"


def _drop_repeats(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
