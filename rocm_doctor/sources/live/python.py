"""The examined Python, from its files: interpreter, installed packages, torch's version file. It is started only if files are not enough.

The folders of packages are those that the interpreter itself would search; the first one that holds a package wins, as on import.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Why
from rocm_doctor.sources.live.files import host_path, list_names, read, resolve

_RECORD = regex(
    r"(?P<name>[A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*)-(?P<version>v?\d[\w.+!]*)(?:-py\d(?:\.\d+)?)?\.(?:dist|egg)-info"
)
_LIBRARY = regex(r"python(\d+\.\d+)t?")
_PACKAGES = ("site-packages", "dist-packages")
_PROGRAMS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_SEARCHED = ("usr/local/bin/python3", "usr/bin/python3", "bin/python3")
"""Where a file system without an environment has its interpreter, in the order of the usual PATH."""
_START = (
    "import sys, json, sysconfig; p = sysconfig.get_paths(); print(json.dumps({'version': sys.version.split()[0], "
    "'prefix': sys.prefix, 'base_prefix': sys.base_prefix, 'executable': sys.executable, "
    "'folders': [p['purelib'], p['platlib']]}))"
)


class Interpreter(Struct, frozen=True):
    """A Python. `folders`: where it looks for packages, in its order; an empty field is not known."""

    executable: str
    version: str = ""
    prefix: str = ""
    base_prefix: str = ""
    folders: tuple[str, ...] = ()


class PackageRecord(Struct, frozen=True):
    """An installed package; `record` is its dist-info or egg-info."""

    name: str
    version: str
    record: Path


def python_files(python: str | None, root: Path, env: Mapping[str, str]) -> list[Artifact]:
    """Artifacts `py/...` of that interpreter (or folder of an environment), or of the one that runs the doctor."""
    examined = locate(python, root, env)
    if isinstance(examined, str):
        why: Why = "unparsed" if python and Path(python).exists() else "absent-source"
        return [Artifact("py/interpreter", "live", missing=why, note=examined)]
    return interpreter_files(examined, own=python is None and not own_is_active(env))


def interpreter_files(examined: Interpreter, *, own: bool = False) -> list[Artifact]:
    """Artifacts `py/...` of an interpreter that was located. `own`: no environment is active, so that it is the doctor's."""
    folders = [Path(folder) for folder in examined.folders]
    installed = list(_list_packages(folders))
    listing = "".join(f"{package.name}=={package.version}\n" for package in installed)
    return [_interpreter(examined, own), Artifact("py/packages", "live", listing), *_torch(folders, installed)]


def interpreter_in_root(python: str | None, root: Path) -> Interpreter | str:
    """The interpreter of an unpacked image or a mounted file system, which is never started, or the error message. `python`: its
    path inside of `root`; None looks in the usual places of PATH."""
    programs = (_program(root / name.lstrip("/"), root) for name in ([python] if python else _SEARCHED))
    path = next(filter(None, programs), None)
    found = _read_files(resolve(root, path.parent) / path.name, {}, root) if path else None
    where = f"{python} in {root}" if python else f"{root}"
    return found or f"{where}: no Python with packages found: name an interpreter or the folder of its environment with --python"


def locate(python: str | None, root: Path, env: Mapping[str, str]) -> Interpreter | str:
    """The interpreter and its folders, or the error message if the path has none."""
    if python is None:
        return _own_interpreter(root)
    path = _program(Path(python))
    if path is None:
        links = (link for link in (Path(python), *(Path(python) / name for name in _PROGRAMS)) if link.is_symlink())
        for link in links:
            return f"{python}: no Python found: {link} leads to {link.readlink()}, which is not there: make the environment anew"
        return f"{python}: no Python found: give the path of an interpreter or the folder of its environment"
    return (
        _read_files(path, env)
        or _ask_interpreter(path)
        or f"{python}: no Python found: its packages were not found, neither from its files nor by starting it"
    )


def active_interpreter(env: Mapping[str, str]) -> str | None:
    """The interpreter of the environment that is active in this shell, venv before conda. None without one, or if it is our own."""
    folder = active_folder(env)
    if folder is None or own_is_active(env):
        return None
    program = _program(folder)
    return str(program) if program else None


def own_is_active(env: Mapping[str, str]) -> bool:
    """True if the environment that is active in this shell is the doctor's own."""
    folder = active_folder(env)
    return folder is not None and folder.resolve() == Path(sys.prefix).resolve()


