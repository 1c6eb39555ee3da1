"""lint over small repositories: tests/lint/<case>/files is one, `target` the options, `expected.txt` what is printed.

python tests/test_lint.py    writes expected.txt again: read the difference
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocm_doctor.cli import cli

CASES = sorted(Path(__file__).with_name("lint").iterdir())


def printed(case: Path) -> str:
    """What lint prints of a case, with its exit code; without sources, which rows may gain."""
    done = CliRunner().invoke(cli, ["lint", *(case / "target").read_text("utf-8").split()])
    text = re.sub(r"\n  source (?:.+)(?:\n {12}.*)*|\nrocm-doctor .*: repository .*", "", done.output)
    return f"{text.rstrip()}\nexit {done.exit_code}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_repository_is_judged_as_it_is_written(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case / "files")
    assert printed(case) == (case / "expected.txt").read_text("utf-8")


if __name__ == "__main__":
    import os

    for one in CASES:
        if not sys.argv[1:] or one.name in sys.argv[1:]:
            os.chdir(one / "files")
            (one / "expected.txt").write_text(printed(one), "utf-8")
