"""Build hook of rocm-doctor-matrix: the wheel carries the matrix as one JSON, with its version and checksum."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MatrixHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        sys.path.insert(0, str(root.parent))
        from rocm_doctor.matrix.installed import FOLDER, label
        from rocm_doctor.matrix.source import compile_json, read_version

        self.made = tempfile.TemporaryDirectory()
        data = compile_json(root)
        written = {
            "__init__.py": b'"""The compatibility matrix of rocm-doctor: VERSION and matrix.json."""\n',
            "VERSION": label(*read_version(root), data).encode(),
            "matrix.json": data,
        }
        for name, content in written.items():
            (Path(self.made.name) / name).write_bytes(content)
            build_data["force_include"][str(Path(self.made.name) / name)] = f"{FOLDER}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.made.cleanup()
