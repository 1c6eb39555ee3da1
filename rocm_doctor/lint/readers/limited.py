"""Where data files and documents of a repository list GPUs: what takes such a list serves no other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.environments.purpose import ASIDE
from rocm_doctor.lint.readers.files import Tree

_GPU = re.compile(rb"\bgfx(?:9|10|11|12)[0-9a-f]{1,2}\b")
_DATA = regex(r"^(?!\.).*\.(?:ya?ml|toml)$", re.I)
_TOLD = re.compile(rb"-D(?:(?:AMD)?GPU_TARGETS|CMAKE_HIP_ARCHITECTURES)=[\"']?((?:gfx[0-9a-f]+[;,]?)+)")
_DOCUMENT = regex(r"\.(?:md|rst|txt)$", re.I)
_MOST = 2_000


def limits(tree: Tree, read: Collection[str]) -> tuple[Setting, ...]:
    """The GPUs that each data file names, outside of those that were `read`, if there are several; and those that documents have something
    built for.
    """
    named: dict[str, tuple[Place, dict[str, None]]] = {}
    for place, m in itertools.islice(tree.mentions(_GPU, (b"gfx",), read, only=_DATA), _MOST):
        if not ASIDE & set(place.file.lower().split("/")[:-1]):
            named.setdefault(place.file, (place, {}))[1][m[0].decode()] = None
    data = [Setting("data", ";".join(gpus), place, gfx=tuple(gpus)) for place, gpus in named.values() if len(gpus) > 1]
    for place, m in itertools.islice(tree.mentions(_TOLD, (b"_targets=", b"_architectures="), only=_DOCUMENT), _MOST):
        gpus = tuple(re.findall(r"gfx[0-9a-f]+", m[1].decode()))
        data.append(Setting("told", ";".join(gpus), place, gfx=gpus))
    return tuple(data)
