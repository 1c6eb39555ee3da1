"""ROCm installations, found without a tool: version files, names of libraries, and the folders the loader searches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.files import exists, expand, list_names, read_all, resolve

LIBRARIES = (
    "libamdhip64.so", "libhsa-runtime64.so", "librocm-core.so", "librocblas.so", "libhipblaslt.so", "libMIOpen.so", "librccl.so",
)  # fmt: skip
_SYSTEM_FOLDERS = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib64/rocm", "usr/lib", "usr/local/lib")


def rocm_files(root: Path, env: Mapping[str, str]) -> list[Artifact]:
    """Version files of every installation, and listings of the library folders in question."""
    places = installations(root, env)
    folders = [*_library_folders(root, env), *(f"{place}/{lib}" for place in places for lib in ("lib", "lib64"))]
    files = (*(f"{place}/.info/version" for place in places), "etc/ld.so.conf.d/*")
    return [*_links(root), *read_all(root, *files), *_listings(root, dict.fromkeys(folders))]


def installations(root: Path, env: Mapping[str, str]) -> list[str]:
    """Folders that may hold a ROCm, without leading slash: /opt/rocm*, /opt/rocm/core-*, and what the environment names."""
    opt = [*expand(root, "opt/rocm*"), *expand(root, "opt/rocm*/core*")]
    by_variables = [env[name].strip("/") for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH") if env.get(name, "").startswith("/")]
    return list(dict.fromkeys(place for place in [*opt, *by_variables] if place and _is_folder(root, place)))


def _is_folder(root: Path, place: str) -> bool:
    """True for a folder below `root`. An absolute link of an unpacked image would lead out of it: what it names is listed itself."""
    return (root / place).is_dir() and (root / place).resolve().is_relative_to(root.resolve())


def _links(root: Path) -> Iterator[Artifact]:
    """Where /opt/rocm leads in the end (distributions put an alternative between)."""
    path = root / "opt/rocm"
    if path.is_symlink():
        yield Artifact("opt/rocm", "live", f"link: /{os.path.relpath(resolve(root, path), root)}\n")
    elif not exists(root, "opt/rocm"):
        yield Artifact("opt/rocm", "live", missing="absent-source", note="No such file or directory")


def _library_folders(root: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Library folders without leading slash, in the order in which the loader looks into them."""
    lines = (line.strip() for file in read_all(root, "etc/ld.so.conf.d/*") for line in file.text.splitlines())
    for folder in (*env.get("LD_LIBRARY_PATH", "").split(":"), *lines):
        if folder.startswith("/"):
            yield folder.strip("/")
    yield from _SYSTEM_FOLDERS


def _listings(root: Path, folders: Iterable[str]) -> Iterator[Artifact]:
    """`FOLDER/.listing`: the ROCm libraries in it, one a line, a link with its target (which spells the full version)."""
    seen: set[Path] = set()
    for folder in folders:
        real = (root / folder).resolve()
        names = (
            []
            if real in seen
            else [name for name in list_names(root, folder) if name.startswith(LIBRARIES) or name == "rocm_sysdeps"]
        )
        seen.add(real)
        if names:
            yield Artifact(f"{folder}/.listing", "live", "".join(_entry(root / folder / name) for name in names))


def _entry(path: Path) -> str:
    try:
        return f"{path.name} -> {path.readlink().name}\n"
    except OSError:
        return f"{path.name}\n"
