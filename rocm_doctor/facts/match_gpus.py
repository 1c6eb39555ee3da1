"""Matching the GPUs of one tool's list with another's: by address, by values that only one has, then by order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact

_Facts = dict[str, Fact]
_Alike = Callable[[_Facts, _Facts], bool]
_MODEL = regex(r"\b(?:mi\d\w*|[a-z]{0,2}\d{3,4}[a-z]{0,3}|vii)\b")
"""A model's number, in lower case: 7900, 780m, w7900, mi300x; not a device id (0x744c), target (gfx1100) or chip (Navi 31)."""


def pair(ours: Sequence[_Facts], theirs: Sequence[_Facts], complete: bool) -> list[tuple[int, int]]:
    """(index in ours, index in theirs) for each GPU that is in both. `complete`: theirs is every GPU that the tool sees. Tools
    use different orders (rocm-smi by DRM card, rocminfo by node), so order decides only between otherwise equal GPUs."""
    pairs = _pairs_at_one_address(ours, theirs)
    for alike in (
        _compare_by("uuid"),
        _compare_by("device_id"),
        _compare_by("marketing_name"),
        _have_same_model,
        _compare_by("gfx"),
    ):
        pairs += _unique_pairs(ours, theirs, pairs, alike)
    mine, rest = _unpaired_gpus(ours, theirs, pairs)
    if (complete or len(ours) == len(theirs)) and len(mine) == len(rest):
        in_order = list(zip(mine, rest))
        if all(
            _may_be_one(ours[i], theirs[j]) and (len(ours) == 1 or not _have_other_models(ours[i], theirs[j]))
            for i, j in in_order
        ):
            return pairs + in_order
    for j in rest if complete else ():
        fit = next((i for i in mine if _may_be_one(ours[i], theirs[j]) and _share_a_value(ours[i], theirs[j])), None)
        if fit is not None:
            pairs.append((fit, j))
            mine.remove(fit)
    return pairs


def are_of_two_machines(one: _Facts, other: _Facts) -> bool:
    """True if two GPUs of one address, both from pasted text, are of two machines: another chip, id or model.

    A target alone is not enough: HSA_OVERRIDE_GFX_VERSION makes rocminfo print another.
    """
    pasted = all(r.artifact.startswith("paste/") for gpu in (one, other) for r in gpu["pci_bdf"].readings)
    ids = [str(value(gpu, "uuid") or "") for gpu in (one, other)]
    other_id = all(id_.startswith("GPU-") for id_ in ids) and ids[0].casefold() != ids[1].casefold()
    return pasted and (other_id or _differ(one, other, "device_id") or _have_other_models(one, other))


def value(gpu: _Facts, key: str) -> object:
    """The known value of that key, else None."""
    fact = gpu.get(key)
    return fact.value if fact is not None and fact.known else None


def have_same(one: _Facts, other: _Facts, key: str) -> bool:
    """True if both have the value, equal except for case."""
    a, b = value(one, key), value(other, key)
    return a is not None and str(a).casefold() == str(b).casefold()


def _compare_by(key: str) -> _Alike:
    return lambda one, other: have_same(one, other, key)


def _unpaired_gpus(ours: Sequence[_Facts], theirs: Sequence[_Facts], pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    taken = [{p[side] for p in pairs} for side in (0, 1)]
    return [i for i in range(len(ours)) if i not in taken[0]], [j for j in range(len(theirs)) if j not in taken[1]]


def _pairs_at_one_address(ours: Sequence[_Facts], theirs: Sequence[_Facts]) -> list[tuple[int, int]]:
    """(ours, theirs) for each two of one address. Partitions of one board share it: a tool's facts about the board then count for
    each of them."""
    often = Counter(str(value(gpu, "pci_bdf")).casefold() for gpu in theirs)
    pairs: list[tuple[int, int]] = []
    for j, gpu in enumerate(theirs):
        if often[str(value(gpu, "pci_bdf")).casefold()] == 1:
            there = [i for i, one in enumerate(ours) if have_same(one, gpu, "pci_bdf") and not are_of_two_machines(one, gpu)]
            pairs += [(i, j) for i in there if i == there[0] or not are_of_two_machines(ours[there[0]], ours[i])]
    return pairs


def _unique_pairs(
    ours: Sequence[_Facts], theirs: Sequence[_Facts], pairs: list[tuple[int, int]], alike: _Alike
) -> list[tuple[int, int]]:
    """(ours, theirs) for each two of the remaining GPUs that match each other and no third, and whose values do not
    contradict."""
    mine, rest = _unpaired_gpus(ours, theirs, pairs)
    found = [(i, j) for i in mine for j in rest if alike(ours[i], theirs[j])]
    often = Counter(i for i, _ in found), Counter(j for _, j in found)
    return [(i, j) for i, j in found if often[0][i] == often[1][j] == 1 and _may_be_one(ours[i], theirs[j])]


def _share_a_value(one: _Facts, other: _Facts) -> bool:
    return any(have_same(one, other, key) for key in ("pci_bdf", "gfx", "device_id", "marketing_name", "uuid"))


def _models(gpu: _Facts) -> set[str]:
    name = str(value(gpu, "marketing_name") or "").casefold()
    return set() if name.startswith("device ") else set(_MODEL.findall(name))


def _have_same_model(one: _Facts, other: _Facts) -> bool:
    return bool(_models(one) & _models(other))


def _have_other_models(one: _Facts, other: _Facts) -> bool:
    """True if both names have model numbers, and none in common."""
    a, b = _models(one), _models(other)
    return bool(a and b) and not a & b


def _differ(one: _Facts, other: _Facts, key: str) -> bool:
    a, b = value(one, key), value(other, key)
    return a is not None and b is not None and str(a).casefold() != str(b).casefold()


def _may_be_one(one: _Facts, other: _Facts) -> bool:
    """True if no value that both have shows that these are two GPUs."""
    if any(_differ(one, other, key) for key in ("pci_bdf", "device_id", "is_apu")):
        return False
    return not _differ(one, other, "gfx") or _is_from_runtime(one) or _is_from_runtime(other)


def _is_from_runtime(gpu: _Facts) -> bool:
    """True if the target comes from the runtime, where HSA_OVERRIDE_GFX_VERSION changes it."""
    return have_same(gpu, gpu, "gfx_reported") and value(gpu, "gfx_reported") == value(gpu, "gfx")
