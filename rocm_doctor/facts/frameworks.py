"""What JAX and TensorFlow were built for, from the names and versions of the installed packages; nothing is imported.

JAX's GPU comes as two packages of one version, a plugin and a PJRT client, and their name has the ROCm: jax-rocm7-plugin is for
ROCm 7, jax-rocm60-plugin for 6.0. tensorflow-rocm has it as the last part of its version: 2.14.0.600 is for ROCm 6.0.
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Snapshot
from rocm_doctor.versions import release, rocm_of_local, sort_key

_PART = regex(r"pkg\.jax-(rocm|cuda)(\d+)-(plugin|pjrt)")
_TENSORFLOW = {"tensorflow-rocm": "rocm", "tensorflow-cpu": "cpu", "tensorflow": "cuda"}
"""PyPI's tensorflow for Linux is a CUDA build, which runs on the CPU where there is no CUDA."""
_RELEASE = regex(r"\d+\.\d+\.\d+\.(\d)(\d)\d")


def framework_facts(snapshot: Snapshot) -> dict[str, Fact]:
    """jax.* and tensorflow.*, where their packages are installed; a framework that sees an AMD GPU is built for it."""
    found = {**_jax(snapshot), **_tensorflow(snapshot)}
    for key in ("jax", "tensorflow"):
        seen, mine, systems = (snapshot.get(f"{key}.device"), found.get(f"{key}.rocm"), snapshot.get("rocm.version"))
        if f"{key}.build" not in found and seen.value == "rocm":
            found[f"{key}.build"] = Fact("rocm", seen.readings)
        if mine and isinstance(systems.value, str):
            other = (release(str(mine.value)) or ())[:1] != (release(systems.value) or ())[:1]
            found[f"{key}.other_rocm"] = Fact(other, mine.readings[:1] + systems.readings[:1])
    return found


def _jax(snapshot: Snapshot) -> dict[str, Fact]:
    """The build by its plugin, or by the PJRT client without one; whether all parts have jax's version."""
    jax, jaxlib = snapshot.get("pkg.jax"), snapshot.get("pkg.jaxlib")
    if not isinstance(jax.value, str):
        return {}
    matches = {name: found for name in sorted(snapshot.facts) if (found := _PART.fullmatch(name))}
    parts = {found[3]: (found, snapshot.facts[name]) for name, found in matches.items() if snapshot.facts[name].value}
    if not parts:
        return {"jax.build": Fact("cpu", jax.readings)} if snapshot.get("pkg.jax-rocm7-plugin").known else {}
    match, fact = parts.get("plugin") or parts["pjrt"]
    made = {"jax.build": match[1], "jax.plugin": fact.value if "plugin" in parts else None}
    if match[1] == "rocm":
        made["jax.rocm"] = match[2] if len(match[2]) < 2 or match[2] == "10" else f"{match[2][0]}.{match[2][1]}"
    same = {_release(jax), *(_release(part) for _, part in parts.values())}
    newer = isinstance(jaxlib.value, str) and sort_key(jaxlib.value) > sort_key(jax.value)
    made["jax.parts"] = "same" if len(same) == 1 and len(parts) == 2 and not newer else "differ"
    return {name: Fact(value, fact.readings) for name, value in made.items() if value}


def _tensorflow(snapshot: Snapshot) -> dict[str, Fact]:
    for name, build in _TENSORFLOW.items():
        fact = snapshot.get(f"pkg.{name}")
        if isinstance(fact.value, str):
            numbers = _RELEASE.fullmatch(fact.value)
            rocm = f"{numbers[1]}.{numbers[2]}" if build == "rocm" and numbers else rocm_of_local(fact.value)
            made = {"tensorflow.build": "rocm" if rocm else build, "tensorflow.rocm": rocm}
            return {key: Fact(value, fact.readings) for key, value in made.items() if value}
    return {}


def _release(part: Fact) -> tuple[int, ...]:
    """The release that a part goes with: without the local part and a rebuild's number (0.9.1.post6, 0.9.1+rocm7.13, 0.12.0.1)."""
    return (release(str(part.value)) or ())[:3]
