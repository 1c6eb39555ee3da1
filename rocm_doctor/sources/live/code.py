"""The code objects inside the examined environment's GPU libraries, recorded as an artifact like any other text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.files import resolve

_HIP = regex(r"^hip\b[^=\n]*=\s*'([^'\n]+)'", re.MULTILINE)
_BESIDE = regex(r"^(?:jax-rocm\d+-pjrt|tensorflow-rocm|llama-cpp-python|vllm|sglang|sgl-kernel)==", re.MULTILINE)
"""Packages other than torch whose libraries hold GPU code; canonical names."""
_FOLDERS = regex(r"^folders:(.*)$", re.MULTILINE)


def code_objects(python: Sequence[Artifact], root: Path, env: Mapping[str, str]) -> list[Artifact]:
    """`code/audit.json` if torch is a ROCm build, or if JAX, TensorFlow or a server of models is installed that may be one; else
    nothing, since no library would be asked for GPU code. `python`: the artifacts of the interpreter, with its folders in
    `py/interpreter`."""
    texts = {a.name: a.text for a in python if not a.missing}
    hip = _HIP.search(texts.get("py/torch/version.py", ""))
    folders = _FOLDERS.search(texts.get("py/interpreter", ""))
    if not folders or not (hip or _BESIDE.search(texts.get("py/packages", "").replace("_", "-").lower())):
        return []
    from rocm_doctor.binaries.audit import artifact, audit_environment

    sites = [Path(folder) for folder in folders[1].strip().split(os.pathsep) if folder]
    rocm = root / "opt/rocm" if root == Path("/") else resolve(root, root / "opt/rocm")
    return [artifact(audit_environment(sites, rocm=[rocm], bnb_override=env.get("BNB_ROCM_VERSION", "")))]
