"""What a text reads like: the likely diagnoses, and the solved reports nearest to it. It decides nothing: only rows and rules do.

`complaint.py` cuts the words of the person out of a text, `model.py` names its features and weighs them. The weights are
learned by scripts/train_differential.py from the labelled reports in fixtures/reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Likely, Similar

MOST = 5
"""Likely diagnoses, at most."""
LEAST = 0.03
"""Share below which a diagnosis is left out."""


class Differential(NamedTuple):
    """The likely diagnoses of a text, the most probable first, and the solved reports nearest to it, whatever their diagnosis."""

    likely: tuple[Likely, ...] = ()
    near: tuple[Similar, ...] = ()


def differential(artifacts: Sequence[Artifact], matrix: Matrix) -> Differential:
    """The differential of the words of a person and of failing lines; an empty one where there are none, or no weights."""
    text, loaded = complaint(artifacts), model.load()
    if not text or loaded is None:
        return Differential()
    vector = model.vector(loaded, model.text_features(text))
    likely = takewhile(lambda one: one[1] >= LEAST, list(model.shares(loaded, vector).items())[:MOST])
    titles = {name: one.title for name, one in matrix.diagnoses.items()}
    return Differential(
        tuple(Likely(name, titles.get(name, ""), round(share, 3)) for name, share in likely),
        tuple(Similar(c.thread, c.label, c.cause, c.fix, round(s, 2), c.gfx) for c, s in model.similar(loaded, vector)),
    )
