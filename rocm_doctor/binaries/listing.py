"""The files of a place, from folder listings only. `check` lists the folders that matter for training, an audit all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rocm_doctor.bounded.files import is_utf8

MAX_FILES = 200_000

# The folders of site-packages that training depends on, which `check` reads. A full audit walks everything.
RELEVANT = (
    "torch/lib", "torch", "torch/.kpack", "torch/lib/.kpack", "torch/lib/library", "torch/lib/rocblas/library",
    "torch/lib/hipblaslt/library",
    "_rocm_sdk_libraries*/lib", "_rocm_sdk_libraries*/bin", "_rocm_sdk_libraries*/.kpack", "_rocm_sdk_libraries*/lib/.kpack",
    "_rocm_sdk_libraries*/*/rocblas/library", "_rocm_sdk_libraries*/*/hipblaslt/library",
    "bitsandbytes", "xformers", "flash_attn_3", "vllm", "torchvision", "torchaudio/lib", "deepspeed/ops", "aiter/jit",
    "jax_plugins/*", "jax_rocm*_plugin", "tensorflow", "sgl_kernel", "llama_cpp/lib",
)  # fmt: skip
RELEVANT_TOP = ("flash_attn_2_cuda*", "causal_conv1d_cuda*", "selective_scan_cuda*")


def walk(root: Path) -> Iterator[str]:
    """Files below `root` as relative paths with `/`. Links to folders are followed, and each folder is entered once.
    `__pycache__` and `node_modules` are skipped, and what `list_folder` leaves out. No further folder is entered after MAX_FILES
    entries."""
    pending = [""]
    visited: set[tuple[int, int]] = set()
    seen = 0
    while pending and seen < MAX_FILES:
        folder = pending.pop()
        identity = _identity(root / folder)
        if identity is None or identity in visited:
            continue
        visited.add(identity)
        for name, is_folder in list_folder(root / folder):
            seen += 1
            if not is_folder:
                yield folder + name
            elif name not in ("__pycache__", "node_modules"):
                pending.append(f"{folder}{name}/")


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def relevant_files(site: Path) -> Iterator[str]:
    """Files of the folders of `RELEVANT` as relative paths, and the metadata folders of the packages, with a '/' at the end."""
    top = list_folder(site)
    for name, is_folder in top:
        if not is_folder and any(fnmatchcase(name, glob) for glob in RELEVANT_TOP):
            yield name
        elif name.endswith(".dist-info"):
            yield name + "/"
    names = [name for name, is_folder in top if is_folder]
    for glob in RELEVANT:
        for folder in _expand(site, glob, names):
            yield from (f"{folder}/{name}" for name, is_folder in list_folder(site / folder) if not is_folder)


def _expand(site: Path, glob: str, names: Iterable[str]) -> list[str]:
    """Folders that match; only the first part, whose candidates are known, and single stars are looked up."""
    first, _, rest = glob.partition("/")
    tops = [name for name in names if fnmatchcase(name, first)]
    if "*" not in rest:
        return [f"{top}/{rest}".rstrip("/") for top in tops]
    return [p.relative_to(site).as_posix() for top in tops for p in (site / top).glob(rest)]


def list_folder(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder; none for a folder that is missing or unreadable.

    A link to a neighbour (libx.so -> libx.so.5) is left out, one to elsewhere is not: some installers link whole packages.
    """
    try:
        with os.scandir(folder) as entries:
            return [(e.name, e.is_dir()) for e in entries if is_utf8(e.name) and not _is_companion(e)]
    except OSError:
        return []


def _is_companion(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and os.path.dirname(os.readlink(entry.path)) == ""  # noqa: PTH115, PTH120 (hundreds of them)
