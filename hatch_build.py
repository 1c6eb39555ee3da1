"""Build hook: the wheel carries the matrix as one JSON, so that an installed rocm-doctor reads no YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MatrixHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from rocm_doctor.matrix.source import compile_json

        compiled = root / "rocm_doctor" / "data" / "matrix.json"
        if (root / "compat_matrix").is_dir():
            compiled.parent.mkdir(exist_ok=True)
            compiled.write_bytes(compile_json(root / "compat_matrix"))
        build_data["artifacts"].append("rocm_doctor/data/matrix.json")