def active_folder(env: Mapping[str, str]) -> Path | None:
    """The folder of the environment that is active in this shell, venv before conda; it may be gone."""
    return next((Path(env[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)), None)


def _own_interpreter(root: Path) -> Interpreter:
    places = [Path(path) for path in sys.path if Path(path).name in _PACKAGES]
    if str(root) != "/":
        places = [place for path in places if (place := root / str(path).lstrip("/")).is_dir()]
    version = ".".join(map(str, sys.version_info[:3]))
    return Interpreter(sys.executable, version, sys.prefix, sys.base_prefix, tuple(dict.fromkeys(map(str, places))))


def _program(python: Path, root: Path = Path("/")) -> Path | None:
    """The executable for a path that names one, or a folder of an environment. Links stay: a venv's python is one."""
    paths = (path.absolute() for path in (python, *(python / name for name in _PROGRAMS)))
    return next((path for path in paths if resolve(root, path).is_file()), None)


def _read_files(path: Path, env: Mapping[str, str], root: Path = Path("/")) -> Interpreter | None:
    """Version and folders from pyvenv.cfg and the names of the library folders."""
    prefix = _prefix(path)
    config = _pyvenv(prefix)
    if not config:
        path = resolve(root, path)
        prefix = _prefix(path)
    minor = _minor(path, prefix, config, root)
    base = host_path(root, Path(config["home"]).parent) if config.get("home") else prefix
    own = _site_folders(prefix, minor, root) if minor else []
    if not minor or not own:
        return None
    if not config:
        own = [*_user_site(minor, env), *own]
    elif config.get("include-system-site-packages", "").lower() == "true":
        own += [*_user_site(minor, env), *_site_folders(base, minor, root)]
    version = re.match(r"\d+(?:\.\d+)*", config.get("version_info") or config.get("version") or minor)
    folders = tuple(dict.fromkeys(map(str, [*_python_path(env), *own])))
    return Interpreter(str(path), version.group() if version else minor, str(prefix), str(base), folders)


def _prefix(path: Path) -> Path:
    return path.parent.parent if path.parent.name in ("bin", "Scripts") else path.parent


def _pyvenv(prefix: Path) -> dict[str, str]:
    text = next((a.text for a in read(prefix, "pyvenv.cfg")), "")
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _minor(path: Path, prefix: Path, config: Mapping[str, str], root: Path) -> str | None:
    """`3.12`: from pyvenv.cfg, the program's own name, or the only library folder."""
    stated = re.match(r"\d+\.\d+", config.get("version_info") or config.get("version") or "")
    if stated:
        return stated.group()
    program = _LIBRARY.fullmatch(resolve(root, path).name.removesuffix(".exe"))
    if program:
        return program.group(1)
    only = {found.group(1) for name in list_names(prefix, "lib") if (found := _LIBRARY.fullmatch(name))}
    return only.pop() if len(only) == 1 else None


def _site_folders(prefix: Path, minor: str, root: Path) -> list[Path]:
    """Folders of packages under a prefix, each once; Debian's own come in place of site-packages."""
    names = [f"{lib}/python{minor}{threads}/site-packages" for lib in ("lib", "lib64") for threads in ("", "t")]
    if prefix == root / "usr":
        local = [f"local/lib/python{minor}/{folder}" for folder in ("dist-packages", "site-packages")]
        names = [*local, *names, "lib/python3/dist-packages"]
    found = {resolve(root, path): path for name in [*names, "Lib/site-packages"] if (path := prefix / name)}
    return [path if root == Path("/") else real for real, path in found.items() if real.is_dir()]


def _user_site(minor: str, env: Mapping[str, str]) -> list[Path]:
    if env.get("PYTHONNOUSERSITE") or not env.get("HOME"):
        return []
    path = Path(env["HOME"], ".local", "lib", f"python{minor}", "site-packages")
    return [path] if path.is_dir() else []


def _python_path(env: Mapping[str, str]) -> list[Path]:
    """Folders of packages that PYTHONPATH puts before all others (module systems of clusters do)."""
    paths = (Path(part) for part in env.get("PYTHONPATH", "").split(os.pathsep) if part)
    return [path for path in paths if path.name in _PACKAGES]


def _ask_interpreter(path: Path) -> Interpreter | None:
    """Ask the interpreter itself (a shim, an unusual build), without its site module and with a time limit."""
    from rocm_doctor.workers.process import run

    printed = run([str(path), "-I", "-S", "-c", _START], limit=5.0).stdout
    try:
        found = jsons.decode(printed.strip() or "null", Interpreter)
    except Unreadable:
        return None
    # A NUL in a path raises ValueError wherever the path is used.
    return None if any("\0" in path for path in (found.prefix, found.base_prefix, found.executable, *found.folders)) else found


def _interpreter(python: Interpreter, own: bool) -> Artifact:
    facts = {
        "version": python.version,
        "prefix": python.prefix,
        "base_prefix": python.base_prefix,
        "executable": python.executable,
        "platform": sys.platform,
        "folders": os.pathsep.join(python.folders),
        "owner": "the doctor" * own,
    }
    return Artifact("py/interpreter", "live", "".join(f"{key}: {value}\n" for key, value in facts.items() if value))


def _list_packages(folders: Sequence[Path]) -> Iterator[PackageRecord]:
    """Each package, from the names of the records. An earlier folder hides a later one; two records in one folder both count."""
    seen: set[str] = set()
    for folder in folders:
        records = ((found, name) for name in list_names(folder, "") if (found := _RECORD.fullmatch(name)))
        fresh = [
            PackageRecord(found["name"], found["version"], folder / name)
            for found, name in records
            if _key(found["name"]) not in seen
        ]
        seen.update(_key(package.name) for package in fresh)
        yield from sorted(fresh, key=lambda package: _key(package.name))


def _key(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()


def _torch(folders: Sequence[Path], installed: Sequence[PackageRecord]) -> Iterator[Artifact]:
    """torch's version file, the head of its metadata, and the start-up file that loads ROCm's wheels."""
    home = next((folder for folder in folders if (folder / "torch" / "version.py").is_file()), None)
    if home is None:
        note = "no torch in " + (", ".join(map(str, folders)) or "any folder of this interpreter")
        yield Artifact("py/torch/version.py", "live", missing="absent-source", note=note)
        return
    files = [*read(home, "torch/version.py"), *read(home, "torch/_rocm_init.py", note_absent=True)]
    for package in (one for one in installed if _key(one.name) == "torch"):
        files += read(package.record.parent, f"{package.record.name}/METADATA", keep=_head)
    yield from (structs.replace(file, name=f"py/{file.name}") for file in files)


def _head(text: str) -> str:
    """The fields of a METADATA file, without the description below them."""
    return text.split("\n\n", 1)[0] + "\n"
