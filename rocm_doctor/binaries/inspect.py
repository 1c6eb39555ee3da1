"""The GPU code of one file: ELF and PE libraries, code objects, single bundles, kpack archives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from rocm_doctor.binaries import bundle, container, kpack
from rocm_doctor.binaries.bundle import Bundle, Damaged, NoDecoder
from rocm_doctor.binaries.container import Layout, Span
from rocm_doctor.binaries.types import Holding
from rocm_doctor.binaries.view import Overread, View
from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.files import open_file
from rocm_doctor.model import Why

EXTRA = "pip install backports.zstd"
Found = tuple[Holding, "kpack.Contents | None"]


def inspect_file(path: Path, library: str, shown: str) -> Found | None:
    """The file's GPU code; None if it has none. `shown` is the path to report."""
    try:
        with open_file(path) as handle:
            return inspect(View(handle, path.stat().st_size), library, shown)
    except OSError as error:
        return unreadable_holding(library, shown, f"{error.strerror or error}", "denied"), None
    except Unreadable as error:
        return unreadable_holding(library, shown, str(error)), None


def inspect(view: View, library: str, shown: str) -> Found | None:
    """The GPU code of these bytes. Never raises for malformed content: the holding's `problem` records it."""
    try:
        return _inspect(view, library, shown)
    except (Damaged, Overread) as error:
        return unreadable_holding(library, shown, str(error)), None


def unreadable_holding(library: str, shown: str, problem: str, why: Why = "unparsed") -> Holding:
    """A holding that records why a file could not be read."""
    return Holding(library, shown, "fatbin", problem=problem, why=why)


def _inspect(view: View, library: str, shown: str) -> Found | None:
    head = view.at(0, 24)
    if head.startswith(b"\x7fELF"):
        layout = container.elf_layout(view)
        if layout.target:
            return Holding(library, shown, "code-object", (layout.target,)), None
        return _library(view, layout, library, shown)
    if head.startswith(b"MZ"):
        return _library(view, container.pe_layout(view), library, shown)
    if head.startswith(kpack.MAGIC):
        contents = kpack.read_contents(view)
        return Holding(library, shown, "kpack", contents.targets(), bundles=len(contents.toc)), contents
    if bundle.is_bundle(head):
        return _library(view, Layout((Span(0, view.size),)), library, shown)
    return None


def _library(view: View, layout: Layout, library: str, shown: str) -> Found | None:
    if layout.kpack_ref is not None:
        reference = kpack.read_reference(view, layout.kpack_ref.offset, layout.kpack_ref.size)
        kept = Holding(library, shown, "split", needed=layout.needed, key=reference.kernel_name)
        return kept, None
    if not layout.fatbins:
        return None
    return _fatbin(view, layout, library, shown), None


def _fatbin(view: View, layout: Layout, library: str, shown: str) -> Holding:
    bundles: list[Bundle] = []
    problem = ""
    why: Why = "unparsed"
    for span in layout.fatbins:
        if span.empty:
            problem = "the section is empty and no .rocm_kpack_ref names its archive"
            continue
        try:
            found, trouble = bundle.walk(view, span.offset, span.size)
        except NoDecoder:
            found, trouble, why = [], f"compressed with zstd, and no decoder is installed: {EXTRA}", "no-tool"
        bundles += found
        problem = problem or trouble
    if not problem and layout.wrappers > len(bundles):
        problem = f"the host code registers {layout.wrappers} fat binaries, but {len(bundles)} were found"
    return _sum_bundles(Holding(library, shown, "fatbin", needed=layout.needed), bundles, problem, why)


def _sum_bundles(holding: Holding, bundles: list[Bundle], problem: str, why: Why) -> Holding:
    counts = Counter(target for b in bundles for target in b.targets)
    filled = sum(1 for b in bundles if b.targets)
    return msgspec.structs.replace(
        holding,
        targets=tuple(sorted(counts, key=target_order)),
        partial=tuple(sorted((t for t, n in counts.items() if n < filled), key=target_order)),
        bundles=len(bundles),
        encodings=tuple(sorted({b.encoding for b in bundles})),
        problem=problem,
        why=why,
    )


def target_order(target: str) -> tuple[int, str]:
    """Sort key: gfx90a before gfx1030, as people list them."""
    name = target.split(":")[0].removeprefix("gfx")
    return len(name.split("-")[0]), target
