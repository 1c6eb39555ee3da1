"""Seconds until the first kernels of a fresh process have run; a second such process finds the compile cache of the first.

Reason: cold-again, when the second start is about as slow as the first and slow at all (see ../longer.py).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ..compare import Wrong
from ..longer import WARM_SECONDS, WARM_SHARE, recall
from .context import ArrayContext
from .gradients import layers, one_layer


def kernels(context: ArrayContext) -> dict[str, Any]:
    """The first product, normalisation and convolution, with the framework's compile cache in a folder of the smoke test."""
    folder = Path(context.args.results).parent
    cache, note = folder / f"cache-{context.framework}", folder / f"kernels-{context.framework}-{context.args.gpu}"
    context.keep_compiled(str(cache))
    first_calls: dict[str, float] = {}
    for name, layer in layers(context).items():
        if name in ("linear", "layer norm", "conv2d"):
            context.doing(f"first {name} of a fresh process (kernels may be compiled)")
            with context.precision("highest"):
                first_calls[name] = round(context.clock(partial(one_layer, context, name, layer)), 3)
    total, before = sum(first_calls.values()), recall(note)
    note.write_text(str(total), encoding="ascii")
    if before is not None and total > WARM_SECONDS and total > WARM_SHARE * before:
        text = f"the first kernels took {total:.1f} s in a second process, {before:.1f} s in the first: no compile cache is kept"
        raise Wrong("cold-again", text, seconds=total, before=before)
    kept = len([path for path in cache.glob("**/*") if path.is_file()])
    return {"seconds": first_calls, "before": before, "cached_files": kept}
