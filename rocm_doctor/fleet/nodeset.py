"""Node names and sets of them as ClusterShell reads and writes them: `mi300x-[001-117,120]`, `@rack1`, `n[1-9]!n3`, `n[1-9/2]`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex

MOST = 200_000
"""Names that one expression may stand for."""
_NAME = regex(r"[A-Za-z0-9_](?:[\w.-]{0,251}\w)?", re.ASCII)
_NUMBER = regex(r"^(.*?)(\d{1,99})(\D*)$")
_RANGE = regex(r"(\d+)-(\d+)")


def is_host_name(name: str) -> bool:
    """True if a host may have this name: nothing that a shell or an option parser could misread."""
    return _NAME.fullmatch(name) is not None


def fold(names: Iterable[str]) -> str:
    """The names, sorted and without repetition, numbers folded to ranges: `n[1-3],n7-ib`."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    # Ten times as fast as a name at a time, which counts where a judgement names thousands of nodes in each line.
    series: dict[str, list[str]] = {}
    for name in names:
        digits = _NUMBER.match(name)
        key, number = (f"{digits[1]}[%s]{digits[3]}", digits[2]) if digits else (name, "")
        series.setdefault(key, []).append(number)
    joined = ",".join(key % ",".join(numbers) if numbers[0] else key for key, numbers in series.items())
    return str(NodeSet(joined, resolver=RESOLVER_NOGROUP))


def expand(text: str) -> list[str]:
    """The names of an expression, sorted.

    Raises Unreadable for another syntax, an unknown or empty group, an impossible name, or too many.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverError

    short = f"`{text[:80]}`"
    if any(len(last) > 15 or int(last) - int(first) >= MOST for first, last in _RANGE.findall(text)):
        raise Unreadable(f"more than {MOST} nodes")
    try:
        nodes = NodeSet(text)
    except GroupResolverError as exc:
        raise Unreadable(f"{short}: no node groups ({exc}): ClusterShell's groups.conf defines them") from exc
    except NodeSetException as exc:
        raise Unreadable(f"{short}: {exc}") from exc
    if len(nodes) > MOST:
        raise Unreadable(f"more than {MOST} nodes")
    if text.strip() and not nodes:
        raise Unreadable(f"{short} names no node: a group is looked up in ClusterShell's groups.conf")
    if wrong := next((name for name in nodes if not is_host_name(name)), ""):
        raise Unreadable(f"`{wrong[:80]}` is not a host name")
    return list(nodes)
