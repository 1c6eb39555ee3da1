"""Calls with less in their arguments that give the same: the facts that a function asks for, the lines that a probe reads."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from calls.language import Names
from calls.loaded import Late
from calls.writer import TooMuch, Writer
from rocm_doctor.model import Gpu, Snapshot


class Shorter:
    """Shortens calls. `given` makes one, and may raise Late."""

    def __init__(self, names: Names, given: Callable[[Any, str], str]) -> None:
        self.names = names
        self.writer = Writer(names)
        self.given = given

    def of(self, target: Any, call: str) -> str:
        """The call with only those facts of a machine that the function asks for, when they give the same."""
        if "Artifacts(" in call and len(call) > 200:
            with contextlib.suppress(Late, Exception):
                return self._torn(target, call)
            return ""
        if "machine(" not in call and "gpu(" not in call:
            return call
        with contextlib.suppress(Late, TooMuch):
            asked: set[str] = set()
            with _spied(asked):
                before = self.given(target, call)
            args, named = eval(f"_taken{call}", self.names.values)
            written = [self.writer.written(_only(one, asked)) for one in args]
            written += [f"{name}={self.writer.written(_only(one, asked))}" for name, one in named.items()]
            short = f"({', '.join(written)})"
            return short if self.given(target, short) == before else call
        return ""

    def _torn(self, target: Any, call: str) -> str:
        """The call without those artifacts and lines that change nothing."""
        before, tree = self.given(target, call), ast.parse(f"f{call}", mode="eval")
        lists = [node.elts for node in ast.walk(tree) if isinstance(node, ast.List)]
        for items in lists:
            for one in list(items):
                items.remove(one)
                if self.given(target, ast.unparse(tree).removeprefix("f")) != before:
                    items.append(one)
        for word in [
            n for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg == "text" and isinstance(n.value, ast.Constant)
        ]:
            text, size = str(word.value.value), 2  # type: ignore[attr-defined]
            while size <= 8 and len(lines := text.split("\n")) >= size:
                for n in range(size):
                    shorter = "\n".join(lines[: n * len(lines) // size] + lines[(n + 1) * len(lines) // size :])
                    word.value = ast.Constant(shorter)
                    if self.given(target, ast.unparse(tree).removeprefix("f")) == before:
                        text, size = shorter, 1
                        break
                size *= 2
            word.value = ast.Constant(text)
        return ast.unparse(tree).removeprefix("f")


def fewer_words(call: str, still: Callable[[str], bool]) -> str:
    """The call with only those words of its longest text without which it is no longer `still` what it has to be."""
    tree = ast.parse(f"f{call}", mode="eval")
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if not texts:
        return call
    one = max(texts, key=lambda n: len(str(n.value)))
    words, size = re.findall(r"\s*\S+|\s+", str(one.value)), 2
    while size <= 2 * len(words):
        for n in range(size):
            fewer = words[: n * len(words) // size] + words[(n + 1) * len(words) // size :]
            one.value = "".join(fewer)
            if len(fewer) < len(words) and still(ast.unparse(tree).removeprefix("f")):
                words, size = fewer, 1
                break
        size *= 2
    one.value = "".join(words)
    return ast.unparse(tree).removeprefix("f")


def _only(value: Any, asked: set[str]) -> Any:
    if isinstance(value, Snapshot):
        return Snapshot(
            {n: f for n, f in value.facts.items() if n in asked}, tuple(_only(g, asked) for g in value.gpus), value.gpus_listed
        )
    if isinstance(value, Gpu):
        return Gpu({n: f for n, f in value.facts.items() if n in asked or f"gpu.{n}" in asked})
    if isinstance(value, (tuple, list)):
        changed = [_only(one, asked) for one in value]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    return value


@contextlib.contextmanager
def _spied(asked: set[str]) -> Iterator[None]:
    """Note which facts are asked for."""

    def noting(get: Any) -> Any:
        def noted(self: Any, key: str) -> Any:
            asked.add(key)
            return get(self, key)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshot, "get", noting(Snapshot.get))
        patch.setattr(Gpu, "get", noting(Gpu.get))
        yield
