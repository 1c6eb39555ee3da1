"""The one sentence at the end: ready, problems, or undetermined, and what has been proven."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.model import Finding, Snapshot, Verdict

_NEEDED = {
    "torch.version": "torch (`python -c 'import torch; print(torch.__version__, torch.version.hip)'`)",
    "kfd.openable": "access to /dev/kfd (run `rocm-doctor check` on the machine itself)",
}


def verdict(snapshot: Snapshot, findings: Sequence[Finding]) -> tuple[Verdict, str, tuple[str, ...]]:
    """The verdict, its sentence, and the list of what was proven rather than inferred."""
    proven = _proven(snapshot)
    serious = [f for f in findings if f.severity != "note" and not f.follows_from]
    if serious:
        first = serious[0]
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        guess = "most likely: " if first.confidence == "low" else ""
        return "problems", f"{guess}{first.title}{more}", proven
    missing = _missing(snapshot)
    if missing:
        return "undetermined", f"nothing wrong found in what was given; not known: {'; '.join(missing)}", proven
    return "ready", f"ready to train on {_machine(snapshot)}", proven


def _proven(snapshot: Snapshot) -> tuple[str, ...]:
    """Smoke stages that passed: what ran, as against what was read."""
    return tuple(
        name.removeprefix("smoke.") for name, f in snapshot.facts.items() if name.startswith("smoke.") and f.value == "passed"
    )


def _missing(snapshot: Snapshot) -> list[str]:
    gpu = [] if any(isinstance(g.get("gfx").value, str) for g in snapshot.gpus) else ["which GPU (`rocminfo`)"]
    if snapshot.get("torch.version").value is None:
        return [*gpu, "torch, which is not installed in the examined environment (`rocm-doctor plan`)"]
    return gpu + [
        hint for name, hint in _NEEDED.items() if not snapshot.get(name).known or snapshot.get(name).value in (None, False)
    ]


def _machine(snapshot: Snapshot) -> str:
    cards = [g for g in snapshot.gpus if isinstance(g.get("gfx").value, str)]
    gfx = [str(g.get("gfx").value) for g in cards]
    names = [
        str(g.get("marketing_name").value) if isinstance(g.get("marketing_name").value, str) else t for g, t in zip(cards, gfx)
    ]
    unique = dict.fromkeys(f"{n} ({g})" if n != g else g for n, g in zip(names, gfx))
    count = f"{len(names)} × " if len(names) > 1 and len(unique) == 1 else ""
    return f"{count}{', '.join(unique)} with torch {snapshot.get('torch.version').value}"
