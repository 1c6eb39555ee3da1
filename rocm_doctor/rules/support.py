"""AMD's support tables for a GPU and the ROCm in use, beside other statements on the same pair: a note, because absence from
a table breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_doctor.matrix import Matrix, Support
from rocm_doctor.model import Finding, Reading, Snapshot
from rocm_doctor.rules.driver_range import user_space
from rocm_doctor.rules.findings import finding, readings, training_gpus
from rocm_doctor.versions import release

NO = ("dropped", "not-listed", "never-listed")
_YES = ("supported", "deprecated", "preview", "works-unofficially", "release-ready", "runtime-only")


def unlisted_targets(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`arch.not-listed` for each GPU to train on that AMD's tables omit for this ROCm and system."""
    name, rocm = user_space(snapshot)
    system = "wsl" if snapshot.value("wsl") is True else snapshot.value("platform")
    if not rocm:
        return
    for subject, gpu in training_gpus(snapshot):
        gfx = gpu.value("gfx")
        said = [s for s in matrix.support if gfx in s.gfx and s.os == system and covers(s, rocm)]
        no = [s for s in said if s.state in NO and s.grade == "official"]
        yes = [s for s in said if s.state in _YES]
        if no and all(s.state != "supported" for s in yes):
            yield finding(
                matrix,
                "arch.not-listed/table",
                (*gpu.get("gfx").readings[:1], *readings(snapshot, name), *map(_reading, (*no[:2], *yes[:2]))),
                subject=subject,
                sources=tuple(dict.fromkeys(source for s in (*no, *yes) for source in s.sources[:1])),
                gfx=gfx,
                rocm=rocm,
                others=f"; {_who(yes)}" if yes else "",
            )


def covers(one: Support, rocm: str) -> bool:
    """True if a statement covers this release (`6.4.x` is a series); open ends and development branches do not."""
    if "dev" in one.since or not one.until:
        return False
    mine = (release(rocm) or ())[:3]
    since, until = (release(text.replace(".x", end)) or () for text, end in ((one.since, ".0"), (one.until, ".99")))
    return bool(mine) and since[: len(mine)] <= mine <= until[: len(mine)]


def _who(statements: Sequence[Support]) -> str:
    """The contradicting statements, in words: AMD on another page, or users."""
    official = next((s.state for s in statements if s.grade == "official"), None)
    return f"another page of AMD's has it as {official}" if official else "users report that it works"


def _reading(one: Support) -> Reading:
    return Reading("matrix", f"catalog/support {one.key}", f"{one.words} ({one.state}, {one.grade}, {one.sources[0]})", "matrix")
