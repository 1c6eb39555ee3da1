"""The examined Python, from its files: interpreter, installed packages, and torch's own version file. It is not started where files tell.

The folders of packages are those that the interpreter itself would search; the first one that holds a package wins, as on import.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from rocm_doctor.model import Artifact, Why
from rocm_doctor.sources.live_files import read

_DIST = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*)-(?P<version>v?\d[\w.+!]*)(?:-py\d(?:\.\d+)?)?\.(?:dist|egg)-info")
_LIBRARY = re.compile(r"python(\d+\.\d+)t?")
_DEBIAN = ("lib/python3/dist-packages",)
_START = (
    "import sys, json, sysconfig; p = sysconfig.get_paths(); print(json.dumps({'version': sys.version.split()[0], 'prefix': sys.prefix,"
    " 'base_prefix': sys.base_prefix, 'executable': sys.executable, 'folders': [p['purelib'], p['platlib']]}))"
)
_TORCH_FOLDERS = ("torch/lib", "torch/lib/rocblas/library", "torch/lib/hipblaslt/library", "torch/lib/aotriton.images")
_TORCH_TEXTS = ("torch/_rocm_init.py", "rocm_sdk/_dist_info.py")


class Interpreter(Struct, frozen=True):
    """A Python, and the folders in which it looks for packages, in its order."""

    executable: str
    version: str = ""
    prefix: str = ""
    base_prefix: str = ""
    folders: tuple[str, ...] = ()


def python_files(python: str | None, root: Path, env: Mapping[str, str]) -> list[Artifact]:
    """Artifacts `py/...` of that interpreter (or folder of an environment), or of the one that runs us."""
    examined = locate(python, root, env)
    if isinstance(examined, str):
        why: Why = "absent-source" if not os.path.exists(python or "") else "unparsed"
        return [Artifact("py/interpreter", "live", missing=why, note=examined)]
    installed = list(_installed(examined.folders))
    listing = "".join(f"{name}=={version}\n" for name, version, _ in installed)
    return [_interpreter(examined), Artifact("py/packages", "live", listing), *_torch(examined.folders, installed)]


def locate(python: str | None, root: Path, env: Mapping[str, str]) -> Interpreter | str:
    """The interpreter and its folders; words for the user when there is none under that path."""
    if python is None:
        return _own(root)
    path = _program(python)
    if path is None:
        return f"{python}: no Python there; give the path of an interpreter or the folder of its environment"
    return _from_files(path, env) or _from_start(path) or f"{python}: neither its files nor a start tell where its packages are"


def _own(root: Path) -> Interpreter:
    places = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    if str(root) != "/":
        places = [place for place in (os.path.join(root, path.lstrip("/")) for path in places) if os.path.isdir(place)]
    version = ".".join(map(str, sys.version_info[:3]))
    return Interpreter(sys.executable, version, sys.prefix, sys.base_prefix, tuple(dict.fromkeys(places)))


def _program(python: str) -> str | None:
    """The executable for a path that names one, or a folder of an environment."""
    inside = ("", "bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
    paths = (os.path.abspath(os.path.join(python, name) if name else python) for name in inside)
    return next((path for path in paths if os.path.isfile(path)), None)


def _from_files(path: str, env: Mapping[str, str]) -> Interpreter | None:
    """What pyvenv.cfg and the names of the library folders tell."""
    prefix = os.path.dirname(os.path.dirname(path)) if os.path.basename(os.path.dirname(path)) in ("bin", "Scripts") else os.path.dirname(path)
    config = _pyvenv(prefix)
    if not config:
        path = os.path.realpath(path)
        prefix = os.path.dirname(os.path.dirname(path)) if os.path.basename(os.path.dirname(path)) == "bin" else os.path.dirname(path)
    minor = _minor(path, prefix, config)
    if minor is None:
        return None
    folders = _site_folders(prefix, minor)
    base = os.path.dirname(config["home"]) if config.get("home") else prefix
    if not config or config.get("include-system-site-packages") == "true":
        folders = [*folders, *_user_site(minor, env), *(_site_folders(base, minor) if config else [])]
    version = config.get("version_info") or config.get("version") or minor
    return Interpreter(path, re.sub(r"\.(?:final|candidate|beta|alpha)\.\d+$", "", version), prefix, base, tuple(dict.fromkeys(folders))) if folders else None


def _pyvenv(prefix: str) -> dict[str, str]:
    text = next((a.text for a in read(Path(prefix), "pyvenv.cfg")), "")
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _minor(path: str, prefix: str, config: Mapping[str, str]) -> str | None:
    """`3.12`: from pyvenv.cfg, the program's own name, or the only library folder that there is."""
    stated = re.match(r"\d+\.\d+", config.get("version_info") or config.get("version") or "")
    named = re.fullmatch(r"python(\d+\.\d+)t?(?:\.exe)?", os.path.basename(os.path.realpath(path)))
    if stated or named:
        return stated.group() if stated else named.group(1) if named else None
    only = {found.group(1) for name in _names(os.path.join(prefix, "lib")) if (found := _LIBRARY.fullmatch(name))}
    return only.pop() if len(only) == 1 else None


