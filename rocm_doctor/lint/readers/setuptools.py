"""setup.py and setup.cfg: what they require, as far as it is written out. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from rocm_doctor.lint.declared import Environment, Place, Purpose, ReadProblem, Requirement, Step
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.readers import requirements
from rocm_doctor.lint.readers.files import Tree, quoted

MAX_TEXT = 2**18
Pairs = list[tuple[str, int]]


def environments(tree: Tree, path: str) -> Iterator[Environment]:
    """The package as pip installs it, where no pyproject.toml beside it lists the dependencies."""
    found = _required(tree, path, ())
    if found:
        yield Environment(path, Place(path, found[0][1]), steps=(_step(tree, path, found),), sort="project", open=True)
    for extra, line in _extras(tree, path):
        kind, word = named(extra)
        if kind == "neutral":
            continue
        more = _required(tree, path, (extra,))
        problem = ReadProblem(Place(path, line), f"the packages of the extra {extra} are made by code")
        yield Environment(
            f"{path} extra {extra}", Place(path, line), steps=(_step(tree, path, more),) if more else (), sort="project", open=True,
            labels=(extra,), purpose=Purpose(kind, f"{word} in extra {extra}", Place(path, line)), unresolved=() if more else (problem,),
        )  # fmt: skip


def _extras(tree: Tree, path: str) -> list[tuple[str, int]]:
    """The names of the extras that a setup.py writes out, with their lines."""
    text = tree.text(path, wanted=False) or ""
    if not path.endswith(".py") or len(text) > MAX_TEXT or "extras_require" not in text:
        return []
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        (key.value, key.lineno)
        for n in ast.walk(module)
        if isinstance(n, ast.Dict)
        for key in n.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and named(key.value)[0] != "neutral"
    ]


def steps(tree: Tree, folder: str, extras: Sequence[str]) -> list[Step]:
    """What installing the package of a folder asks for."""
    for name in ("setup.py", "setup.cfg"):
        path = f"{folder}/{name}".lstrip("/")
        if tree.is_file(path) and (found := _required(tree, path, extras)):
            return [_step(tree, path, found)]
    return []


def _step(tree: Tree, path: str, found: Pairs) -> Step:
    lines = tree.lines(path)
    needed: list[Requirement] = []
    for text, line in found:
        words = quoted(lines[line - 1]) if 0 < line <= len(lines) else ""
        needed += requirements.one(text, Place(path, line, words))
    return Step("pip", Place(path, found[0][1]), tuple(needed))


def _required(tree: Tree, path: str, extras: Sequence[str]) -> Pairs:
    text = tree.text(path, wanted=False)
    if not text or len(text) > MAX_TEXT:
        return []
    return _of_setup(tree, path, text, extras) if path.endswith(".py") else _of_cfg(text, extras)


def _of_setup(tree: Tree, path: str, text: str, extras: Sequence[str]) -> Pairs:
    """The lists of install_requires and extras_require, written in the call or assigned to a name before it."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = {t.id: n.value for n in module.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    calls = (
        n for n in ast.walk(module) if isinstance(n, ast.Call) and getattr(n.func, "id", getattr(n.func, "attr", "")) == "setup"
    )
    found: Pairs = []
    for call in calls:
        for keyword in call.keywords:
            value = names.get(keyword.value.id, keyword.value) if isinstance(keyword.value, ast.Name) else keyword.value
            if keyword.arg == "install_requires":
                found += _texts(value, names)
            elif keyword.arg == "extras_require" and isinstance(value, ast.Dict):
                for key, one in zip(value.keys, value.values):
                    if isinstance(key, ast.Constant) and key.value in extras:
                        found += _texts(one, names)
    return found


def _texts(value: ast.expr, names: dict[str, ast.expr], depth: int = 0) -> Pairs:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [(value.value, value.lineno)]
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return [pair for one in value.elts for pair in _texts(one, names, depth)]
    if isinstance(value, ast.Name) and value.id in names and depth < 5:
        return _texts(names[value.id], names, depth + 1)
    if isinstance(value, ast.BinOp):
        return _texts(value.left, names, depth + 1) + _texts(value.right, names, depth + 1) if depth < 20 else []
    return []


def _of_cfg(text: str, extras: Sequence[str]) -> Pairs:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError):
        return []
    wanted = [parser.get("options", "install_requires", fallback="")]
    wanted += [parser.get("options.extras_require", extra, fallback="") for extra in extras]
    lines = text.splitlines()
    found: Pairs = []
    for block in wanted:
        for one in filter(None, (line.strip() for line in block.splitlines())):
            found.append((one, next((n for n, line in enumerate(lines, 1) if one in line), 1)))
    return found
