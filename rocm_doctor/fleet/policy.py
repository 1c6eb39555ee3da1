"""What the operator demands: a policy file, and `--expect 8xgfx942`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rocm_doctor.bounded import Unreadable, files, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.coords import coord
from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.deviations import show
from rocm_doctor.fleet.table import NodeTable
from rocm_doctor.model import Fact
from rocm_doctor.rules.conditions import holds

_EXPECTED = regex(r"(\d{1,4})(?:\s*[x×*]\s*(gfx[0-9a-f]{3,6}))?")


class FleetPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--policy FILE`, in YAML."""

    expect: str = ""
    """GPUs of every node: 8xgfx942, or 8 of whichever target."""
    nodes: str = ""
    """Nodes that must report: mi300x-[001-120]."""
    require: dict[str, str] = {}
    """Conditions by fact, in the syntax of rows: `driver.version: ">=6.12"`, `gpu.link_width: "16"`, `env.HSA_OVERRIDE_GFX_VERSION: absent`."""
    ignore: tuple[str, ...] = ()
    """Facts whose differences do not matter, as globs: `pkg.*`."""


def read(path: Path) -> FleetPolicy:
    """The policy of a file. Raises OSError, or Unreadable that names the field."""
    try:
        return validate(msgspec.convert(yamls.values(files.text(path, 1 << 20)) or {}, FleetPolicy))
    except msgspec.ValidationError as exc:
        raise Unreadable(str(exc)) from exc


def validate(policy: FleetPolicy) -> FleetPolicy:
    """The policy itself. Raises Unreadable for a demand that cannot be judged."""
    if policy.expect and not _EXPECTED.fullmatch(policy.expect):
        raise Unreadable(f"expect: `{policy.expect}`: write 8xgfx942, or 8")
    nodeset.expand(policy.nodes)
    for name, condition in policy.require.items():
        fact = coord(name)
        if fact is None:
            raise Unreadable(f"require: unknown fact `{name}`; `rocm-doctor probe` lists the facts of a machine")
        try:
            holds(fact.kind, condition, Fact("1" if fact.kind != "number" else 1))
        except ValueError as exc:
            raise Unreadable(f"require: {name}: {exc}") from exc
    return policy


def unmet_demands(policy: FleetPolicy, table: NodeTable) -> dict[str, set[int]]:
    """Demands that are not met, in words with what was found, and the numbers of the nodes. A fact that is not known does not meet one."""
    groups: dict[str, set[int]] = {}
    expected = _EXPECTED.fullmatch(policy.expect)
    gpus = {"gpus": expected[1], **({"gpu.gfx": expected[2]} if expected[2] else {})} if expected else {}
    for name, condition in {**gpus, **policy.require}.items():
        kind = coord(name)
        for value, places in table.values(name):
            if places and holds(kind.kind if kind else "number", condition, Fact(value)) is not True:
                groups.setdefault(f"{name} must be {condition}, is {show(value)}", set()).update(number for number, _ in places)
    return groups
