"""Helm charts: the image in which a chart runs the scripts that lie with it."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.readers.files import Tree, folder_of

_IMAGE = regex(r"^\s*(?:image|repository):\s*[\"']?([\w./:-]+/[\w.:-]+)[\"']?\s*(?:#.*)?$", re.M)


def image_for(tree: Tree, path: str) -> Setting | None:
    """The one image that the values of the chart around a file name; None without a chart, or where several are named."""
    folder = folder_of(path)
    while folder and not tree.is_file(f"{folder}/values.yaml"):
        folder = folder_of(folder)
    values = f"{folder}/values.yaml" if folder else ""
    text = tree.text(values, wanted=False) if values else None
    found = list(_IMAGE.finditer(text or ""))
    if len({m[1] for m in found}) != 1:
        return None
    return Setting("image", found[0][1], Place(values, (text or "").count("\n", 0, found[0].start(1)) + 1, found[0][0].strip()))