def _site_folders(prefix: str, minor: str) -> list[str]:
    library = [f"lib/python{minor}/site-packages", f"lib64/python{minor}/site-packages", f"lib/python{minor}t/site-packages", "Lib/site-packages"]
    system = [f"local/lib/python{minor}/dist-packages", f"lib/python{minor}/dist-packages", *_DEBIAN] if prefix == "/usr" else []
    found = (os.path.join(prefix, name) for name in [*system[:1], *library, *system[1:]])
    return list({os.path.realpath(path): path for path in found if os.path.isdir(path)}.values())


def _user_site(minor: str, env: Mapping[str, str]) -> list[str]:
    if env.get("PYTHONNOUSERSITE") or not env.get("HOME"):
        return []
    path = os.path.join(env["HOME"], ".local", "lib", f"python{minor}", "site-packages")
    return [path] if os.path.isdir(path) else []


def _from_start(path: str) -> Interpreter | None:
    """Ask the interpreter itself (a shim, an unusual build), without its site module and with a time limit."""
    import msgspec

    from rocm_doctor.sources.process import run

    told = run([path, "-I", "-S", "-c", _START], limit=5.0).stdout
    try:
        return msgspec.json.decode(told.strip() or "null", type=Interpreter)
    except msgspec.DecodeError:
        return None


def _interpreter(python: Interpreter) -> Artifact:
    facts = {
        "version": python.version, "prefix": python.prefix, "base_prefix": python.base_prefix, "executable": python.executable,
        "platform": sys.platform, "folders": os.pathsep.join(python.folders),
    }  # fmt: skip
    return Artifact("py/interpreter", "live", "".join(f"{key}: {value}\n" for key, value in facts.items() if value))


def _installed(folders: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(name, version, path of its record) of each package, from the names of the records alone; an earlier folder hides a later one."""
    seen: set[str] = set()
    for folder in folders:
        found = [(match["name"], match["version"], name) for name in sorted(_names(folder)) if (match := _DIST.fullmatch(name))]
        fresh = [(name, version, os.path.join(folder, record)) for name, version, record in found if _key(name) not in seen]
        seen.update(_key(name) for name, _, _ in fresh)
        yield from fresh


def _key(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _torch(folders: Sequence[str], installed: Sequence[tuple[str, str, str]]) -> Iterator[Artifact]:
    """torch's version file, the head of its record, and the names that tell how it was built."""
    home = next((folder for folder in folders if os.path.isfile(os.path.join(folder, "torch", "version.py"))), None)
    if home is None:
        note = "no torch in " + (", ".join(folders) or "any folder of this interpreter")
        yield Artifact("py/torch/version.py", "live", missing="absent-source", note=note)
        return
    for name in ("torch/version.py", *_TORCH_TEXTS):
        yield from (_renamed(a) for a in read(Path(home), name, note_absent=name in _TORCH_TEXTS))
    for name, _, record in installed:
        if _key(name) == "torch":
            yield from (_renamed(a) for a in read(Path(os.path.dirname(record)), f"{os.path.basename(record)}/METADATA", keep=_head))
    for folder in _TORCH_FOLDERS:
        names = [name for name in _names(os.path.join(home, folder)) if folder == "torch/lib" or "gfx" in name]
        if names:
            yield Artifact(f"py/{folder}/.listing", "live", "".join(f"{name}\n" for name in sorted(names)))


def _renamed(artifact: Artifact) -> Artifact:
    return Artifact(f"py/{artifact.name}", "live", artifact.text, missing=artifact.missing, note=artifact.note)


def _head(text: str) -> str:
    """The fields of a METADATA file, without the description below them."""
    return text.split("\n\n", 1)[0] + "\n"
