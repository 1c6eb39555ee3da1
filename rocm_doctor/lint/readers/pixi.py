"""pixi.toml and Pipfile: one environment for each feature that concerns the GPU stack, and the Pipfile's own.

Reference: https://pixi.sh/latest/reference/pixi_manifest/ and https://pipenv.pypa.io/en/latest/pipfile.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.lint.declared import Environment, Index, Requirement, Step
from rocm_doctor.lint.readers import installs
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.toml import Lines, items, load, strings, table


def environments(tree: Tree, path: str) -> Iterator[Environment]:
    """The default environment of a pixi.toml, and each feature on top of it."""
    loaded = load(tree, path)
    if loaded is None:
        return
    data, lines = loaded
    workspace = table(data, "workspace") or table(data, "project")
    channels = tuple(Index(c, "extra", lines.place(c)) for c in strings(workspace.get("channels")))
    default = _steps(data, lines, channels)
    if default:
        yield Environment(path, default[0].place, steps=tuple(default), sort="conda")
    for name, feature in table(data, "feature").items():
        steps = _steps(feature, lines, channels)
        if steps:
            yield Environment(f"{path} feature {name}", steps[0].place, steps=(*default, *steps), sort="conda", labels=(name,))


def _steps(data: Any, lines: Lines, channels: tuple[Index, ...]) -> list[Step]:
    found: list[Step] = []
    conda = table(data, "dependencies")
    if conda:
        needed = [r for name, value in conda.items() for r in installs.conda_requirement(_spec(name, value), lines.place(name))]
        found.append(Step("conda", needed[0].place if needed else lines.place("dependencies"), tuple(needed), (), channels))
    pypi = table(data, "pypi-dependencies")
    if pypi:
        options = table(data, "pypi-options")
        indexes = [Index(url, "extra", lines.place(url)) for url in strings(options.get("extra-index-urls"))]
        if isinstance(options.get("index-url"), str):
            indexes.append(Index(options["index-url"], "default", lines.place(options["index-url"])))
        wanted = [_pypi(name, value, lines) for name, value in pypi.items()]
        bound = [
            Index(v["index"], "bound", lines.place(v["index"]), (str(canonicalize_name(n)),))
            for n, v in pypi.items()
            if isinstance(v, dict) and isinstance(v.get("index"), str)
        ]
        found.append(Step("uv", wanted[0].place, tuple(wanted), (), (*indexes, *bound)))
    return found


def _spec(name: str, value: Any) -> str:
    version = value.get("version", "*") if isinstance(value, dict) else value
    text = "" if version in ("*", "") or not isinstance(version, str) else version
    return name + (text if text[:1] in "<>=!~" else f"={text}" if text else "")


def _pypi(name: str, value: Any, lines: Lines) -> Requirement:
    version = value.get("version", "*") if isinstance(value, dict) else value
    url = value.get("url", "") if isinstance(value, dict) else ""
    spec = "" if version == "*" or not isinstance(version, str) else version
    marker = str(value.get("markers", "")) if isinstance(value, dict) else ""
    return Requirement(str(canonicalize_name(name)), spec, lines.place(name, "="), url=str(url), marker=marker)


def pipfile(tree: Tree, path: str) -> Iterator[Environment]:
    """A Pipfile: its sources are all asked, a package with `index` only that one."""
    loaded = load(tree, path)
    if loaded is None:
        return
    data, lines = loaded
    sources = {str(s.get("name")): str(s["url"]) for s in items(data.get("source")) if isinstance(s.get("url"), str)}
    indexes = [Index(url, "default" if "pypi" in url else "extra", lines.place(url)) for url in sources.values()]
    needed: list[Requirement] = []
    for name, value in table(data, "packages").items():
        r = _pypi(name, value, lines)
        needed.append(r)
        index = value.get("index") if isinstance(value, dict) else None
        if index in sources:
            indexes.append(Index(sources[index], "bound", r.place, (r.name,)))
    if needed:
        yield Environment(
            path, needed[0].place, steps=(Step("pip", needed[0].place, tuple(needed), (), tuple(indexes)),), sort="project"
        )
